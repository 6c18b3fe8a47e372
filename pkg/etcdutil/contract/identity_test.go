package contract

import (
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var identityScenarios = []scenario{
	{"a member with data reads none of the flags about the cluster", func(p *play) {
		p.startAll("a", "b", "c")
		before := p.status("c")
		p.stop("c")
		nonsense := fresh("c", "b", "c", "x")
		nonsense.token = "nonsense"
		p.start(nonsense)
		p.serving("c")
		if after := p.status("c"); after.MemberID != before.MemberID || after.ClusterID != before.ClusterID {
			p.Errorf("before %+v, after %+v: want the same IDs", before, after)
		}
	}},
	{"a sealed member with data starts, alone and among others", func(p *play) {
		p.startAll("a")
		p.accepted(p.writing("a"))
		before := p.status("a")
		p.stop("a")
		p.start(sealed("a"))
		p.serving("a")
		if after := p.status("a"); after.MemberID != before.MemberID || after.Revision != before.Revision {
			p.Errorf("before %+v, after %+v: want the same member with its data", before, after)
		}
	}},
	{"all members stopped and started sealed are the same cluster", func(p *play) {
		p.startAll("a", "b", "c")
		p.accepted(p.writing("a"))
		before := p.status("a")
		for _, name := range []string{"a", "b", "c"} {
			p.stop(name)
		}
		for _, name := range []string{"a", "b", "c"} {
			p.start(sealed(name))
		}
		p.serving("a", "b", "c")
		if after := p.status("a"); after.MemberID != before.MemberID || after.ClusterID != before.ClusterID || after.Revision != 2 {
			p.Errorf("before %+v, after %+v: want the same member with its data", before, after)
		}
	}},
	{"a sealed single member without data ends, each time", func(p *play) {
		p.startAll("a")
		p.stop("a")
		p.wipe("a")
		p.endsEmpty("a")
		p.endsEmpty("a")
	}},
	{"a sealed member of three without data ends, each time, with its peers up", func(p *play) {
		p.startAll("a", "b", "c")
		p.stop("c")
		p.wipe("c")
		p.endsEmpty("c")
		p.endsEmpty("c")
		p.accepted(p.reading("a"))
	}},
	{"a sealed member of three without data ends with its peers down", func(p *play) {
		p.startAll("a", "b", "c")
		for _, name := range []string{"a", "b", "c"} {
			p.stop(name)
		}
		p.wipe("c")
		p.endsEmpty("c")
	}},
	{"a member over the data of another runs under the other's ID, and the list shows its name there", func(p *play) {
		p.startAll("a", "b", "c")
		a, cluster := p.followers("a", "b", "c")[0], p.status("a").ClusterID
		foreign := p.id(a)
		p.stop(a)
		p.copy(a, "strange")
		p.start(sealed("x").over("strange"))
		p.serving("x")
		if s := p.status("x"); s.MemberID != foreign || s.ClusterID != cluster {
			p.Errorf("x says %+v, want the ID %s", s, foreign)
		}
		p.until("x's name is in the entry of "+a, func() bool {
			leader, _ := p.others(a)
			m, _ := p.entry(leader, a)
			return m.ID == foreign && m.Name == "x"
		})
	}},
}

func (p *play) endsEmpty(name string) {
	p.Helper()
	p.start(sealed(name))
	if got := p.exit(name).reason(); got != etcdutil.ExitDataEmpty {
		p.Errorf("%s ends as %s: %s", name, got, p.exit(name).message)
	}
}
