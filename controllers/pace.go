package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

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
