package contract

import (
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

var lossScenarios = []scenario{
	{"without quorum a member that was serving tells its status and nothing linearizable", func(p *play) {
		p.startAll("a", "b", "c")
		p.stop("b")
		p.stop("c")
		p.until("a knows no leader", func() bool { return p.status("a").Leader == 0 })
		if s := p.status("a"); len(s.Errors) == 0 {
			p.Errorf("a has no leader and reports no error: %+v", s)
		}
		if err := p.reading("a")(); !client.IsRetryLater(err) {
			p.Errorf("a linearizable read answered %v", err)
		}
		if _, err := p.dial("a").MemberList(p.Context()); !client.IsRetryLater(err) {
			p.Errorf("the member list answered %v", err)
		}
		p.start(sealed("b"))
		p.accepted(p.reading("a"))
	}},
	{"without quorum a member that was started again answers no client", func(p *play) {
		p.startAll("a", "b", "c")
		for _, name := range []string{"a", "b", "c"} {
			p.stop(name)
		}
		p.start(sealed("a"))
		for range 10 {
			if !p.unreachable("a") {
				p.Fatal("a answers alone of three")
			}
			p.pass()
		}
	}},
	{"an emptied member under joining flags panics while its leader leads, and catches up silently under another", func(p *play) {
		p.startAll("a", "b", "c")
		p.accepted(p.writing("a"))
		lost := p.followers("a", "b", "c")[0]
		leader, other := p.others(lost)
		p.stop(lost)
		p.wipe(lost)
		p.start(joining(lost, "a", "b", "c"))
		if got := p.exit(lost).reason(); got != etcdutil.ExitRaftPanic {
			p.Errorf("%s ends as %s: %s", lost, got, p.exit(lost).message)
		}
		p.accepted(p.moving(leader, p.id(other)))
		p.start(joining(lost, "a", "b", "c"))
		p.serving(lost)
		p.until(lost+" has the data again", func() bool { return p.status(lost).Revision == 2 })
	}},
	{"an emptied member and a stale survivor form a quorum, and acknowledged writes are gone", func(p *play) {
		p.startAll("a", "b", "c")
		stale := p.followers("a", "b", "c")[0]
		p.stop(stale)
		fresh, emptied := p.others(stale)
		for range 5 {
			p.accepted(p.writing(fresh))
		}
		p.stop(fresh)
		p.stop(emptied)
		p.wipe(emptied)
		p.start(sealed(stale))
		p.restarting(joining(emptied, "a", "b", "c"))
		p.serving(stale, emptied)
		if got := p.status(stale).Revision; got != 1 {
			p.Errorf("the survivor is at revision %d, want 1: the five writes were acknowledged without it", got)
		}
	}},
	{"a joining member whose peers are all down cannot start", func(p *play) {
		p.startAll("a")
		p.accepted(p.adding("a", "b"))
		p.stop("a")
		p.start(joining("b", "a", "b"))
		if got := p.exit("b").reason(); got != etcdutil.ExitDataEmpty {
			p.Errorf("b ends as %s: %s", got, p.exit("b").message)
		}
	}},
}

// others are the running members of a, b and c when one is down: who leads, and the other.
func (p *play) others(down string) (leader, follower string) {
	p.Helper()
	var running []string
	for _, name := range []string{"a", "b", "c"} {
		if name != down {
			running = append(running, name)
		}
	}
	return p.leader(running...), p.followers(running...)[0]
}
