package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Hibernation: spec.size is 0. No member runs, and all volumes stay. What starts members again are the rules of a
// cluster whose nodes all restarted. See docs/decisions/0047.

// asAsked is the observation as rules and guard read it. A cluster that is to sleep keeps the members that can: none of
// these is one too many. What would not outlast its Pod leaves, and where an odd number of members is missing then, it
// is succeeded first. So are members on volumes that are going, and those with their data in their Pods. Of three or
// more at least three stay: for a sleep no one gives copies of the data up.
func asAsked(o facts.Observation) facts.Observation {
	if o.Desired.Size > 0 {
		return o
	}
	voters := o.Current.Voters()
	size := len(facts.Filter(voters, func(r facts.Replica) bool { return !r.IsDoomed() && !r.Ephemeral }))
	if size < len(voters) {
		size |= 1
		if len(voters) >= 3 {
			size = max(size, 3)
		}
	}
	o.Desired.Sleep, o.Desired.Size = true, size
	return o
}

// hibernate writes down that the cluster sleeps, once nothing of its data would go with its Pods. Whether its members
// answer makes no difference: where their nodes are gone already, they sleep as well.
func hibernate(o pass) *proposal {
	if !o.Desired.Sleep {
		return nil
	}
	if why := whyAwake(o); why != "" {
		return wait(facts.ReasonFallingAsleep, "spec.size is 0. The cluster sleeps later, because %s. To have it "+
			"serve on, set spec.size to the number of members that it is to have.", why).yielding()
	}
	return act(changes.FallAsleep{}, "spec.size is 0. Pods of members go next, and their volumes stay.")
}

// whyAwake says what has to end before the cluster can sleep, or "".
func whyAwake(o pass) string {
	former := slices.ContainsFunc(o.FormerMembers(), func(r facts.Replica) bool { return r.Pod != nil })
	switch {
	case o.Bootstrap.ClusterID == 0:
		return "its first members have not found each other"
	case quorumState(o) == QuorumLost:
		return "too many members have lost their data"
	case o.IsPreparing():
		return "a restore in place is under way"
	case former:
		return "previous members still run"
	case o.Streaming != "":
		return "the Pod " + o.Streaming + " reads a member's data for a backup"
	case inDoubt(o.Incarnation):
		return "members hold different data"
	case len(o.Learners()) > 0:
		return o.Learners()[0].Name + " is about to join or to go"
	}
	for _, r := range o.Members {
		switch {
		case r.IsBusy(o.Now):
			return r.Name + " is being defragmented"
		case r.Pod != nil && r.Ephemeral:
			return fmt.Sprintf("%s has its data in its Pod: new members on volumes follow first", r.Name)
		case r.Pod != nil && !o.MaySleep(r):
			return fmt.Sprintf("what %s holds is not written down on a volume that stays", r.Name)
		}
	}
	return ""
}

// asleep stops what runs of a cluster that sleeps, and then leaves it alone: nothing is written.
func asleep(o pass) *proposal {
	var stops, kept []facts.PodRef
	for _, r := range o.Members {
		switch {
		case !r.IsUp():
		case o.MaySleep(r):
			stops = append(stops, r.PodRef())
		default:
			kept = append(kept, r.PodRef())
		}
	}
	switch leaving := facts.Filter(o.Members, func(r facts.Replica) bool { return r.Pod != nil }); {
	case len(stops) > 0:
		return act(changes.StopMembers{Pods: stops}, "spec.size is 0, and the data stays on the volumes.")
	case len(kept) > 0:
		return refuse(facts.ReasonDataAtRisk, "spec.size is 0, and the Pod of %s runs on: the volume that it is on "+
			"would go with it. Set spec.size to the number of members that the cluster is to have: the others start "+
			"again, and a new member takes its place.", kept[0].Name).byHuman()
	case len(leaving) > 0:
		return wait(facts.ReasonPodLeaving, "The Pod of %s is being stopped.%s", leaving[0].Name,
			heldAmong(leaving...)).due(o, leaving[0].Pod.GoneBy, facts.LeavingDeadline)
	case o.Budget.MinAvailable > 0 && (o.Budget.State == facts.ObjectCurrent || o.Budget.State == facts.ObjectDrifted):
		return act(changes.SetBudget{}, "the cluster sleeps, and no member runs.")
	}
	return sleeping(fmt.Sprintf("The cluster sleeps: no member runs, and the data stays on the volumes of %s",
		joinNames(facts.Filter(o.Members, o.MayRestart), func(r facts.Replica) string { return r.Name })))
}

// sleeping is what is said of a cluster that is left alone because spec.size is 0.
func sleeping(says string) *proposal {
	p := wait(facts.ReasonAsleep, "%s. To wake it, set spec.size to the number of members that it is to have.", says)
	p.Recheck = recheckSettled
	return p.yielding()
}

// awake takes the word back that the cluster sleeps, once a quorum answers. Until then spec.size 0 stops what started.
func awake(o pass) *proposal {
	if !o.Bootstrap.Asleep || !o.HasQuorum() {
		return nil
	}
	return act(changes.WakeUp{}, "spec.size is %d, and a quorum of the members answers.", o.Desired.Size)
}
