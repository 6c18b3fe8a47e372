package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Who is a member: what holds every change of members back while that is not certain, what is written down of them, and
// to whom clients are led.

// membership stops every change of members while it is not certain who they are.
func membership(o pass) *proposal {
	for _, ask := range []func(pass) *proposal{membersDisagree, membershipUnknown, strangeMember} {
		if p := ask(o); p != nil {
			return p
		}
	}
	return nil
}

// strangeMember stops where the list is not what the operator made: a member with another URL, or data that answers, or
// is recorded, as somebody else; or, for as long as that takes to call off, one whose name the next incarnation has
// too.
func strangeMember(o pass) *proposal {
	if m := o.Namesake(); m != nil {
		return wait(facts.ReasonCallOff, "Member %s has a name that a restore in place took as well; nothing is "+
			"added or removed until that is called off.", m.ID)
	}
	if len(o.Membership.Strangers) > 0 {
		m := o.Membership.Strangers[0]
		return refuse(facts.ReasonStranger, "Member %s (%v) was not added by the operator. Remove it with etcdctl "+
			"member remove, or nothing is added or removed.",
			m.ID, m.PeerURLs).byHuman()
	}
	for _, r := range o.Members {
		if r.Member == nil {
			continue
		}
		if r.IsRecorded() && r.Record().MemberID != r.Member.ID {
			return refuse(facts.ReasonForeignData, "The data of %s is recorded as member %s, the list says %s. Put "+
				"its own volume back.", r.Name, r.Record().MemberID, r.Member.ID).byHuman()
		}
		if j := o.Judge(r); r.Answer != nil && j.Cause == facts.CauseIdentity && j.Cure == judge.Person {
			return refuse(facts.ReasonForeignData,
				"%s answers as member %s, the list says %s: its volume holds other data. Put its own volume back.",
				r.Name, r.Answer.ID, r.Member.ID).byHuman()
		}
	}
	return nil
}

// recordMembers writes down who lives where, once that very member has answered with its ID.
func recordMembers(o pass) *proposal {
	if records := newRecords(o); len(records) > 0 {
		return writeDown(o, records)
	}
	return nil
}

// newRecords are those that are not written down yet.
func newRecords(o pass) []changes.MemberRecord {
	var records []changes.MemberRecord
	for _, r := range o.Members {
		want, ok := recordOf(o, r)
		if !ok || want == r.Record() {
			continue
		}
		record := changes.MemberRecord{Name: r.Name, Record: want}
		if r.Volume != nil {
			record.VolumeUID = r.Volume.UID
		} else {
			record.PodUID = r.Pod.UID
		}
		records = append(records, record)
	}
	return records
}

func writeDown(o pass, records []changes.MemberRecord) *proposal {
	change := changes.RecordMembers{Members: records}
	isMarked := func(m changes.MemberRecord) bool {
		mark := m.Record.LogMark
		return mark != (record.LogMark{}) && mark != o.Find(m.Name).Record().LogMark
	}
	if slices.ContainsFunc(records, isMarked) {
		return act(change, "before etcd %s starts, each member must write a snapshot past where it is now in raft's "+
			"log. That place is kept beside its data.", o.Desired.Target)
	}
	return act(change, "identity and version are kept beside each member's data, for times when it does not answer.")
}

// recordOf is what can be written about the replica's data in this very observation.
func recordOf(o pass, r facts.Replica) (record.Member, bool) {
	if !o.IsAnsweringFor(r) || !isDataOfThisIncarnation(o, r) {
		return record.Member{}, false
	}
	version := r.Answer.Version
	if version.IsZero() { // a build that is no release: what it was made from must do
		version = r.Settings().Version
	}
	mounted, backing := mountedBy(r)
	answered := r.Record().Answered(r.Answer.ClusterID, r.Answer.ID, version, mounted, backing)
	version = r.Answer.Versions.Cluster
	answered = answered.InCluster(version, r.Answer.Applied, o.VersionChangedAt(version))
	if o.Desired.Needs == etcdutil.NeedCover && o.MayMarkLog() {
		answered.LogMark = o.NextLogMark(r)
	}
	if answered != r.Record() { // no reason of its own to write
		answered.Began = o.Bootstrap.BeganAt()
	}
	return answered, !answered.Version.IsZero()
}

