package plan

import (
	"fmt"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules about a member on its way to its vote.

// abandonLearner removes a learner that is not wanted, or that cannot live. A learner has no vote: removing it risks nothing.
// One whose Pod Kubernetes cannot start is left: another name would meet the same.
func abandonLearner(o view) *proposal {
	for _, r := range o.Learners() {
		if why := o.whyAbandon(r); why != "" {
			return act(RemoveMember{Name: r.Name, ID: r.Member.ID}, ReasonAbandon, "The learner %s is removed: %s.", r.Name, why)
		}
	}
	return nil
}

func (o view) whyAbandon(r Replica) string {
	j := o.Judge(r)
	switch {
	case len(o.lastingVoters()) >= o.Desired.Size && o.Desired.Fault == "":
		return "the size does not ask for it"
	case j.IsLost():
		return j.Says
	case r.isDoomed():
		return "its volume is being deleted"
	case r.Pod == nil:
		return ""
	case r.hasStaleFlags():
		return "the member list changed before it started"
	case o.Desired.Ephemeral && o.mayStartOtherwise(r):
		return "its Pod cannot start, and the settings changed"
	case r.Pod.Started && o.isLate(r):
		return fmt.Sprintf("it did not join within %s", o.joinDeadline())
	}
	return ""
}

// mayStartOtherwise reports a Pod that cannot start as it was made, while a new member would be made from something else.
func (o view) mayStartOtherwise(r Replica) bool {
	return r.cannotRun() && r.Pod.Choices != o.memberChoices()
}

// isLate reports whether a learner's Pod is older than it takes to join, and the learner does not answer.
func (o view) isLate(r Replica) bool {
	return o.Now.Sub(r.Pod.Created) > o.joinDeadline() && !r.IsHealthy(o.Membership)
}

// learnerFirst lets a learner start before another member is removed: it was told the list as it is, and would find another one and
// be given up with its name. Not for longer than a start takes, and not where no further voter may fail.
func (o view) learnerFirst(leaving Replica, reason string) *proposal {
	for _, r := range o.Learners() {
		isOnItsWay := r.Pod != nil && !r.Pod.Terminating && !r.Member.Started() && !r.cannotRun() && !r.hasStaleFlags()
		if isOnItsWay && o.Margin() > 0 && o.Now.Sub(r.Pod.Created) <= startDeadline {
			return wait(reason, "%s is removed once the new member %s has started with the list as it is.", leaving.Name, r.Name)
		}
	}
	return nil
}

// joinDeadline is how long a learner may take: it has to copy the database first.
func (o Incarnation) joinDeadline() time.Duration {
	const slowest = 2 << 20 // bytes per second
	return joinDeadline + time.Duration(o.largestDatabase()/slowest)*time.Second
}

// largestDatabase is in bytes.
func (o Incarnation) largestDatabase() int64 {
	var largest int64
	for _, r := range o.Members {
		if r.Answer != nil {
			largest = max(largest, r.Answer.DBSize)
		}
	}
	return largest
}

// hasStaleFlags reports whether a joining etcd stopped because the list it was given is not the list any more.
func (r Replica) hasStaleFlags() bool {
	return !r.Pod.Running && r.Pod.Exit != nil && r.Pod.Exit.Reason == etcdutil.ExitStaleFlags
}

// promote raises the budget, then gives the learner its vote. There is never more than one.
func promote(o view) *proposal {
	learners := o.Learners()
	if len(learners) == 0 {
		return nil
	}
	r := learners[0]
	if !r.IsSealed() || !r.Pod.Ready || !o.isCaughtUp(r) {
		return o.learnerTrouble(r)
	}
	if want := budgetFor(o, len(o.Voters())+1); want > o.Budget.MinAvailable && o.Budget.State != ObjectForeign {
		return act(SetBudget{MinAvailable: want}, ReasonBudget, "The disruption budget is raised to %d before %s gets its vote.", want, r.Name)
	}
	return act(Promote{Name: r.Name, ID: r.Member.ID}, ReasonPromote, "%s has caught up and becomes a voter.", r.Name)
}

// learnerTrouble reports what a learner waits for, and lets later rules act: a repair must not wait for it.
func (o view) learnerTrouble(r Replica) *proposal {
	p := startTrouble(o, r)
	if p == nil {
		p = o.joining(r)
	}
	return p.yielding()
}

func (o view) joining(r Replica) *proposal {
	if r.Pod == nil || !r.Pod.Running {
		return wait(ReasonStarting, "The new member %s is starting.", r.Name).due(o, podChange(r.Pod), o.joinDeadline())
	}
	return wait(ReasonCatchUp, "%s is copying the data; it votes once it has caught up.", r.Name).due(o, r.Pod.Created, o.joinDeadline())
}

// caughtUpWithin is how many raft entries a learner may be behind the leader when it gets its vote.
const caughtUpWithin = 1000

// isCaughtUp reports whether the replica answered in this very observation, close to the leader. etcd's own test would
// promote a learner whose process is dead.
func (o Incarnation) isCaughtUp(r Replica) bool {
	if !r.IsHealthy(o.Membership) || r.Answer.Leader != o.Membership.Leader {
		return false // a learner that is cut off goes on calling the leader of the past its leader
	}
	for _, other := range o.Members {
		if other.Answer != nil && other.Answer.ID == o.Membership.Leader {
			return r.Answer.Applied+caughtUpWithin >= other.Answer.Applied
		}
	}
	return false
}
