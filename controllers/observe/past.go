package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// moment is how far a cluster was at a time, by the clock of this machine.
type moment struct {
	at       time.Time
	revision int64
}

// past is how far a cluster was of late, the oldest first. Nothing is wrong without it: who does not know how far the
// cluster was a while ago waits until that is known.
type past []moment

// momentsKept is how many moments of the time that is kept are remembered.
const momentsKept = 30

// with adds a moment, unless the last one is as good, and forgets all but one of those that are older than is kept. A
// cluster that is less far than it was has begun anew: nothing is known of its past.
func (p past) with(now moment, keep time.Duration) past {
	n := len(p)
	switch {
	case n > 0 && now.revision < p[n-1].revision:
		p = nil
	case n > 0 && now.at.Sub(p[n-1].at) < keep/momentsKept:
		return p
	}
	p = append(p, now)
	for len(p) > 1 && now.at.Sub(p[1].at) >= keep {
		p = p[1:]
	}
	return p
}

// before is the revision that was reached at a time; zero where that is not known.
func (p past) before(at time.Time) int64 {
	var reached int64
	for _, m := range p {
		if !m.at.After(at) {
			reached = m.revision
		}
	}
	return reached
}

// remember notes how far a cluster is, and returns how far it was so long ago; zero where that is not known.
func (p *Pinger) remember(cluster types.NamespacedName, revision int64, keep time.Duration) int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.pasts[cluster] = p.pasts[cluster].with(moment{now, revision}, keep)
	return p.pasts[cluster].before(now.Add(-keep))
}
