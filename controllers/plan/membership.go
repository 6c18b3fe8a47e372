package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// Rules that finish what was begun.

// strangeMember stops where the list is not what the operator made: a member with another URL, or data that answers, or is
// recorded, as somebody else; or, for as long as that takes to call off, one whose name the next life has too.
func strangeMember(o Observation) *proposal {
	if m := o.namesake(); m != nil {
		return wait(ReasonCallOff, "Member %s has a name that a restore in place took as well; nothing is added or removed until that is called off.", m.ID)
	}
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
		if r.Answer != nil && r.Answer.ID != r.Member.ID && !o.isForeign(r) {
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

// isDataOfThisLife reports whether the replica's data is of this incarnation and will stay. Before the cluster's identity is
// written down one that will not stay counts too: a birth that could be given up was by now, so it holds what would be lost, and
// once it is written down a successor joins it.
func (o Observation) isDataOfThisLife(r Replica) bool {
	if r.Pod == nil || r.Pod.Terminating || r.incarnation() != o.Birth.Incarnation {
		return false
	}
	return o.Desired.Ephemeral || r.Volume != nil && (!r.Volume.Terminating || o.Birth.ClusterID == 0)
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

// isLost says why the listed member's data is certainly lost, or "". A learner that never started has nothing to lose yet
// when its data is to be ephemeral: its Pod is yet to come.
func (o Observation) isLost(r Replica) string {
	switch {
	case r.Ephemeral && r.isYetToStart():
		return ""
	case o.isForeign(r):
		return fmt.Sprintf("its directory holds the data of cluster %s", r.Answer.ClusterID)
	case r.isDoomed() && o.isStopped(r):
		return "its volume is being deleted, and it cannot start on it"
	case r.IsVoter() && r.Pod == nil && o.isForgotten(r):
		return "it was never recorded, and how it was to start is no longer known"
	}
	return r.lostData()
}

// isForeign reports a process that answers as part of another cluster than the one that was written down, while members of that
// one answer as well.
func (o Observation) isForeign(r Replica) bool {
	return o.Membership.Known && r.Answer != nil && o.Birth.ClusterID == o.Membership.ClusterID && r.Answer.ClusterID != o.Birth.ClusterID
}

// isStopped reports a doomed member that does not come up again: it has nothing to start with, or cannot start with what its
// Pod was made from, and no other Pod can be made on a volume that is going.
func (o Observation) isStopped(r Replica) bool {
	return r.Volume != nil && !r.canStillStart() || r.cannotStart() && r.Pod.Choices != o.Desired.Choices
}

// isForgotten reports a volume of which neither what is written on it nor the birth record says how to start on it.
func (o Observation) isForgotten(r Replica) bool {
	return r.Volume != nil && !r.IsRecorded() && (!slices.Contains(o.Birth.Names, r.Name) || !o.isFilled(r))
}

// isYetToStart reports a learner that never ran.
func (r Replica) isYetToStart() bool { return r.Pod == nil && r.IsLearner() && !r.Member.Started() }

// canStillStart reports whether a member was recorded, or started once and has the flags to do it again.
func (r Replica) canStillStart() bool {
	return r.IsRecorded() || r.Member.Started() && !(r.isIdle() && r.Pod.Flags == FlagsNone)
}

// labelRole lets the client Service follow the roles. The voter that is about to leave has lost its label on purpose.
func labelRole(o Observation) *proposal {
	leaving := victim(o)
	for _, r := range o.Replicas {
		if !r.IsSealed() || r.Member == nil || r.Pod.Terminating || (r.Name == leaving && r.Pod.Role == "") {
			continue
		}
		want := roleOf(o, r)
		if o.isForeign(r) {
			want = ""
		}
		if want != r.Pod.Role {
			return act(LabelRole{Pod: r.podRef(), Role: want}, ReasonLabelRole, "%s is a %s; clients are told.", r.Name, cmp.Or(want, "stranger"))
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
