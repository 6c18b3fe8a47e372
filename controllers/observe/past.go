package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// moment is how far a cluster was at a time, by the clock of this machine.
type moment struct {
	at       time.Time
	revision int64
	isFull   bool // space had run out
	inUse    int64
}

// past is how far a cluster was of late, the oldest first. Nothing is wrong without it: who does not know how far the
// cluster was a while ago waits until that is known.
type past []moment

// steadyFor is how long what is in use must not have fallen for no compaction to be under way: etcd frees room many
// times a second while one is (etcd-io/etcd:server/storage/mvcc/kvstore_compaction.go).
const steadyFor = 30 * time.Second

// isSteady reports that what is in use has not fallen for that long.
func (p past) isSteady(now time.Time) bool {
	for i, m := range p[1:] {
		if m.inUse < p[i].inUse && now.Sub(m.at) < steadyFor {
			return false
		}
	}
	return now.Sub(p[0].at) >= steadyFor
}

// momentsKept is how many moments of the time that is kept are remembered.
const momentsKept = 30

// with adds a moment, unless the last one is as good, and forgets all but one of those that are older than is kept. A
// cluster that is less far than it was has begun anew: nothing is known of its past. Where space ran out each moment
// counts at which less is in use than before: it tells that a compaction is under way.
func (p past) with(now moment, keep time.Duration) past {
	keep = max(keep, steadyFor)
	n := len(p)
	switch {
	case n > 0 && now.revision < p[n-1].revision:
		p = nil
	case n > 0 && now.isFull && now.inUse < p[n-1].inUse:
	case n > 0 && now.at.Sub(p[n-1].at) < keep/momentsKept:
		return p
	}
	p = append(p, now)
	for len(p) > 1 && now.at.Sub(p[1].at) >= keep {
		p = p[1:]
	}
	return p
}

// before is the revision that was reached at a time, zero where that is not known, and whether space had run out all
// the time since.
func (p past) before(at time.Time) (reached int64, isFullSince bool) {
	for _, m := range p {
		if !m.at.After(at) {
			reached, isFullSince = m.revision, true
		}
		isFullSince = isFullSince && m.isFull
	}
	return reached, isFullSince
}

// remember notes how far a cluster is, and returns what is known of its past by then, so long ago.
func (p *Pinger) remember(cluster types.NamespacedName, seen moment, keep time.Duration) facts.History {
	if p == nil {
		return facts.History{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen.at = p.now()
	all := p.pasts[cluster].with(seen, keep)
	p.pasts[cluster] = all
	reached, isFullSince := all.before(seen.at.Add(-keep))
	return facts.History{Reached: reached, IsFullSince: isFullSince, IsSteady: all.isSteady(seen.at)}
}
