package controllers

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// A change that was applied and is wanted again, pass after pass, leaves the world as it was: somebody undoes it, or the
// API server keeps something else than what was written.
const (
	repetitions = 3 // at full speed; a cache that lags can explain a few
	firstBrake  = time.Second
	lastBrake   = 30 * time.Second
)

// brake slows a change down that is applied again and again to no effect. It decides nothing but how soon.
type brake struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]repetition
}

type repetition struct {
	change plan.Change
	times  int
	until  time.Time
}

// rest is how long the change has to wait; zero when it may be made. A pass that wants no change ends the series, and so
// does another change that is made.
func (b *brake) rest(key types.NamespacedName, change plan.Change, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if change == nil {
		delete(b.clusters, key)
		return 0
	}
	if last, ok := b.clusters[key]; ok && reflect.DeepEqual(last.change, change) {
		return max(0, last.until.Sub(now))
	}
	return 0
}

// applied notes that the change was made, and returns how long the same change will have to wait.
func (b *brake) applied(key types.NamespacedName, change plan.Change, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := repetition{change: change, times: 1}
	if last, ok := b.clusters[key]; ok && reflect.DeepEqual(last.change, change) {
		next.times = last.times + 1
	}
	var wait time.Duration
	if over := next.times - repetitions; over >= 0 {
		wait = min(firstBrake<<min(over, 5), lastBrake)
		next.until = now.Add(wait)
	}
	if b.clusters == nil {
		b.clusters = map[types.NamespacedName]repetition{}
	}
	b.clusters[key] = next
	return wait
}

func (b *brake) forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.clusters, key)
}

// laggards are clusters whose cache was found behind. It costs a pass some reads to be among them, and nothing else.
type laggards struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]bool
}

func (l *laggards) add(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clusters == nil {
		l.clusters = map[types.NamespacedName]bool{}
	}
	l.clusters[key] = true
}

// take reports whether the cluster is among them, and takes it out.
func (l *laggards) take(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.clusters[key]
	delete(l.clusters, key)
	return found
}

// pace remembers when something was last done for a cluster. It decides nothing but how soon it is done again.
type pace struct {
	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

// rest is how long is left until the interval since the last time is over; zero when it is.
func (p *pace) rest(key types.NamespacedName, now time.Time, interval time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[key]
	if !ok {
		return 0
	}
	return max(0, interval-now.Sub(last))
}

func (p *pace) mark(key types.NamespacedName, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[types.NamespacedName]time.Time{}
	}
	p.last[key] = now
}

func (p *pace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}
