package observe

import (
	"cmp"
	"context"
	"errors"
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

// Each member is asked once in pingEvery, one question at a time. One that has not answered after pingPatience, or
// after twice the time that it took of late, is doubted; an answer counts until pingLasts. All members together are
// asked no more than pingsPerSecond times a second: more of them are asked less often, and cost no more. See
// docs/decisions/0034.
const (
	pingEvery      = 500 * time.Millisecond
	pingPatience   = 500 * time.Millisecond
	pingLasts      = 2 * time.Second
	pingsPerSecond = 200
)

// Pinger asks members between two looks whether they serve and which alarms they know of, on the connections that looks
// keep. When one of them says what neither a look nor a ping heard before, its cluster is looked at. A ping is no
// evidence: decisions rest on looks.
type Pinger struct {
	changed func(ctx context.Context, cluster types.NamespacedName)
	limit   *rate.Limiter
	now     func() time.Time

	mu      sync.Mutex
	members map[member]*pinged
	pasts   map[types.NamespacedName]past // how far each cluster was of late
}

// member is a member's Pod by its name.
type member struct {
	cluster types.NamespacedName
	name    string
}

// pinged is what is known of a member. The client never changes.
type pinged struct {
	client  etcd.Client
	heard                 // when it was asked last, by a look or by a ping
	doubted chan struct{} // closed once it does not serve any more; nil while it does not
	looks   int           // that asked it
	isAsked bool          // by a ping that is under way
	slowest time.Duration // of its answers of late
}

// heard is what a member was found to do, and to speak of.
type heard struct {
	serves bool
	alarms string // sorted: etcd names them in any order
}

// question is a ping under way.
type question struct {
	about member
	to    *pinged
	looks int // before it
}

// NewPinger makes a pinger of no members that calls changed when a cluster should be looked at.
func NewPinger(changed func(ctx context.Context, cluster types.NamespacedName)) *Pinger {
	return &Pinger{changed: changed, limit: rate.NewLimiter(pingsPerSecond, 1), now: time.Now,
		members: map[member]*pinged{}, pasts: map[types.NamespacedName]past{}}
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
	for m, known := range p.all() {
		if p.limit.Wait(ctx) != nil {
			return
		}
		if q, patience, isDue := p.begin(m, known); isDue {
			go p.ping(ctx, q, patience)
		}
	}
}

func (p *Pinger) all() map[member]*pinged {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.members)
}

// begin notes that a member is asked, unless it is being asked, or is not there any more.
func (p *Pinger) begin(m member, known *pinged) (_ question, patience time.Duration, isDue bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.members[m] != known || known.isAsked {
		return question{}, 0, false
	}
	known.isAsked = true
	return question{m, known, known.looks}, min(max(2*known.slowest, pingPatience), pingLasts), true
}

// ping asks a member once. What it says too late still counts.
func (p *Pinger) ping(ctx context.Context, q question, patience time.Duration) {
	began, answered := p.now(), make(chan heard, 1)
	go func() {
		status, err := askOne(ctx, q.to.client, pingLasts)
		p.end(q, err, p.now().Sub(began))
		answered <- heardFrom(status, err == nil)
	}()
	answer, isInTime := p.await(answered, patience)
	if !isInTime {
		p.hear(ctx, q, heard{})
		answer = <-answered
	}
	p.hear(ctx, q, answer)
}

// await waits for an answer, and once more where this process itself was held up: it may not have read the answer yet.
func (p *Pinger) await(answered <-chan heard, patience time.Duration) (answer heard, isInTime bool) {
	for {
		began := p.now()
		select {
		case answer = <-answered:
			return answer, true
		case <-time.After(patience):
			if !wasHeldUp(p.now().Sub(began), patience) {
				return heard{}, false
			}
		}
	}
}

// end notes that a member was asked, and how long it takes to answer. One that was slow is waited for longer for a
// while.
func (p *Pinger) end(q question, err error, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.to.isAsked = false
	if err == nil {
		q.to.slowest = max(took, q.to.slowest*9/10)
	}
}

// hear notes what a ping found, and has the cluster looked at where that is news. That a member is silent is none once
// a look asked it after the ping.
func (p *Pinger) hear(ctx context.Context, q question, answer heard) {
	if ctx.Err() == nil && p.isNews(q, answer) {
		p.changed(ctx, q.about.cluster)
	}
}

func (p *Pinger) isNews(q question, answer heard) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.members[q.about] != q.to || !answer.serves && q.to.looks != q.looks {
		return false
	}
	return q.to.set(answer)
}

// set notes what was heard of a member, and reports whether that is news.
func (m *pinged) set(now heard) (isNews bool) {
	was := m.heard
	m.heard = now
	switch {
	case now == was:
		return false
	case now.serves && !was.serves:
		m.doubted = make(chan struct{})
	case was.serves && !now.serves:
		close(m.doubted)
		m.doubted = nil
	}
	return true
}

func heardFrom(status etcd.Status, answers bool) heard {
	if !answers {
		return heard{}
	}
	alarms := etcdutil.ParseAlarms(status.Errors)
	slices.SortFunc(alarms, func(a, b etcdutil.Alarm) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Name, b.Name))
	})
	return heard{serves(status), fmt.Sprint(alarms)}
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
	maps.DeleteFunc(p.members, func(m member, _ *pinged) bool {
		return m.cluster == cluster && s.clients[m.name] == nil
	})
	for name, c := range s.clients {
		m := member{cluster, name}
		if p.members[m] == nil || p.members[m].client != c {
			p.members[m] = &pinged{client: c}
		}
		status, answers := s.answers[name]
		p.members[m].looks++
		p.members[m].set(heardFrom(status, answers))
	}
}

// errDoubted is what a look says of a member that it did not wait for any longer.
var errDoubted = errors.New("it does not answer, while most others do")

// whileTrusted returns a context that ends soon after pings doubt a member while most others serve. A look that began
// just before that waits no longer than one that begins then.
func (p *Pinger) whileTrusted(ctx context.Context, cluster types.NamespacedName,
	name string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if doubted := p.doubts(cluster, name); doubted != nil {
		go func() {
			select {
			case <-doubted:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(glance):
			case <-ctx.Done():
				return
			}
			if p.isAlone(cluster, name) {
				cancel(errDoubted)
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// doubts is closed when a member stops serving; nil for one that does not serve, or is not known.
func (p *Pinger) doubts(cluster types.NamespacedName, name string) <-chan struct{} {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[member{cluster, name}]; m != nil {
		return m.doubted
	}
	return nil
}

// isDoubtful reports a member that did not serve when it was asked last.
func (p *Pinger) isDoubtful(cluster types.NamespacedName, name string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.members[member{cluster, name}]
	return m != nil && !m.serves
}

// isAlone reports a doubtful member of a cluster most of whose members serve.
func (p *Pinger) isAlone(cluster types.NamespacedName, name string) bool {
	if !p.isDoubtful(cluster, name) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	serving, all := 0, 0
	for m, known := range p.members {
		if m.cluster != cluster {
			continue
		}
		all++
		if known.serves {
			serving++
		}
	}
	return 2*serving > all
}

// Forget ends the pings of a cluster.
func (p *Pinger) Forget(cluster types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.members, func(m member, _ *pinged) bool { return m.cluster == cluster })
	delete(p.pasts, cluster)
}
