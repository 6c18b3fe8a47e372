package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules about a member on its way to its vote.

// abandonLearner removes a learner that is not wanted, or that cannot live. A learner has no vote: removing it risks
// nothing. One whose Pod Kubernetes cannot start is left, unless its node is why: another name would meet the same.
func abandonLearner(o pass) *proposal {
	for _, r := range o.Learners() {
		if why := whyAbandon(o, r); why != "" {
			return act(changes.RemoveMember{Name: r.Name, ID: r.Member.ID},
				"%s. It is a learner, and has no vote.", why)
		}
	}
	return nil
}

func whyAbandon(o pass, r facts.Replica) string {
	j := o.Judge(r)
	switch {
	case len(o.due.Lasting) >= o.Desired.Size && o.Desired.Fault == "":
		return "the size does not ask for it"
	case j.IsLost():
		return j.Says
	case o.IsMadeForOther(r):
		return "its volume was never made, and the spec asks for another StorageClass or a smaller volume"
	case r.IsDoomed():
		return "its volume is being deleted"
	case r.Pod == nil:
		return ""
	case hasStaleFlags(r):
		return "the member list changed before it started"
	case o.Desired.Ephemeral && mayStartOtherwise(o, r):
		return "its Pod cannot start, and the settings changed"
	case isLate(o, r):
		return fmt.Sprintf("it did not join within %s", joinDeadline(o.Incarnation))
	}
	return ""
}

// mayStartOtherwise reports a Pod that cannot start as it was made, while a new member would be made from something
// else.
func mayStartOtherwise(o pass, r facts.Replica) bool {
	return r.CannotRun() && (r.Pod.Settings != o.due.Settings || r.Pod.OtherImage)
}

// isLate reports a learner whose Pod started, or has a node that is why it did not, and is older than it takes to join,
// and that does not answer.
func isLate(o pass, r facts.Replica) bool {
	return (r.Pod.Started || o.Judge(r).Cause == facts.CauseNode) &&
		o.Now.Sub(r.Pod.Created) > joinDeadline(o.Incarnation) && !r.IsHealthy(o.Membership)
}

// isCrowdedOut reports a learner that some node might take once a Pod stops: it would take the room of a member that is
// restarted. That is so unless no reason of the scheduler ends when a Pod stops.
func isCrowdedOut(learner facts.Replica) bool {
	says, _, _ := strings.Cut(learner.Pod.Message, "preemption:")
	reasons := placeReason.FindAllString(says, -1)
	return learner.Pod.OtherScheduler || len(reasons) == 0 || slices.ContainsFunc(reasons, func(reason string) bool {
		return !slices.ContainsFunc(lasting, func(words string) bool { return strings.Contains(reason, words) })
	})
}

// placeReason is one reason of the scheduler, behind the number of nodes that have it
// (kubernetes/kubernetes:pkg/scheduler/framework/types.go FitError).
var placeReason = regexp.MustCompile(`(?:^|[ ,])\d+ [^,]+`)

// lasting are reasons that no Pod which stops takes away, in the words of the plugins below
// kubernetes/kubernetes:pkg/scheduler/framework/plugins. A rule of Pods that are there, which the learner's own
// settings do not have, gives it no room before these are made anew.
var lasting = []string{
	"untolerated taint", "were unschedulable", "didn't match Pod's node affinity/selector",
	"didn't match the requested node name", "had volume node affinity conflict",
	"didn't match PersistentVolume's node affinity", "didn't satisfy existing pods anti-affinity rules",
}

// wayToPlace is what a person can do about a learner that no node takes, as a sentence with a space in front, or "".
func wayToPlace(o pass, r facts.Replica) string {
	doomed := o.due.Dispensable
	says := fmt.Sprintf(" No node has taken it for %s. Add a node, or have spec.pod ask less of nodes",
		facts.PlaceDeadline)
	switch {
	case r.Name != o.due.Unplaced.Name || r.IsUnmade() || o.due.InTheWay.Member != nil:
		return ""
	case doomed.Member != nil && isCrowdedOut(r):
		return fmt.Sprintf("%s. Or delete Pod %s, if it would find room on node %s then: that costs this one copy, "+
			"and the others serve on. Until then no other member is restarted: %s would take its room.",
			says, doomed.Name, doomed.Pod.Node, r.Name)
	case o.due.Succeeded.Member != nil:
		return says + ", or put the spec back. Nothing is stopped until then."
	}
	return says + "."
}

// learnerFirst lets a learner start before another member is removed: it was told the list as it is, and would find
// another one and be given up with its name. Not for longer than a start takes, and not where no further voter may
// fail.
func learnerFirst(o pass, leaving facts.Replica, reason string) *proposal {
	for _, r := range o.Learners() {
		isOnItsWay := r.Pod != nil && !r.Pod.Terminating && !r.Member.Started() && !r.CannotRun() && !hasStaleFlags(r)
		if isOnItsWay && o.Margin() > 0 && o.Now.Sub(r.Pod.Created) <= facts.StartDeadline {
			return wait(reason, "%s is removed once the new member %s has started with the list as it is.",
				leaving.Name, r.Name)
		}
	}
	return nil
}

// joinDeadline is how long a learner may take: it has to copy the database first.
func joinDeadline(o facts.Incarnation) time.Duration {
	const slowest = 2 << 20 // bytes per second
	return facts.JoinDeadline + time.Duration(largestDatabase(o)/slowest)*time.Second
}

// largestDatabase is in bytes.
func largestDatabase(o facts.Incarnation) int64 {
	var largest int64
	for _, r := range o.Members {
		if r.Answer != nil {
			largest = max(largest, r.Answer.DBSize)
		}
	}
	return largest
}

// hasStaleFlags reports whether a joining etcd stopped because the list it was given is not the list any more.
func hasStaleFlags(r facts.Replica) bool {
	return !r.Pod.Running && r.Pod.Exit != nil && r.Pod.Exit.Reason == etcdutil.ExitStaleFlags
}

// promote raises the budget, then gives the learner its vote. There is never more than one.
func promote(o pass) *proposal {
	learners := o.Learners()
	if len(learners) == 0 {
		return nil
	}
	r := learners[0]
	if !r.IsSealed() || !r.Pod.Ready || !o.IsCaughtUp(r) {
		return learnerTrouble(o, r)
	}
	if want := facts.BudgetFor(o.View.View, len(o.Voters())+1); want > o.Budget.MinAvailable &&
		o.Budget.State != facts.ObjectForeign {
		return act(changes.SetBudget{MinAvailable: want}, "%s gets its vote next.", r.Name)
	}
	return act(changes.Promote{Name: r.Name, ID: r.Member.ID}, "it has caught up, and becomes a voter.")
}

// learnerTrouble reports what a learner waits for, and lets later rules act: a repair must not wait for it.
func learnerTrouble(o pass, r facts.Replica) *proposal {
	p := startTrouble(o, r)
	if p == nil {
		p = joining(o, r)
	}
	if way := wayToPlace(o, r); way != "" {
		p.Message = strings.TrimSuffix(p.Message, ".") + "." + way
	}
	return p.yielding()
}

func joining(o pass, r facts.Replica) *proposal {
	if r.Pod == nil || !r.Pod.Running {
		return wait(facts.ReasonStarting, "The new member %s is starting.", r.Name).due(o, facts.PodChange(r.Pod),
			joinDeadline(o.Incarnation))
	}
	return wait(facts.ReasonCatchUp, "%s is copying the data; it votes once it has caught up.", r.Name).
		due(o, r.Pod.Created, joinDeadline(o.Incarnation))
}
