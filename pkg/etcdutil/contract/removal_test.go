package contract

import (
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

var removalScenarios = []scenario{
	{"a removed member ends, ends again when started with its data, and is not found a second time", func(p *play) {
		p.startAll("a", "b", "c")
		leader := p.leader("a", "b", "c")
		gone := p.followers("a", "b", "c")[0]
		id := p.id(gone)
		p.accepted(p.removing(leader, id))
		if e := p.exit(gone); !e.removed() {
			p.Errorf("the removed member ends as %s: %s", e.reason(), e.message)
		}
		p.refused(client.ErrMemberNotFound, p.removing(leader, id))
		p.start(sealed(gone))
		if e := p.exit(gone); !e.removed() {
			p.Errorf("started again it ends as %s: %s", e.reason(), e.message)
		}
	}},
	{"a removed member ends when started with its data, also when no quorum is left", func(p *play) {
		p.startAll("a", "b", "c")
		gone := p.followers("a", "b", "c")[0]
		leader, other := p.others(gone)
		p.accepted(p.removing(leader, p.id(gone)))
		p.exit(gone)
		p.stop(other)
		p.start(sealed(gone))
		if e := p.exit(gone); !e.removed() {
			p.Errorf("it ends as %s: %s", e.reason(), e.message)
		}
	}},
	{"a live voter is not removed while a newborn is missing", func(p *play) {
		p.start(fresh("a", "a", "b", "c"))
		p.start(fresh("b", "a", "b", "c"))
		p.serving("a", "b")
		p.stays(client.ErrUnhealthy, p.removing("a", p.id("b")))
	}},
	{"a stranger is not found", func(p *play) {
		p.startAll("a", "b", "c")
		p.refused(client.ErrMemberNotFound, p.removing("a", 42))
	}},
	{"of three with one dead no learner is taken, no live one is removed, and the dead one is", func(p *play) {
		p.startAll("a", "b", "c")
		dead := p.followers("a", "b", "c")[0]
		deadID := p.id(dead)
		p.stop(dead)
		leader, alive := p.others(dead)
		p.stays(client.ErrUnhealthy, p.adding(leader, "d"))
		p.stays(client.ErrUnhealthy, p.removing(leader, p.id(alive)))
		p.accepted(p.removing(leader, deadID))
		p.accepted(p.adding(leader, "d"))
	}},
	{"of five with one dead a learner is taken", func(p *play) {
		p.startAll("a", "b", "c", "d", "e")
		p.stop(p.followers("a", "b", "c", "d", "e")[0])
		p.accepted(func() error { return p.adding(p.leader("a", "b", "c", "d", "e"), "f")() })
	}},
	{"the last member is not removed", func(p *play) {
		p.startAll("a")
		p.refused(client.ErrNotEnoughStarted, p.removing("a", p.id("a")))
	}},
	{"of two members the follower is removed once they know each other long enough", func(p *play) {
		p.startAll("a", "b")
		leader := p.leader("a", "b")
		p.accepted(p.removing(leader, p.id(p.followers("a", "b")[0])))
		p.accepted(p.reading(leader))
		if got := len(p.members(leader)); got != 1 {
			p.Errorf("%d members are left, want 1", got)
		}
	}},
	{"a leader that is removed ends, and another leads", func(p *play) {
		p.startAll("a", "b", "c")
		leader := p.leader("a", "b", "c")
		rest := p.followers("a", "b", "c")
		id := p.id(leader)
		p.accepted(p.removing(rest[0], id))
		if e := p.exit(leader); !e.removed() {
			p.Errorf("the removed leader ends as %s: %s", e.reason(), e.message)
		}
		p.leader(rest...)
		p.accepted(p.writing(rest[0]))
	}},
	{"a member removed while it was down ends when it comes back empty under sealed flags, without touching the cluster", func(p *play) {
		p.startAll("a", "b", "c")
		gone := p.followers("a", "b", "c")[0]
		id := p.id(gone)
		p.stop(gone)
		leader, _ := p.others(gone)
		p.accepted(p.removing(leader, id))
		p.wipe(gone)
		p.start(sealed(gone))
		if got := p.exit(gone).reason(); got != etcdutil.ExitDataEmpty {
			p.Errorf("it ends as %s: %s", got, p.exit(gone).message)
		}
		if got := len(p.members(leader)); got != 2 {
			p.Errorf("%d members are left, want 2", got)
		}
	}},
}
