package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// IsVoter reports whether the replica is in the member list with a vote.
func (r Replica) IsVoter() bool { return r.Member != nil && !r.Member.Learner }

// IsLearner reports whether the replica is in the member list without a vote.
func (r Replica) IsLearner() bool { return r.Member != nil && r.Member.Learner }

// IsHealthy reports whether the member answered just now, as the member of this cluster that the list says it is.
// Whether its kubelet calls it ready does not count: see isServing and isWell.
func (r Replica) IsHealthy(m Membership) bool {
	return m.Known && r.Member != nil && r.Answer != nil &&
		r.Answer.ID == r.Member.ID && r.Answer.ClusterID == m.ClusterID && r.Answer.Leader != 0
}

// Record is what is written down about the member that lives on the replica's data.
func (r Replica) Record() record.Member {
	switch {
	case r.Volume != nil:
		return r.Volume.Record
	case r.Pod != nil:
		return r.Pod.Record
	}
	return record.Member{}
}

// isOnOwnVolume reports whether the claim is the one that the record was written on, or a new claim of the same PersistentVolume. A
// record of an older release does not say.
func (r Replica) isOnOwnVolume() bool {
	if r.Volume == nil {
		return false
	}
	return r.Volume.Record.IsOn(r.Volume.UID, r.Volume.Backing)
}

// IsRecorded reports whether the identity of the member is written down beside its data.
func (r Replica) IsRecorded() bool { return !r.Record().IsZero() }

// Choices are what the member's Pod is, or is to be, made from.
func (r Replica) Choices() Choices {
	switch {
	case r.Volume != nil && !r.Volume.Choices.IsZero():
		return r.Volume.Choices
	case r.Pod != nil:
		return r.Pod.Choices
	}
	return Choices{}
}

// IsSealed reports whether the member can no longer start from an empty directory.
func (r Replica) IsSealed() bool {
	return r.IsRecorded() && r.Pod != nil && r.Pod.Flags.needData()
}

// HasEnded reports whether the kubelet will never start the Pod again.
func (p *Pod) HasEnded() bool {
	return p != nil && (p.Phase == PodSucceeded || p.Phase == PodFailed)
}

// isDoomed reports whether any stop of the Pod destroys the member's data: its volume is being deleted under it, its
// claim is gone already, or what is behind the claim is.
func (r Replica) isDoomed() bool {
	if r.Pod == nil || r.Ephemeral {
		return false
	}
	return r.Volume == nil || r.Volume.Terminating || r.Volume.Phase == VolumeLost
}

// isAlive reports whether the cluster was born: its identity is on the birth record or on any volume. What a lagging operator
// recorded of a birth after that was given up does not count: nobody was sealed, and no client was led there.
func (o Incarnation) isAlive() bool {
	return o.Birth.ClusterID != 0 || !o.Birth.Void && slices.ContainsFunc(o.Members, Replica.IsRecorded)
}

// IsBorn reports whether the cluster's identity is written down.
func (o Incarnation) IsBorn() bool { return o.isAlive() }

// Find returns the replica of that name, or an empty one.
func (o Incarnation) Find(name string) Replica {
	r, _ := find(o.Members, name)
	return r
}

// Voters are the replicas with a vote.
func (o Incarnation) Voters() []Replica { return filter(o.Members, Replica.IsVoter) }

// HealthyVoters are the voters that answered just now.
func (o Incarnation) HealthyVoters() []Replica {
	return filter(o.Voters(), func(r Replica) bool { return r.IsHealthy(o.Membership) })
}

// Learners are the replicas in the member list without a vote.
func (o Incarnation) Learners() []Replica { return filter(o.Members, Replica.IsLearner) }

// Margin is the number of further voters that may fail before writes stop; negative when they have stopped.
func (o Incarnation) Margin() int {
	return len(o.HealthyVoters()) - etcdutil.Quorum(len(o.Voters()))
}

// find returns the replica of that name in a list, and whether it is there.
func find(in []Replica, name string) (Replica, bool) {
	i := slices.IndexFunc(in, func(r Replica) bool { return r.Name == name })
	if i < 0 {
		return Replica{Name: name}, false
	}
	return in[i], true
}

func filter[T any](items []T, keep func(T) bool) []T {
	var out []T
	for _, item := range items {
		if keep(item) {
			out = append(out, item)
		}
	}
	return out
}

func names(rs []Replica) []string {
	out := make([]string, 0, len(rs))
	for _, r := range rs {
		out = append(out, r.Name)
	}
	return out
}

// hasVolume reports whether the volume is this one and no other.
func (r Replica) hasVolume(ref VolumeRef) bool { return r.Volume != nil && r.Volume.UID == ref.UID }

func (r Replica) podRef() PodRef       { return PodRef{Name: r.Name, UID: r.Pod.UID} }
func (r Replica) volumeRef() VolumeRef { return VolumeRef{Name: r.Name, UID: r.Volume.UID} }
