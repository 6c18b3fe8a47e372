package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// Rules that reclaim space that etcd does not use. A member is silent while it is defragmented. So it is asked only
// while all others serve, leads no client then, and its silence is no sign of a fault until its time is over.

const (
	// restAfterDefrag is how long a member rests after a defragmentation that failed, or left its file as it was.
	restAfterDefrag = 10 * time.Minute
	// restUnstarted is how long all rest after a Pod that never ran: the next one would meet the same. That Pod is all
	// that tells of it, and how many there were before it does not say. So the rest does not grow.
	restUnstarted = time.Hour
	// restAfterShare is how long it rests after one that its own share asked for.
	restAfterShare = time.Hour
	// failureTold is for how long one that failed is told.
	failureTold = 24 * time.Hour
	// leastToReclaim is the file below which a share of it is not worth a member's silence.
	leastToReclaim = 100 << 20
)

// compact takes away history that fills a member, where space ran out and defragmentation alone would not be enough.
func compact(o pass) *proposal {
	if o.due.Compact == 0 {
		return nil // where history is too young, the rule alarms says what helps
	}
	return act(changes.Compact{Revision: o.due.Compact}, "etcd takes no more keys, and their history fills the "+
		"database. What came in the last %s stays, as spec.maintenance.keepHistory asks.", o.Desired.Upkeep.KeepHistory)
}

// dueForCompaction is the revision up to which history is compacted next, or zero. There may be more that is too young.
func dueForCompaction(o judge.Judged) (revision int64, isYoung bool) {
	leader, compacted := o.Leader(), o.History.Compacted
	switch {
	case !o.IsOutOfSpace() || !o.Desired.Upkeep.Compacts || leader.Answer == nil || compacted == nil:
		return 0, false
	case o.History.Reached > *compacted:
		return o.History.Reached, false
	}
	return 0, !o.History.IsAllCompacted(leader) // otherwise keys fill it
}

// dueForDefrag is the member that is defragmented next, and why: followers first, the leader last.
func dueForDefrag(o judge.Judged) (facts.Replica, string) {
	if o.IsPreparing() || !o.Membership.Known {
		return facts.Replica{}, "" // what is restored beside it takes its place soon
	}
	voters := o.Voters()
	if slices.ContainsFunc(voters, func(r facts.Replica) bool { return isUnstarted(o, r) }) {
		return facts.Replica{}, ""
	}
	slices.SortFunc(voters, leaderLast(o.Incarnation))
	for _, r := range voters {
		if why := whyDefrag(o, r); why != "" {
			return r, why
		}
	}
	return facts.Replica{}, ""
}

// isUnstarted reports a member whose last Pod never ran, a short while ago.
func isUnstarted(o judge.Judged, r facts.Replica) bool {
	p := r.Defragmenting
	return p != nil && p.NeverRan(o.Now) && o.Now.Sub(p.Created) < restUnstarted
}

// hasJustFailed reports a member that could not be defragmented, and rests.
func hasJustFailed(o judge.Judged, r facts.Replica) bool {
	p := r.Defragmenting
	return p != nil && p.HasFailed() && o.Now.Sub(endOf(p)) < restAfterDefrag
}

// leaderLast is the order in which something is done to voters that serve.
func leaderLast(o facts.Incarnation) func(a, b facts.Replica) int {
	return func(a, b facts.Replica) int {
		return cmp.Or(cmp.Compare(leads(o, a), leads(o, b)), cmp.Compare(b.Ordinal, a.Ordinal))
	}
}

func leads(o facts.Incarnation, r facts.Replica) int {
	if r.Member.ID == o.Membership.Leader {
		return 1
	}
	return 0
}

// whyDefrag says what asks for a member to be defragmented, as a sentence, or "".
func whyDefrag(o judge.Judged, r facts.Replica) string {
	var last time.Time // when it was done
	if r.IsDefragmented() {
		last = r.Defragmenting.Created
	} else if hasJustFailed(o, r) {
		return ""
	}
	asks, raised := o.Desired.Upkeep, o.Raised()
	switch {
	case len(raised) > 0:
		return whyDefragFull(o, r)
	case r.Answer == nil || r.WouldGive(r.Answer.DBSizeInUse) == 0:
		return ""
	case asks.Asked.After(last):
		return "etcdsteward.dev/defragment asks for it."
	case o.Desired.Window.IsClosed:
		return ""
	case asks.Scheduled.After(last):
		return "spec.maintenance.defragment.schedule asks for it."
	case isReclaimable(r, asks.Reclaimable) && o.Now.Sub(last) > restAfterShare:
		return fmt.Sprintf("it uses %s of its %s.", facts.InMebi(r.Answer.DBSizeInUse),
			facts.InMebi(r.Answer.DBSize))
	}
	return ""
}

