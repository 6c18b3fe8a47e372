package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// Each member is asked once in pingEvery, and has pingPatience to answer. All members together are asked no more than
// pingsPerSecond times a second: more of them are asked less often, and cost no more.
const (
	pingEvery      = time.Second
	pingPatience   = time.Second
	pingsPerSecond = 200
)

// Pinger asks members between two looks whether they serve and which alarms they know of, on the connections that looks
// keep. When one of them says what neither a look nor a ping heard before, its cluster is looked at. A ping is no
// evidence: decisions rest on looks.
type Pinger struct {
	changed func(ctx context.Context, cluster types.NamespacedName)
	limit   *rate.Limiter

	mu      sync.Mutex
	members map[member]pinged
}

// member is a member's Pod by its name.
type member struct {
	cluster types.NamespacedName
	name    string
}

// pinged is what is known of a member.
type pinged struct {
	client etcd.Client
	serves bool   // when it was asked last, by a look or by a ping
	alarms string // that it spoke of then, sorted: etcd names them in any order
}

// NewPinger makes a pinger of no members that calls changed when a cluster should be looked at.
func NewPinger(changed func(ctx context.Context, cluster types.NamespacedName)) *Pinger {
	return &Pinger{changed: changed, limit: rate.NewLimiter(pingsPerSecond, 1), members: map[member]pinged{}}
}

// NeedLeaderElection is false: each replica asks.
func (p *Pinger) NeedLeaderElection() bool { return false }

// Start pings until the context ends.
func (p *Pinger) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		next := time.After(pingEvery)
		p.pingAll(ctx)
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
	return nil
}

func (p *Pinger) pingAll(ctx context.Context) {
	for m, was := range p.all() {
		if p.limit.Wait(ctx) != nil {
			return
		}
		if p.isAsOf(m, was) {
			go p.ping(ctx, m, was)
		}
	}
}

func (p *Pinger) all() map[member]pinged {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.members)
}

func (p *Pinger) ping(ctx context.Context, m member, was pinged) {
	status, err := askOne(ctx, was.client, pingPatience)
	if ctx.Err() == nil && p.hear(m, was, heardFrom(was.client, status, err == nil)) {
		p.changed(ctx, m.cluster)
	}
}

// isAsOf reports whether neither a look nor Forget came since this was known of a member.
func (p *Pinger) isAsOf(m member, was pinged) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[m] == was
}

// hear notes what a ping found, and reports news: nothing that a look found out meanwhile.
func (p *Pinger) hear(m member, was, now pinged) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.members[m] != was || was == now {
		return false
	}
	p.members[m] = now
	return true
}

// heardFrom is what a member was found to do and to speak of.
func heardFrom(client etcd.Client, status etcd.Status, answers bool) pinged {
	alarms := etcdutil.ParseAlarms(status.Errors)
	slices.SortFunc(alarms, func(a, b etcdutil.Alarm) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Name, b.Name))
	})
	return pinged{client, answers && serves(status), fmt.Sprint(alarms)}
}

// serves reports a member that can do something for a client.
func serves(status etcd.Status) bool { return status.Leader != 0 }

// note replaces what is known of a cluster by what a look saw.
func (p *Pinger) note(cluster types.NamespacedName, s survey) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(cluster)
	for name, c := range s.clients {
		status, answers := s.answers[name]
		p.members[member{cluster, name}] = heardFrom(c, status, answers)
	}
}

// isDoubtful reports a member that did not serve when it was asked last.
func (p *Pinger) isDoubtful(cluster types.NamespacedName, name string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m, isKnown := p.members[member{cluster, name}]
	return isKnown && !m.serves
}

// Forget ends the pings of a cluster.
func (p *Pinger) Forget(cluster types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(cluster)
}

func (p *Pinger) drop(cluster types.NamespacedName) {
	maps.DeleteFunc(p.members, func(m member, _ pinged) bool { return m.cluster == cluster })
}
