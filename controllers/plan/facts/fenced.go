package facts

import "github.com/etcdsteward/etcd-steward/pkg/etcdutil"

// A member that a person fenced: it is stopped, and its volume is the person's for a while. See docs/decisions/0049.

// IsFenced reports a member that a person wants stopped, and whose data is there: it is not moved, replaced or removed.
func (o Incarnation) IsFenced(r Replica) bool {
	return r.ToFence && !r.Ephemeral && r.IsRecorded() && !r.IsDoomed() && !o.IsGone(r)
}

// IsKeptDown reports such a member that has no Pod and gets none, since the others are a quorum.
func (o View) IsKeptDown(r Replica) bool {
	return r.Pod == nil && o.IsFenced(r) && !r.IsLearner() && (o.HasQuorum() || o.isQuorumReady())
}

// KeptDown are the fenced members that get no Pod.
func (o View) KeptDown() []Replica { return Filter(o.Members, o.IsKeptDown) }

// isQuorumReady reports so many voters that Kubernetes calls ready that they are a quorum: they choose a leader at this
// moment, or the operator does not hear them.
func (o View) isQuorumReady() bool {
	voters := o.LastKnownVoters(o.IsGone)
	ready := Filter(voters, func(r Replica) bool {
		return r.IsUp() && r.Pod.Ready && r.Pod.NodeGone == "" && r.Pod.NodeUnheard.IsZero()
	})
	return len(ready) >= etcdutil.Quorum(len(voters))
}
