package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// sourceOf is the backup that a birth written down now begins with; false while that is not known. Without a wish it is
// none.
func sourceOf(o facts.Observation) (record.Origin, bool) {
	p := o.Preflight
	switch {
	case o.Desired.Restore.IsZero():
		return record.Origin{}, true
	case p == nil || p.Terminating || !p.HasSucceeded() || p.Asked != o.Inquiry():
		return record.Origin{}, false
	}
	return p.Found, !p.Found.IsZero()
}

// isToRestore reports a first member on whose volume the backup is still to be restored. Where its Pod is, it was.
func isToRestore(o facts.Incarnation, r facts.Replica) bool { return !o.IsFilled(r) && r.Pod == nil }
