package report

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// changeEvents tell what was just done, when it matters to people: the cluster's birth, its membership, a member's Pod,
// and every deletion. Bookkeeping and objects that are put right are in the status alone.
func changeEvents(in Input) []words.Event { //nolint:gocyclo // one flat list that the linter holds complete
	why := in.Decision.Message
	switch c := in.Outcome.Change.(type) {
	case plan.BeginBirth:
		return begun(in, c)
	case plan.NextBirth:
		return begun(in, c.BeginBirth)
	case plan.RecordBirth:
		return born(in, c)
	case plan.VoidBirth:
		return warning(EventBirthVoided, plan.KindOf(c), strings.TrimSpace(why))
	case plan.BeginNext:
		return done(in, EventRestoreBegun, "", why)
	case plan.SwitchOver:
		return done(in, EventRestoreMoved, "", why)
	case plan.DropNext:
		return done(in, EventRestoreCalledOff, "", why)
	case plan.AddLearner:
		return done(in, EventAdded, c.Name, why)
	case plan.Promote:
		return done(in, EventPromoted, c.Name,
			fmt.Sprintf("%s has caught up with the leader and is a voter now.", c.Name))
	case plan.MoveLeader:
		return done(in, EventLeaderMoved, c.To, why)
	case plan.RemoveMember:
		return done(in, EventRemoved, c.Name, why)
	case plan.DisarmAlarms:
		return done(in, EventDisarmed, "", why)
	case plan.StartPods:
		return started(in, c)
	case plan.EvictPod:
		return done(in, EventPodEvicted, c.Pod.Name, why)
	case plan.DeletePods:
		return done(in, EventPodDeleted, only(c.Pods), why)
	case plan.KeepVolume:
		return done(in, EventVolumeKept, c.Volume.Name, why)
	case plan.DeleteVolumes:
		return done(in, EventVolumeDeleted, "", why)
	case plan.AdoptData:
		return done(in, EventDataTaken, "", why)
	case plan.FollowPolicy:
		return done(in, EventPolicyApplied, "", policyApplied(c))
	case plan.StartPreflight, plan.DeletePreflight, plan.RecordRestored, plan.DeleteRestores, plan.PrepareNext,
		plan.MarkFlushed, plan.MarkFormer,
		plan.Bootstrap, plan.RecordMembers, plan.SealPods, plan.LabelRole, plan.ApplyObjects, plan.SetBudget,
		plan.SetChoices, plan.MarkVolume, plan.DressPods, plan.RestoreInputs, plan.DeleteSecret, plan.PrepareMember:
	}
	return nil
}

func done(in Input, reason, member, note string) []words.Event {
	return []words.Event{{
		Reason: reason, Action: plan.KindOf(in.Outcome.Change), Note: strings.TrimSpace(note), Member: member,
	}}
}

// begun tells of a birth; the lost record of a living cluster that is written anew is none.
func begun(in Input, b plan.BeginBirth) []words.Event {
	if b.ClusterID != 0 {
		return nil
	}
	note := fmt.Sprintf("Creating an etcd cluster of %d members: %s.", len(b.Names), strings.Join(b.Names, ", "))
	if len(b.Names) == 1 {
		note = fmt.Sprintf("Creating an etcd cluster of one member: %s.", b.Names[0])
	}
	return append(done(in, EventCreating, "", note), restoreBegun(in, b.Origin)...)
}

// restoreBegun tells which backup the cluster is to begin with, and what comes back with it.
func restoreBegun(in Input, origin record.Origin) []words.Event {
	if origin.IsZero() {
		return nil
	}
	events := done(in, EventRestoring, "", fmt.Sprintf("It begins with the backup %s, of revision %d and etcd %s.",
		origin.Key, origin.Revision, origin.Version))
	if origin.Alarms != "" {
		events[0].Warning = true
		events[0].Note += fmt.Sprintf(" When it was taken etcd had raised %s, and will raise it again.", origin.Alarms)
	}
	return events
}

// restoreDone tells that the cluster serves with the backup that it began with.
func restoreDone(in Input, origin record.Origin) []words.Event {
	if origin.IsZero() {
		return nil
	}
	return done(in, EventRestored, "",
		fmt.Sprintf("The cluster serves with what the backup %s held at revision %d.", origin.Key, origin.Revision))
}

// born tells of a cluster that answers for the first time; an identity that is put back from a volume is not new.
func born(in Input, c plan.RecordBirth) []words.Event {
	if !in.Observation.Current.Membership.Known {
		return nil
	}
	created := done(in, EventCreated, "",
		fmt.Sprintf("The members found each other and serve as etcd cluster %s.", c.ClusterID))
	return append(created, restoreDone(in, in.Observation.Current.Birth.Origin)...)
}

func policyApplied(c plan.FollowPolicy) string {
	if c.Retain {
		return "Volumes and CAs will be kept when the cluster is deleted."
	}
	return "Volumes and CAs will be deleted with the cluster."
}

// started tells of Pods that are started again; the first Pod of a learner is told by its addition.
func started(in Input, c plan.StartPods) []words.Event {
	var events []words.Event
	for _, pod := range c.Pods {
		if pod.Flags == plan.FlagsSealed {
			events = append(events, done(in, EventPodStarted, pod.Name,
				fmt.Sprintf("Started Pod %s again, on its own data.", pod.Name))...)
		}
	}
	return events
}

// only is the name of the Pod, when it is a single one.
func only(pods []plan.PodRef) string {
	if len(pods) != 1 {
		return ""
	}
	return pods[0].Name
}
