package contract

import (
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

var learnerScenarios = []scenario{
	{"a single member takes a learner at once, and it becomes a voter", func(p *play) {
		p.startAll("a")
		if err := p.adding("a", "b")(); err != nil {
			p.Fatalf("the first add answered %v", err)
		}
		m, ok := p.entry("a", "b")
		if !ok || m.Name != "" || m.Started() || !m.Learner {
			p.Fatalf("b is listed as %+v, want a nameless learner that is not started", m)
		}
		p.start(joining("b", "a", "b"))
		p.serving("b")
		if s := p.status("b"); !s.Learner || s.MemberID != m.ID {
			p.Errorf("b says %+v, want the learner %s", s, m.ID)
		}
		p.accepted(p.promoting("a", m.ID))
		p.until("b knows that it votes", func() bool { return !p.status("b").Learner })
		p.accepted(p.reading("b"))
	}},
	{"a learner's URL cannot be added twice", func(p *play) {
		p.startAll("a")
		p.accepted(p.adding("a", "b"))
		if err := p.adding("a", "b")(); !client.IsAlreadyAdded(err) {
			p.Errorf("the second add answered %v", err)
		}
	}},
	{"a second learner is refused", func(p *play) {
		p.startAll("a")
		p.accepted(p.adding("a", "b"))
		p.refused(client.ErrTooManyLearners, p.adding("a", "c"))
	}},
	{"a malformed URL is refused", func(p *play) {
		p.startAll("a")
		if _, err := p.dial("a").AddLearner(p.Context(), "b:2380"); err == nil {
			p.Error("a URL without a scheme was taken")
		}
	}},
	{"a learner that never started is not promoted, and is removed without a check", func(p *play) {
		p.startAll("a")
		id := p.add("a", "b")
		p.stays(client.ErrLearnerNotReady, p.promoting("a", id))
		p.accepted(p.removing("a", id))
	}},
	{"a running learner is removed although a voter is down", func(p *play) {
		p.startAll("a", "b", "c")
		id := p.grow(p.leader("a", "b", "c"), "d", "a", "b", "c")
		dead := p.followers("a", "b", "c")[0]
		p.stop(dead)
		leader, _ := p.others(dead)
		p.refusedNever(client.ErrUnhealthy, p.removing(leader, id))
	}},
	{"promoting a voter or a stranger is refused by name", func(p *play) {
		p.startAll("a")
		p.refused(client.ErrMemberNotLearner, p.promoting("a", p.id("a")))
		p.refused(client.ErrMemberNotFound, p.promoting("a", 42))
	}},
	{"a follower has the leader promote", func(p *play) {
		p.startAll("a", "b", "c")
		id := p.grow(p.leader("a", "b", "c"), "d", "a", "b", "c")
		p.accepted(p.promoting(p.followers("a", "b", "c")[0], id))
	}},
	{"a learner that died after it had caught up is promoted all the same", func(p *play) {
		p.startAll("a")
		id := p.grow("a", "b", "a")
		p.until("b has caught up", func() bool { return p.status("b").RaftAppliedIndex >= p.status("a").RaftAppliedIndex })
		p.stop("b")
		p.accepted(p.promoting("a", id))
		p.hangs(p.reading("a"))
	}},
	{"the peer URL of a member changes, also to one that it does not listen at, and to none of another's", func(p *play) {
		p.startAll("a", "b", "c")
		id := p.id("b")
		setting := func(id etcdutil.ID, url string) func() error {
			return func() error { return p.dial("a").SetPeerURL(p.Context(), id, url) }
		}
		p.refused(client.ErrMemberNotFound, setting(42, "https://127.0.0.1:1"))
		p.refused(client.ErrPeerURLExist, setting(id, p.peerURL("c")))
		p.accepted(setting(id, "https://127.0.0.1:1"))
		p.accepted(setting(id, p.peerURL("b")))
		p.accepted(p.reading("b"))
	}},
	{"a learner tells its status and refuses all else", func(p *play) {
		p.startAll("a")
		id := p.grow("a", "b", "a")
		if s := p.status("b"); !s.Learner || s.MemberID != id {
			p.Errorf("the learner says %+v", s)
		}
		for _, call := range []func() error{
			func() error { _, err := p.dial("b").MemberList(p.Context()); return err },
			func() error { _, err := p.dial("b").HashKV(p.Context(), 0); return err },
			p.reading("b"),
			p.adding("b", "c"),
			p.promoting("b", id),
			p.removing("b", id),
			p.moving("b", id),
		} {
			p.refused(client.ErrLearnerRefuses, call)
		}
	}},
	{"a joining member whose list is too short, too long or wrong ends", func(p *play) {
		p.startAll("a")
		p.accepted(p.adding("a", "b"))
		for _, list := range []string{
			"b=" + p.peerURL("b") + ",a=" + p.peerURL("a") + ",c=" + p.peerURL("c"),
			"b=" + p.peerURL("c") + ",a=" + p.peerURL("a"),
			"c=" + p.peerURL("b") + ",a=" + p.peerURL("a"),
		} {
			p.start(joining("b").withList(list))
			if got := p.exit("b").reason(); got != etcdutil.ExitStaleFlags {
				p.Errorf("with the list %s it ends as %s: %s", list, got, p.exit("b").message)
			}
			p.wipe("b")
		}
	}},
	{"a learner emptied under its joining flags panics, and can be replaced", func(p *play) {
		p.startAll("a")
		id := p.grow("a", "b", "a")
		p.stop("b")
		p.wipe("b")
		p.start(joining("b", "a", "b"))
		if got := p.exit("b").reason(); got != etcdutil.ExitRaftPanic {
			p.Errorf("b ends as %s: %s", got, p.exit("b").message)
		}
		p.accepted(p.removing("a", id))
		p.grow("a", "c", "a")
	}},
}