// whyDefragFull is whyDefrag where space ran out. What else is wrong with the data comes first.
func whyDefragFull(o judge.Judged, r facts.Replica) string {
	isOther := func(a facts.Alarm) bool { return a.Name != facts.AlarmNoSpace }
	if p := r.Defragmenting; p != nil && p.HasSucceeded() && !p.HasHelped() &&
		o.Now.Sub(p.Created) < restAfterDefrag {
		return "" // it has just been done, and the file is as large as it was
	}
	const least = 1 << 20 // here less than a tenth may be what lacks
	if !r.IsFull() || slices.ContainsFunc(o.Raised(), isOther) || o.IsOutOfSpace() ||
		r.Answer.DBSize-o.InUse() < least {
		return ""
	}
	return fmt.Sprintf("etcd takes no more keys, and uses %s of its %s.", facts.InMebi(o.InUse()),
		facts.InMebi(r.Answer.DBSize))
}

func endOf(p *facts.DefragPod) time.Time {
	if p.Finished.IsZero() {
		return p.Created
	}
	return p.Finished
}

func isReclaimable(r facts.Replica, percent int64) bool {
	return percent > 0 && r.Answer.DBSize >= leastToReclaim &&
		r.WouldGive(r.Answer.DBSizeInUse)*100 >= percent*r.Answer.DBSize
}

// defragment reclaims what members do not use, in one after the other.
func defragment(o pass) *proposal {
	if r, isBusy := o.Busy(); isBusy {
		return defragmenting(o, r)
	}
	if p := defragLeftover(o); p != nil {
		return p
	}
	r := o.due.Defragment
	if r.Member == nil {
		return defragFailed(o)
	}
	if why := whyNotDefrag(o, r); why != "" {
		return wait(facts.ReasonDefragment, "%s is defragmented next. The operator begins once %s.", r.Name,
			why).yielding()
	}
	others := len(o.Voters()) > 1
	switch {
	case others && r.Member.ID == o.Membership.Leader:
		return handOver(o, r, o.HealthyVoters(), facts.ReasonDefragment, "is defragmented next")
	case others && r.Pod.Role == facts.RoleVoter:
		return act(changes.LabelRole{Pod: r.PodRef(), Before: defragOf(o, r)},
			"it answers nothing while it is defragmented.")
	}
	return act(defragOf(o, r), "%s", o.due.DefragBecause)
}

func defragOf(o pass, r facts.Replica) changes.StartDefrag {
	return changes.StartDefrag{Name: r.Name, ID: r.Member.ID, Deadline: facts.DefragDeadline(r.Answer.DBSizeInUse),
		Until: r.DefragmentUntil(o.InUse())}
}

// isGivingBack reports that history is compacted or a member defragmented, or will be, or was tried to be.
func isGivingBack(o pass) bool {
	_, isBusy := o.Busy()
	isResting := func(r facts.Replica) bool {
		return (isUnstarted(o.Judged, r) || hasJustFailed(o.Judged, r)) && r.WouldGive(o.InUse()) > 0
	}
	return isBusy || o.due.Defragment.Member != nil || o.due.Compact > 0 || o.due.IsHistoryYoung ||
		o.IsOutOfSpace() && o.History.IsRead ||
		!o.IsOutOfSpace() && slices.ContainsFunc(o.Voters(), isResting)
}

// isLedAwayToDefrag reports a member that clients are led away from for its defragmentation, or that is at it. Where
// Kubernetes refuses the Pod, they are led back.
func isLedAwayToDefrag(o pass, r facts.Replica) bool {
	if busy, isBusy := o.Busy(); isBusy {
		return busy.Name == r.Name && len(o.Voters()) > 1
	}
	return o.due.Defragment.Name == r.Name && len(o.Voters()) > 1 && whyNotDefrag(o, r) == "" &&
		!isRejected(o.Observation, nameDefragment)
}

