package facts

import (
	"slices"
	"time"
)

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
