package contract

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// youngScenarios show what etcd refuses in the first seconds of a connection. Real processes play them one after the
// other: on a machine that plays others besides, those seconds are over before three members serve.
var youngScenarios = []scenario{
	{"three members that have just met refuse a learner, and take it after five seconds", func(p *play) {
		met := p.justMet(func(names ...string) error { return p.adding(p.leader(names...), "d")() })
		p.accepted(p.adding(p.leader(met...), "d"))
	}},
	{"a live voter is not removed while connections are young", func(p *play) {
		p.justMet(func(names ...string) error {
			return p.removing(p.leader(names...), p.id(p.followers(names...)[0]))()
		})
	}},
}

func TestRealEtcdRefusesWhileConnectionsAreYoung(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			for _, s := range youngScenarios {
				t.Run(s.name, func(t *testing.T) { s.playReal(t, version) })
			}
		})
	}
}

// young is how long a connection between two members does not count
// (etcd-io/etcd:server/etcdserver/server.go HealthInterval).
const young = 5 * time.Second

// justMet bootstraps three members, and wants a call refused as unhealthy while none of their connections counts. It
// returns the members. A machine that was slower than that has shown nothing: it begins anew, with three others.
func (p *play) justMet(call func(names ...string) error) []string {
	p.Helper()
	for attempt := range 5 {
		names := []string{fmt.Sprintf("a%d", attempt), fmt.Sprintf("b%d", attempt), fmt.Sprintf("c%d", attempt)}
		begun := p.now()
		p.bootstrap(names...) // they may agree on a cluster version only when their connections count
		err := call(names...)
		if errors.Is(err, client.ErrUnhealthy) {
			return names
		}
		if p.now().Sub(begun) < young {
			p.Fatalf("the first call answered %v, want unhealthy", err)
		}
		for _, name := range names {
			p.stop(name)
		}
	}
	needs.Unfit(p, "no cluster of five answered before its connections counted: this machine is too busy")
	return nil
}
