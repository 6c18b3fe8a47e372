package facts

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// A restored incarnation that never served can be given up for the one before it, whose volumes are kept: no client was
// led to it, so nothing that clients were told is written is in it alone.

// Previous is the incarnation that ended last, and what is left of its members. It is empty where none ended.
func (o View) Previous() (record.Former, []Replica) {
	n := len(o.Bootstrap.Former)
	if n == 0 {
		return record.Former{}, nil
	}
	last := o.Bootstrap.Former[n-1]
	return last, Filter(o.FormerMembers(), func(r Replica) bool { return r.Incarnation() == last.Incarnation })
}

// MayReturn reports whether a member of the previous incarnation could start again on what it lived on, once the mark
// is taken off that says which incarnation took its place. It cannot where its etcd said that this is gone.
func (r Replica) MayReturn(from string) bool {
	return r.Volume != nil && r.IsRecorded() && r.IsOnOwnVolume() && r.Volume.isUsable() &&
		r.Volume.Superseded == from && r.Volume.RemovedFor != CauseDisk
}

// IsGivenUp reports an incarnation that the cluster went back from.
func (o Incarnation) IsGivenUp(incarnation string) bool {
	return slices.ContainsFunc(o.Bootstrap.Former, func(f record.Former) bool {
		return f.Back != "" && f.Incarnation == incarnation
	})
}

// StillMarked are the volumes of this incarnation on which an incarnation is said to have taken its place that the
// cluster went back from.
func (o Incarnation) StillMarked() []VolumeRef {
	var out []VolumeRef
	for _, r := range o.Members {
		if r.Volume != nil && o.IsGivenUp(r.Volume.Superseded) {
			out = append(out, r.VolumeRef())
		}
	}
	return out
}

// WentBackFrom are the incarnations that the cluster went back from to this one, as the bootstrap record says and
// volumes, which outlive it.
func (o Incarnation) WentBackFrom() []string {
	var out []string
	for _, f := range o.Bootstrap.Former {
		if f.Back != "" {
			out = append(out, f.Incarnation)
		}
	}
	for _, r := range o.Members {
		if r.Volume != nil && r.Volume.GoesBackFrom != "" {
			out = append(out, r.Volume.GoesBackFrom)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CameOf reports whether this incarnation, or one before it, came of a request, or whether the cluster went back for
// it.
func (o Incarnation) CameOf(request string) bool {
	return request != "" && (o.incarnationOfRequest(request) != "" ||
		slices.ContainsFunc(o.Bootstrap.Former, func(f record.Former) bool { return f.Back == request }))
}

// IsEndedBy reports whether a request ended the incarnation of a volume.
func (o Incarnation) IsEndedBy(request string, v *Volume) bool {
	for _, f := range o.Bootstrap.Former {
		if f.Back != "" && f.Incarnation == v.Incarnation {
			return f.Back == request
		}
	}
	return v.Superseded != "" && o.incarnationOfRequest(request) == v.Superseded
}

// isOfFormer reports a name that a former incarnation gave. Names are never given twice.
func (o Incarnation) isOfFormer(name string) bool {
	return slices.ContainsFunc(o.Bootstrap.Former, func(f record.Former) bool {
		return slices.Contains(f.Voters, name)
	})
}

// SteadyAfter is how long a container must have run since it last stopped, to count as one that will go on.
const SteadyAfter = 2 * time.Minute

// Sidecar is a container of spec.pod.sidecars, beside etcd in a member's Pod. What webhooks add is none.
type Sidecar struct {
	Name    string
	Ready   bool
	Since   time.Time // when it began to run again after it had stopped; zero when it never stopped
	Waiting string    // why it waits, as Kubernetes says; empty while it does not
	Says    string    // what Kubernetes says about that, or how it last ended and its last words
}

// IsSteady reports a sidecar that is ready, and did not stop a moment ago.
func (s Sidecar) IsSteady(now time.Time) bool {
	return s.Ready && (s.Since.IsZero() || now.Sub(s.Since) > SteadyAfter)
}

// Unsteady is the first sidecar of a Pod that is not steady, or nil.
func (p *Pod) Unsteady(now time.Time) *Sidecar {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Sidecars, func(s Sidecar) bool { return !s.IsSteady(now) })
	if i < 0 {
		return nil
	}
	return &p.Sidecars[i]
}

// LeadsByRole reports whether clients are led to members by their role alone. That is so while a member serves whose
// sidecar is not ready: Kubernetes calls a Pod ready only when all in it is.
func (o Incarnation) LeadsByRole(now time.Time) bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool {
		return r.Pod != nil && r.Pod.Role != "" && r.Pod.Ready && r.Pod.Unsteady(now) != nil
	})
}
