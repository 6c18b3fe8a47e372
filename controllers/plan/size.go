package plan

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// shrink removes one voter: it hands over leadership, loses its clients, then its vote.
func shrink(o pass) *proposal {
	r := o.due.Leave
	if r.Member == nil {
		return nil
	}
	if r.Member.ID == o.Membership.Leader {
		return handOver(o, r.Replica, o.HealthyVoters(), facts.ReasonMoveLeader, "will be removed")
	}
	if r.Pod != nil && r.Pod.Role != "" && !r.Pod.Terminating {
		return act(changes.LabelRole{Pod: r.PodRef()}, "it will be removed, because %s.", r.Because)
	}
	return act(changes.RemoveMember{Name: r.Name, ID: r.Member.ID}, "%s.", r.Because)
}

// handOver moves leadership away from a member that is about to stop, to one of these.
func handOver(o pass, r facts.Replica, others []facts.Replica, reason, why string) *proposal {
	taker := nextLeader(o, r.Name, others)
	if taker.Member == nil {
		return wait(reason, "%s leads and %s; no other voter is healthy enough to take over.", r.Name, why).
			due(o, o.LastPodChange(), facts.StartDeadline)
	}
	return act(changes.MoveLeader{From: r.Name, To: taker.Name, FromID: r.Member.ID, ToID: taker.Member.ID},
		"%s %s.", r.Name, why)
}

// nextLeader is the one with the most applied, other than the one that goes; rather one that need not be restarted
// soon.
func nextLeader(o pass, leaving string, others []facts.Replica) facts.Replica {
	candidates := facts.Filter(others, func(r facts.Replica) bool {
		return r.Name != leaving && r.Name != o.due.Succeeded.Name && !r.IsDoomed()
	})
	if len(candidates) == 0 {
		return facts.Replica{}
	}
	return slices.MinFunc(candidates, func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(staleness(o.Observation, a), staleness(o.Observation, b)),
			cmp.Compare(b.Answer.Applied, a.Answer.Applied), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

func staleness(o facts.Observation, r facts.Replica) int {
	if r.Settings() != o.Desired.Settings {
		return 1
	}
	return 0
}

// grow makes the volume that promises the name, then adds the learner. Its Pod is the next pass's business. A member is
// added for a size that was raised, for one that was removed, and beside a voter that is doomed or to be succeeded.
func grow(o pass) *proposal {
	join := o.due.Join
	if join == nil {
		return nil
	}
	quorum := etcdutil.Quorum(len(o.Voters()) + 1)
	if sick := sickVoter(o.Incarnation); sick.Member != nil && len(o.HealthyVoters()) < quorum {
		return wait(facts.ReasonNotReady, "A member will be added once %s is healthy.", sick.Name).
			due(o, facts.PodChange(sick.Pod), facts.StartDeadline).yielding()
	}
	if name := o.due.Promised; join.IsPrepared {
		return act(changes.AddLearner{Name: name}, "%s.", join.Because)
	}
	if len(o.LostCAs()) > 0 {
		return nil // no new member can be trusted: scaffold says so
	}
	return act(changes.PrepareMember{Volume: o.due.Next, Secret: o.Desired.TLS},
		"%s. What a new member needs is made first.", join.Because)
}

// sickVoter is a voter that is not healthy, or an empty replica. etcd refuses additions while fewer are than a quorum
// with the new one.
func sickVoter(o facts.Incarnation) facts.Replica {
	for _, r := range o.Voters() {
		if !r.IsHealthy(o.Membership) {
			return r
		}
	}
	return facts.Replica{}
}