// mountedBy is the UID of the volume that the replica's Pod runs on; empty when that is not certain. A Pod runs on no
// volume that is younger: it may have the old volume of that name, which was deleted, and the new one is another disk.
func mountedBy(r facts.Replica) (uid, backing string) {
	if r.Pod == nil || r.Volume == nil || r.Volume.Created.After(r.Pod.Created) {
		return "", ""
	}
	return r.Volume.UID, r.Volume.Backing
}

// isDataOfThisIncarnation reports whether the replica's data is of this incarnation and will stay. Before the cluster's
// identity is written down one that will not stay counts too: a bootstrap that could be given up was by now, so it
// holds what would be lost, and once it is written down a successor joins it.
func isDataOfThisIncarnation(o pass, r facts.Replica) bool {
	if r.Pod == nil || r.Pod.Terminating || r.Incarnation() != o.Bootstrap.Incarnation {
		return false
	}
	return r.Ephemeral || r.Volume != nil && (!r.Volume.Terminating || o.Bootstrap.ClusterID == 0)
}

// labelRole lets the client Service follow the roles. It comes before what may wait for a person, so that a member that
// serves again is not kept from its clients meanwhile. While copies are in doubt, no client is led to another one.
func labelRole(o pass) *proposal {
	for _, r := range o.Members {
		if inDoubt(o.Incarnation) || !isKnown(r) ||
			r.Pod.Terminating || isUncompared(r) || servesNothing(r) || isToLoseClients(o, r) {
			continue
		}
		if want := roleOf(o, r); want != r.Pod.Role {
			return act(changes.LabelRole{Pod: r.PodRef(), Role: want}, "it serves as a %s, and the client Service "+
				"leads to voters.", want)
		}
	}
	return countVoters(o)
}

// isKnown reports a member whose Pod can only start from the data that is recorded as its own.
func isKnown(r facts.Replica) bool {
	return r.Member != nil && r.IsSealed() && r.Record().MemberID == r.Member.ID
}

// isToLoseClients reports a member that clients are led away from although it serves: it has other data than its own,
// or is the one that shrink takes the label from before it is removed, or is defragmented next.
func isToLoseClients(o pass, r facts.Replica) bool {
	return o.Judge(r).Cause == facts.CauseIdentity || followsSpec(o) && o.due.Leave.Name == r.Name ||
		isLedAwayToDefrag(o, r)
}

// countsLate is the first version of etcd that counts what it got as a snapshot only once another entry follows. Above
// 5,000 entries it refuses all requests until then, its own to publish itself among them
// (etcd-io/etcd:server/etcdserver/server.go applySnapshot, v3_server.go processInternalRaftRequestOnce).
var countsLate = etcdutil.Version{Major: 3, Minor: 7}

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
	case slices.Contains(o.Raised(), facts.Alarm{Name: facts.AlarmCorrupt, Member: r.Member.ID}):
		return "etcd says that its copy of the data differs, and the voters agree"
	case o.IsMadeForOther(r):
		return "its volume was never made, and the spec asks for another StorageClass or a smaller volume"
	case r.IsDoomed():
		return "its volume is being deleted"
	case o.Desired.Fault == "" && isToMoveAtOnce(o.Judged, r):
		return whyMoved(o.Judged, r)
	case r.Pod == nil:
		return ""
	case hasStaleFlags(r):
		return "the member list changed before it started"
	case r.Ephemeral && mayStartOtherwise(o, r):
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
	tainted, unwilling, unselected, "didn't match the requested node name", "had volume node affinity conflict",
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
	case o.due.Drained.Member != nil:
		return says + ", or uncordon the node of " + o.due.Drained.Name + "."
	case o.due.Succeeded.Member != nil:
		says += ", or put the spec back. Nothing is stopped until then."
		if canSpare(o.Judged, o.due.Succeeded) {
			says += fmt.Sprintf(" With spec.storage.replace: InPlace %s goes first, and leaves its place to the "+
				"new one.", o.due.Succeeded.Name)
		}
		return says
	}
	return says + "."
}