// whyNotDefrag says what has to come first, to follow "once", or "".
func whyNotDefrag(o pass, r facts.Replica) string {
	for _, other := range o.Voters() {
		if !isWell(o.Incarnation, other) {
			return other.Name + " serves again"
		}
	}
	switch {
	case len(o.Learners()) > 0 || o.due.Join != nil:
		return "all members vote"
	case o.Streaming != "":
		return "Pod " + o.Streaming + " has read its backup, which would hold the member up"
	case !r.HasRoomForCopy():
		return fmt.Sprintf("its volume of %s has room for a second copy of %s: enlarge it, or delete keys",
			facts.FormatBytes(r.Volume.Bytes), facts.InMebi(r.Answer.DBSizeInUse))
	}
	return ""
}

// defragmenting waits for the Pod that has a member defragmented.
func defragmenting(o pass, r facts.Replica) *proposal {
	p := r.Defragmenting
	if o.Now.After(p.Ends()) {
		return act(changes.DeleteDefrag{Name: r.Name, UID: p.UID}, "it did not end in its time.")
	}
	says := fmt.Sprintf("%s is defragmented, and answers nothing meanwhile. Other members serve. It may take until %s.",
		r.Name, p.Ends().UTC().Format(time.TimeOnly))
	if len(o.Voters()) == 1 || !o.Membership.Known {
		says = fmt.Sprintf("%s is defragmented. The cluster answers nothing until that is done, which may take until "+
			"%s.", r.Name, p.Ends().UTC().Format(time.TimeOnly))
	}
	waits := taskTrouble(p.Task, o, facts.ReasonDefragment, p.Deadline, says)
	if len(o.Raised()) > 0 {
		waits.Recheck = recheckUrgent
	}
	return waits
}

// defragLeftover deletes the Pod of a former member, the last one of a member that is due again, and one that no node
// took for long.
func defragLeftover(o pass) *proposal {
	for _, r := range o.Members {
		p := r.Defragmenting
		switch {
		case p == nil || !o.Membership.Known:
		case r.Member != nil && r.Name != o.due.Defragment.Name && !isUnplacedDefrag(o, r):
		case p.Terminating:
			return taskLeaving(p.Task, o, facts.ReasonDefragment, "The last Pod that defragmented %s is terminating.",
				r.Name).yielding()
		default:
			return act(changes.DeleteDefrag{Name: r.Name, UID: p.UID}, "it has ended, and another one may follow.")
		}
	}
	return nil
}

// isUnplacedDefrag reports a Pod that still waits for what it never got, and has rested.
func isUnplacedDefrag(o pass, r facts.Replica) bool {
	p := r.Defragmenting
	return !p.HasFailed() && p.NeverRan(o.Now) && !isUnstarted(o.Judged, r)
}

// defragFailed tells of a member that could not be defragmented, until it can be, or nothing can be reclaimed any more.
func defragFailed(o pass) *proposal {
	if fault := o.Desired.Upkeep.Fault; fault != "" {
		return refuse(facts.ReasonDefragment, "%s No member is defragmented for it. Correct "+
			"spec.maintenance.defragment.", fault).byHuman().yielding()
	}
	for _, r := range o.Voters() {
		switch p := r.Defragmenting; {
		case p == nil || r.WouldGive(o.InUse()) == 0 || o.Now.Sub(endOf(p)) > failureTold:
		case p.NeverRan(o.Now):
			return refuse(facts.ReasonDefragment, "%s could not be defragmented: its Pod did not start%s Clients are "+
				"led to the member. The operator tries again an hour after that, or as soon as you delete the Pod.",
				r.Name, whyUnstarted(o, p.Task)).yielding()
		case p.HasFailed():
			return refuse(facts.ReasonDefragment, "%s could not be defragmented: %s. Nothing is lost, and it serves. "+
				"The operator tries again after %s, while it is due.", r.Name, p.WhyFailed(),
				restAfterDefrag).yielding()
		}
	}
	return nil
}

// whyUnstarted says what kept a Pod from starting, behind what it did not do.
func whyUnstarted(o pass, t facts.Task) string {
	if t.Message == "" {
		return ". Look at its events: " + warnings(o) + " has them."
	}
	return fmt.Sprintf(" (%s): %s", t.Waiting, howToStart(t.Waiting, t.Message, ""))
}
