package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that finish what was begun.

// strangeMember stops where the list is not what the operator made: a member with another URL, or data that answers, or is
// recorded, as somebody else.
func strangeMember(o Observation) *proposal {
	if len(o.Membership.Strangers) > 0 {
		m := o.Membership.Strangers[0]
		return refuse(ReasonStranger, "Member %s (%v) was not added by the operator. Remove it with etcdctl member remove, or nothing is added or removed.",
			m.ID, m.PeerURLs).byHuman()
	}
	for _, r := range o.Replicas {
		if r.Member == nil {
			continue
		}
		if r.IsRecorded() && r.Record().MemberID != r.Member.ID {
			return refuse(ReasonForeignData, "The data of %s is recorded as member %s, the list says %s.", r.Name, r.Record().MemberID, r.Member.ID).byHuman()
		}
		if r.Answer != nil && r.Answer.ID != r.Member.ID {
			return refuse(ReasonForeignData, "%s answers as member %s, the list says %s: its volume holds other data.", r.Name, r.Answer.ID, r.Member.ID).byHuman()
		}
	}
	return nil
}

// recordMembers writes down who lives where, once that very member has answered with its ID.
func recordMembers(o Observation) *proposal {
	var records []MemberRecord
	for _, r := range o.Replicas {
		want, ok := o.recordOf(r)
		if !ok || want == r.Record() {
			continue
		}
		record := MemberRecord{Name: r.Name, Record: want}
		if r.Volume != nil {
			record.VolumeUID = r.Volume.UID
		} else {
			record.PodUID = r.Pod.UID
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil
	}
	return act(RecordMembers{Members: records}, ReasonRecordMembers, "%s answered; who lives where is written down.", recordNames(records))
}

// recordOf is what can be written about the replica's data in this very observation.
func (o Observation) recordOf(r Replica) (Record, bool) {
	if !o.isAnsweringFor(r) || !o.isDataOfThisLife(r) {
		return Record{}, false
	}
	version := r.Answer.Version
	if version.IsZero() { // a build that is no release: what it was made from must do
		version = r.Choices().Version
	}
	return Record{ClusterID: r.Answer.ClusterID, MemberID: r.Answer.ID, Version: version}, !version.IsZero()
}

// isAnsweringFor reports whether the very member that the list has under this name answered.
func (o Observation) isAnsweringFor(r Replica) bool {
	a := r.Answer
	return r.Member != nil && a != nil && a.ID == r.Member.ID && a.ClusterID == o.Membership.ClusterID
}

// isDataOfThisLife reports whether the replica's data is of this incarnation and will stay.
func (o Observation) isDataOfThisLife(r Replica) bool {
	if r.Pod == nil || r.Pod.Terminating || r.incarnation() != o.Birth.Incarnation {
		return false
	}
	return o.Desired.Ephemeral || r.Volume != nil && !r.Volume.Terminating
}

// leftoverPod deletes the Pod of a removed member; first its certificates, because nobody would look for them later.
func leftoverPod(o Observation) *proposal {
	for _, r := range o.Replicas {
		if r.Member != nil || r.Pod == nil || r.Pod.Terminating {
			continue
		}
		if p := leftoverSecret(r); p != nil {
			return p
		}
		return act(DeletePods{Pods: []PodRef{r.podRef()}}, ReasonLeftover, "%s is no member any more; its Pod is deleted.", r.Name)
	}
	return nil
}

func leftoverSecret(r Replica) *proposal {
	if r.Secret.State != ObjectCurrent && r.Secret.State != ObjectDrifted {
		return nil
	}
	return act(DeleteSecret{Name: r.Name}, ReasonLeftover, "%s is no member any more; its certificates are deleted.", r.Name)
}

// abandonLearner removes a learner that is not wanted, or that cannot live. A learner has no vote: removing it risks nothing.
// One whose Pod Kubernetes cannot start is left: another name would meet the same.
func abandonLearner(o Observation) *proposal {
	for _, r := range o.Learners() {
		if why := o.whyAbandon(r); why != "" {
			return act(RemoveMember{Name: r.Name, ID: r.Member.ID}, ReasonAbandon, "The learner %s is removed: %s.", r.Name, why)
		}
	}
	return nil
}

func (o Observation) whyAbandon(r Replica) string {
	why := o.isLost(r)
	switch {
	case len(o.lastingVoters()) >= o.Desired.Size && o.Desired.Fault == "":
		return "the size does not ask for it"
	case why != "":
		return why
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

// mayStartOtherwise reports a Pod that cannot start as it was made, while the spec asks for something else by now.
func (o Observation) mayStartOtherwise(r Replica) bool {
	return r.cannotStart() && r.Pod.Choices != o.Desired.Choices
}

// isLate reports whether a learner's Pod is older than it takes to join, and the learner does not answer.
func (o Observation) isLate(r Replica) bool {
	return o.Now.Sub(r.Pod.Created) > o.joinDeadline() && !r.IsHealthy(o.Membership)
}

// joinDeadline is how long a learner may take: it has to copy the database first.
func (o Observation) joinDeadline() time.Duration {
	const slowest = 2 << 20 // bytes per second
	var largest int64
	for _, r := range o.Replicas {
		if r.Answer != nil {
			largest = max(largest, r.Answer.DBSize)
		}
	}
	return joinDeadline + time.Duration(largest/slowest)*time.Second
}

// hasStaleFlags reports whether a joining etcd stopped because the list it was given is not the list any more.
func (r Replica) hasStaleFlags() bool {
	return !r.Pod.Running && r.Pod.Exit != nil && r.Pod.Exit.Reason == etcdutil.ExitStaleFlags
}

// isLost says why the listed member's data is certainly lost, or "". A learner that never started has nothing to lose yet
// when its data is to be ephemeral: its Pod is yet to come.
func (o Observation) isLost(r Replica) string {
	switch {
	case r.Ephemeral && r.isYetToStart():
		return ""
	case r.isDoomed() && r.Volume != nil && !r.canStillStart():
		return "its volume is being deleted, and it cannot start on it"
	case r.IsVoter() && r.Pod == nil && o.isForgotten(r):
		return "it was never recorded, and how it was to start is no longer known"
	}
	return r.lostData()
}

// isForgotten reports a volume of which neither its own record nor the birth record says how to start on it.
func (o Observation) isForgotten(r Replica) bool {
	return r.Volume != nil && !r.IsRecorded() && !slices.Contains(o.Birth.Names, r.Name)
}

// isYetToStart reports a learner that never ran.
func (r Replica) isYetToStart() bool { return r.Pod == nil && r.IsLearner() && !r.Member.Started() }

// canStillStart reports whether a member was recorded, or started once and has the flags to do it again.
func (r Replica) canStillStart() bool {
	return r.IsRecorded() || r.Member.Started() && !(r.isIdle() && r.Pod.Flags == FlagsNone)
}

// unstartedPod starts the first Pod of a member that is listed and not recorded, with the flags that its first start needs.
func unstartedPod(o Observation) *proposal {
	for _, r := range o.Replicas {
		if r.Member == nil || r.Pod != nil || r.IsRecorded() || o.isLost(r) != "" {
			continue
		}
		start := Start{Name: r.Name, Flags: FlagsJoin, Initial: o.liveList(), Choices: o.startChoices(r)}
		if r.IsVoter() {
			start.Flags, start.Initial = FlagsBirth, birthList(o)
		}
		return act(StartPods{Pods: []Start{start}}, ReasonJoin, "The Pod of %s is started, to join the cluster.", r.Name)
	}
	return nil
}

func (o Observation) startChoices(r Replica) Choices {
	if c := r.Choices(); !c.IsZero() {
		return c
	}
	return o.memberChoices()
}

// liveList is the list as it is now, which the flags of a joining member must match in count and URLs.
func (o Observation) liveList() []etcdutil.NamedURL {
	var out []etcdutil.NamedURL
	for _, r := range o.Replicas {
		if r.Member != nil {
			out = append(out, etcdutil.NamedURL{Name: r.Name, URL: firstURL(*r.Member)})
		}
	}
	return out
}

// promote raises the budget, then gives the learner its vote. There is never more than one.
func promote(o Observation) *proposal {
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
func (o Observation) learnerTrouble(r Replica) *proposal {
	p := startTrouble(o, r)
	if p == nil {
		p = o.joining(r)
	}
	return p.yielding()
}

func (o Observation) joining(r Replica) *proposal {
	if r.Pod == nil || !r.Pod.Running {
		return wait(ReasonStarting, "The new member %s is starting.", r.Name).due(o, podChange(r.Pod), o.joinDeadline())
	}
	return wait(ReasonCatchUp, "%s is copying the data; it votes once it has caught up.", r.Name).due(o, r.Pod.Created, o.joinDeadline())
}

// caughtUpWithin is how many raft entries a learner may be behind the leader when it gets its vote.
const caughtUpWithin = 1000

// isCaughtUp reports whether the replica answered in this very observation, close to the leader. etcd's own test would
// promote a learner whose process is dead.
func (o Observation) isCaughtUp(r Replica) bool {
	if !r.IsHealthy(o.Membership) || r.Answer.Leader != o.Membership.Leader {
		return false // a learner that is cut off goes on calling the leader of the past its leader
	}
	for _, other := range o.Replicas {
		if other.Answer != nil && other.Answer.ID == o.Membership.Leader {
			return r.Answer.Applied+caughtUpWithin >= other.Answer.Applied
		}
	}
	return false
}

// labelRole lets the client Service follow the roles. The voter that is about to leave has lost its label on purpose.
func labelRole(o Observation) *proposal {
	leaving := victim(o)
	for _, r := range o.Replicas {
		if !r.IsSealed() || r.Member == nil || r.Pod.Terminating || (r.Name == leaving && r.Pod.Role == "") {
			continue
		}
		if want := roleOf(o, r); want != r.Pod.Role {
			return act(LabelRole{Pod: r.podRef(), Role: want}, ReasonLabelRole, "%s is a %s; clients are told.", r.Name, want)
		}
	}
	return nil
}

// leftover deletes what a removed member leaves: the certificates, then the volume. A volume that nobody is recorded on is
// the promise of a name while growth is wanted, and a leftover otherwise.
func leftover(o Observation) *proposal {
	promised := o.promise()
	for _, r := range o.Replicas {
		if r.Member != nil || r.Pod != nil || r.Name == promised {
			continue
		}
		if p := leftoverSecret(r); p != nil {
			return p
		}
		if r.Volume == nil {
			continue
		}
		if p := o.leftoverVolume(r); p != nil {
			return p
		}
	}
	return nil
}

func (o Observation) leftoverVolume(r Replica) *proposal {
	if r.Volume.Terminating {
		return nil
	}
	record := r.Volume.Record
	if !record.IsZero() && r.Volume.Incarnation != o.Birth.Incarnation {
		return nil // another life's data is kept
	}
	if !record.IsZero() && record.ClusterID != o.Membership.ClusterID {
		return refuse(ReasonForeignData, "The volume %s is recorded as part of cluster %s; this is %s. It is not touched.",
			r.Name, record.ClusterID, o.Membership.ClusterID).byHuman().yielding()
	}
	return act(DeleteVolumes{Volumes: []VolumeRef{r.volumeRef()}}, ReasonLeftover, "%s is no member any more; its volume is deleted.", r.Name)
}
