package plan

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Whom the disruption budget counts beside those that clients are led to. A Pod that no budget selects may always be
// evicted, and each one more that is selected lets a drain take another one. So a voter that clients are led away from
// is in the budget only while its vote is needed.

// countVoters has the budget count such voters, one at a time, while without them it counts too few.
func countVoters(o pass) *proposal {
	if !o.Membership.Known || o.Budget.MinAvailable == 0 {
		return nil
	}
	busy, _ := o.Busy()
	for _, r := range o.Voters() {
		if !isKnown(r) || r.Pod.Terminating {
			continue
		}
		ready, isOther := countedBeside(o, r), o.Judge(r).Cause == facts.CauseIdentity
		isThere := r.Pod.Ready || busy.Name == r.Name // one that is defragmented is not ready for a while
		isSpared := isOther || len(ledTo(o.Incarnation)) >= o.Budget.MinAvailable
		switch {
		case ready < o.Budget.MinAvailable && !isOther && !r.IsCounted() && isThere:
			return act(changes.LabelRole{Pod: r.PodRef(), Role: facts.RoleCounted},
				"the disruption budget asks for %d ready voters, and counts %d beside it. Clients are not led there.",
				o.Budget.MinAvailable, ready)
		case isSpared && r.Pod.Role == facts.RoleCounted:
			return act(changes.LabelRole{Pod: r.PodRef(), IsUncount: true}, "it counts enough others.")
		}
	}
	return nil
}

// countedBeside is how many Pods beside a member's own the budget counts as healthy.
func countedBeside(o pass, r facts.Replica) int {
	return len(facts.Filter(o.Members, func(other facts.Replica) bool {
		return other.Name != r.Name && other.IsCounted() && other.Pod.Ready && !other.Pod.HeldUnready &&
			!other.Pod.Terminating
	}))
}

// roleAtStart says that a learner has no vote. A voter gets its role once its copy of the data is compared. Until then
// it is in the budget where too few others are.
func roleAtStart(o pass, r facts.Replica) string {
	switch {
	case r.IsLearner():
		return facts.RoleLearner
	case countedBeside(o, r) < o.Budget.MinAvailable:
		return facts.RoleCounted
	}
	return ""
}