// learnerFirst lets a learner start before another member is removed: it was told the list as it is, and would find
// another one and be given up with its name. Not for longer than a start takes, and not where no further voter may
// fail before that removal, and one may after it: with one voter less the quorum is smaller.
func learnerFirst(o pass, leaving facts.Replica, reason string) *proposal {
	voters := len(o.Voters())
	isUrgent := o.Margin() <= 0 && etcdutil.Quorum(voters-1) < etcdutil.Quorum(voters)
	for _, r := range o.Learners() {
		isOnItsWay := r.Pod != nil && !r.Pod.Terminating && !r.Member.Started() && !r.CannotRun() && !hasStaleFlags(r)
		if isOnItsWay && !isUrgent && o.Now.Sub(r.Pod.Created) <= facts.StartDeadline {
			return wait(reason, "The operator removes %s once the new member %s has started: another list of members "+
				"would stop that one before.", leaving.Name, r.Name)
		}
	}
	return nil
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
	switch {
	case !mayVote(o.Incarnation, r):
		return learnerTrouble(o, r)
	case !isCopiedFromMajority(o, r):
		return compareFirst(r)
	}
	if want := facts.BudgetFor(*o.View, len(o.Voters())+1); want > o.Budget.MinAvailable &&
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
	p.Message = forDoomed(o, r) + strings.TrimSuffix(p.Message, ".") + "." + wayToPlace(o, r) + onceTaken(o, r)
	return p.yielding()
}

// forDoomed says what is at stake where the learner is to follow a doomed voter, as sentences with a space behind, or
// "".
func forDoomed(o pass, learner facts.Replica) string {
	for _, r := range o.Voters() {
		if r.IsDoomed() {
			return fmt.Sprintf("%[1]s is to take the place of %[2]s, whose volume is being deleted. If the Pod of "+
				"%[2]s stops before %[1]s votes, that copy of the data is lost.%[3]s ", learner.Name, r.Name,
				goesFirst(o, r, learner))
		}
	}
	return ""
}

// onceTaken says what becomes of a successor that no node takes, as sentences with a space in front, or "".
func onceTaken(o pass, learner facts.Replica) string {
	isKeptOut := learner.Pod != nil && facts.StartReason(learner.Pod.Waiting) == facts.ReasonUnschedulable
	old := o.due.Succeeded
	if !isKeptOut || old.Member == nil || len(o.Voters()) < o.Desired.Size {
		return ""
	}
	return fmt.Sprintf(" %[2]s is to take the place of %[1]s. Once spec.pod is put right or put back, the operator "+
		"makes the Pod of %[2]s anew, or removes %[2]s.", old.Name, learner.Name)
}

// goesFirst says when the operator removes a doomed voter before its successor runs, as a sentence with a space in
// front, or "": see Due.InTheWay.
func goesFirst(o pass, doomed, learner facts.Replica) string {
	pod := learner.Pod
	if !followsSpec(o) || pod == nil || pod.UnplacedFrom.IsZero() || o.due.InTheWay.Member != nil ||
		o.due.Dispensable.Name != doomed.Name || !isKeptApart(o.Incarnation, learner) {
		return ""
	}
	return fmt.Sprintf(" The other members hold the same data. If no node takes %s by %s, the operator removes %s "+
		"first, whose node is free then.", learner.Name,
		pod.PlaceUntil().UTC().Format(time.RFC3339), doomed.Name)
}

func joining(o pass, r facts.Replica) *proposal {
	if r.Pod == nil || !r.Pod.Running {
		return wait(facts.ReasonStarting, "The new member %s is starting.", r.Name).due(o, facts.PodChange(r.Pod),
			joinDeadline(o.Incarnation))
	}
	return wait(facts.ReasonCatchUp, "%s is copying the data; it votes once it has caught up.", r.Name).
		due(o, r.Pod.Created, joinDeadline(o.Incarnation))
}
