package contract

import (
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

var bootstrapScenarios = []scenario{
	{"three newborns are one cluster, and each is listed as started", func(p *play) {
		p.startAll("a", "b", "c")
		cluster := p.status("a").ClusterID
		for _, name := range []string{"a", "b", "c"} {
			if got := p.status(name); got.ClusterID != cluster || got.Revision != 1 {
				p.Errorf("%s: %+v, want cluster %s at revision 1", name, got, cluster)
			}
			p.until(name+" is listed as started", func() bool {
				m, ok := p.entry("a", name)
				return ok && m.Started() && m.Name == name && !m.Learner && m.ID == p.id(name)
			})
		}
		p.accepted(p.reading("b"))
	}},
	{"before the first quorum a newborn answers no client", func(p *play) {
		p.start(fresh("a", "a", "b", "c"))
		for range 10 {
			if !p.unreachable("a") {
				p.Fatal("a answers alone of three")
			}
			p.pass()
		}
		p.start(fresh("b", "a", "b", "c"))
		p.serving("a", "b")
	}},
	{"a newborn that never started is listed by name and has no client URLs", func(p *play) {
		p.start(fresh("a", "a", "b", "c"))
		p.start(fresh("b", "a", "b", "c"))
		p.serving("a", "b")
		if m, ok := p.entry("a", "c"); !ok || m.Started() || m.Name != "c" {
			p.Errorf("c is listed as %+v, want a name and no client URLs", m)
		}
	}},
	{"a newborn that starts late with its first flags joins", func(p *play) {
		p.start(fresh("a", "a", "b", "c"))
		p.start(fresh("b", "a", "b", "c"))
		p.serving("a", "b")
		p.start(fresh("c", "a", "b", "c"))
		p.serving("c")
		if m, _ := p.entry("a", "c"); m.ID != p.id("c") {
			p.Errorf("c runs as %s and is listed as %s", p.id("c"), m.ID)
		}
	}},
	{"a newborn that never started is removed at once", func(p *play) {
		p.start(fresh("a", "a", "b", "c"))
		p.start(fresh("b", "a", "b", "c"))
		p.serving("a", "b")
		m, _ := p.entry("a", "c")
		p.accepted(p.removing("a", m.ID))
		p.start(fresh("c", "a", "b", "c"))
		if e := p.exit("c"); !e.removed() {
			p.Errorf("the removed c ends as %s: %s", e.reason(), e.message)
		}
	}},
	{"the same token and URLs give the same identities, and a newborn alone that lost its disk serves an empty cluster under them", func(p *play) {
		p.startAll("a")
		p.accepted(p.writing("a"))
		before := p.status("a")
		p.stop("a")
		p.wipe("a")
		p.start(fresh("a", "a"))
		p.serving("a")
		after := p.status("a")
		if after.ClusterID != before.ClusterID || after.MemberID != before.MemberID || after.Revision != 1 {
			p.Errorf("before %+v, after %+v: want the same IDs and revision 1", before, after)
		}
	}},
	{"another token gives other identities", func(p *play) {
		p.startAll("a")
		before := p.status("a")
		p.stop("a")
		other := fresh("a", "a").over("elsewhere")
		other.token = "another"
		p.start(other)
		p.serving("a")
		if after := p.status("a"); after.ClusterID == before.ClusterID || after.MemberID == before.MemberID {
			p.Errorf("before %+v, after %+v: want other IDs", before, after)
		}
	}},
	{"an emptied newborn ends when a peer says that it had started", func(p *play) {
		p.startAll("a", "b", "c")
		p.stop("c")
		p.wipe("c")
		p.start(fresh("c", "a", "b", "c"))
		if got := p.exit("c").reason(); got != etcdutil.ExitAlreadyBootstrapped {
			p.Errorf("c ends as %s: %s", got, p.exit("c").message)
		}
	}},
	{"a newborn that is not in its own list ends", func(p *play) {
		p.start(fresh("a", "b"))
		if got := p.exit("a").reason(); got != etcdutil.ExitStaleFlags {
			p.Errorf("a ends as %s: %s", got, p.exit("a").message)
		}
	}},
	{"a member without a state, as from a stripped annotation, ends", func(p *play) {
		l := fresh("a", "a")
		l.state = ""
		p.start(l)
		if got := p.exit("a").reason(); got != etcdutil.ExitBadFlag {
			p.Errorf("a ends as %s: %s", got, p.exit("a").message)
		}
	}},
	{"a revision is one above the number of writes, and the hashes of all members agree on it", func(p *play) {
		p.startAll("a", "b", "c")
		for range 3 {
			p.accepted(p.writing("b"))
		}
		hashes := map[client.Hash]bool{}
		for _, name := range []string{"a", "b", "c"} {
			p.until(name+" has the writes", func() bool { return p.status(name).Revision == 4 })
			h, err := p.dial(name).HashKV(p.Context(), 4)
			if err != nil {
				p.Fatal(err)
			}
			hashes[h] = true
		}
		if len(hashes) != 1 {
			p.Errorf("the members hash %v", hashes)
		}
		p.refused(client.ErrFutureRevision, func() error {
			_, err := p.dial("a").HashKV(p.Context(), 100)
			return err
		})
	}},
}
