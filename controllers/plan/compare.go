package plan

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Each process that starts from data is compared once with the other members. Etcd does not do that: members that start
// together would wait for each other, and what was compacted meanwhile it passes over. See docs/decisions/0031.

// compare leads clients to a member that started from its data, once a majority is heard to hold the same copy. What
// cannot be compared in the time of a start serves as it is: a cluster whose copies take too long to read must serve.
func compare(o judge.View) *proposal {
	if inDoubt(o.Incarnation) {
		return nil // while one of them is not called compared, all are asked again: see corruption
	}
	var same, unheard []changes.Seal
	for _, r := range o.Voters() {
		switch {
		case !o.IsToBeCompared(r):
		case isAloneOrSame(o.Incarnation, r):
			same = append(same, comparedSeal(o, r))
		case isUnheardOf(o, r):
			unheard = append(unheard, comparedSeal(o, r))
		}
	}
	switch {
	case len(same) > 0:
		return act(changes.SealPods{Pods: same}, facts.ReasonCompare,
			"%s started from the same data as a majority of the members; clients are led there.", sealNames(same))
	case len(unheard) > 0:
		return act(changes.SealPods{Pods: unheard}, facts.ReasonCompare, "The data of %s could not be compared within "+
			"%s: %s. Clients are led there all the same.", sealNames(unheard), facts.StartDeadline,
			hashes(o.Incarnation))
	}
	return nil
}

// isAloneOrSame reports a member without any other, or with a copy that a majority has.
func isAloneOrSame(o facts.Incarnation, r facts.Replica) bool {
	isAlone := len(o.Voters()) == 1 && len(o.Membership.VotingStrangers()) == 0
	return isAlone || r.Answer.Hash != nil && o.HasMajority(*r.Answer.Hash)
}

// isUnheardOf reports a process that had the time of a start, and of which nothing shows whether its copy is the right
// one.
func isUnheardOf(o judge.View, r facts.Replica) bool {
	return r.Pod.HadStartTime(o.Now) && !isToLeaveUncompared(o.Incarnation, r)
}

func comparedSeal(o judge.View, r facts.Replica) changes.Seal {
	s := changes.Seal{Pod: r.PodRef(), Process: r.Pod.Process}
	if !servesNothing(r) && !isToLoseClients(o, r) {
		s.Role = facts.RoleVoter
	}
	return s
}

// comparing holds changes of members back while one of them is asked for its hash.
func comparing(o judge.View) *proposal {
	for _, r := range o.Voters() {
		if o.IsToBeCompared(r) {
			p := wait(facts.ReasonCompare, "%s started. Its copy of the data is compared with the others'; no member "+
				"is added, removed or restarted meanwhile.%s", r.Name, whyNoHash(r))
			p.Recheck = recheckSlow
			return p
		}
	}
	return nil
}

// whyNoHash tells, as a part of a message, that a member was asked in vain.
func whyNoHash(r facts.Replica) string {
	if r.Answer.Hash != nil {
		return ""
	}
	return fmt.Sprintf(" %s did not say its hash yet.", r.Name)
}

// awaitsHashes reports a process whose copy has to be compared now. Clients are led away from it first, where they can
// be. A cluster that is only looked at is asked nothing.
func awaitsHashes(o facts.Observation) bool {
	if o.Desired.Paused || o.Desired.Deleting || o.IsAnothers() || len(o.Current.Voters()) < 2 {
		return false
	}
	return slices.ContainsFunc(o.Current.Voters(), func(r facts.Replica) bool {
		return o.Current.IsToBeCompared(r) && !isToLeaveUncompared(o.Current, r)
	})
}

// isUncompared reports a voter whose process, or the next one, starts from data that was not compared since.
func isUncompared(r facts.Replica) bool { return r.IsVoter() && r.IsUp() && r.Pod.Uncompared }

// isToLeaveUncompared reports such a voter that clients are led to beside a quorum of others.
func isToLeaveUncompared(o facts.Incarnation, r facts.Replica) bool {
	return isUncompared(r) && r.Pod.Role == facts.RoleVoter && o.HasQuorum() && isQuorumLedTo(o)
}
