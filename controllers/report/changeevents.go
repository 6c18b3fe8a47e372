package report

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// changeEvents tell what was just done, when it matters to people: the cluster's bootstrap, its membership, a member's
// Pod, certificates, and every deletion. Bookkeeping and other objects that are put right are in the status alone.
func changeEvents(in Input) []words.Event {
	why := in.Decision.Message
	switch c := in.Outcome.Change.(type) {
	case changes.BeginBootstrap:
		return begun(in, c)
	case changes.NextBootstrap:
		return begun(in, c.BeginBootstrap)
	case changes.RecordBootstrap:
		return bootstrapped(in, c)
	case changes.VoidBootstrap:
		return warning(EventBootstrapVoided, changes.KindOf(c), strings.TrimSpace(why))
	case changes.BeginNext:
		return done(in, EventRestoreBegun, "", why)
	case changes.SwitchOver:
		return done(in, EventRestoreMoved, "", why)
	case changes.GoBack:
		return done(in, EventRestoreWentBack, "", why)
	case changes.DropNext:
		return done(in, EventRestoreCalledOff, "", why)
	case changes.AddLearner:
		return done(in, EventAdded, c.Name, why)
	case changes.Promote:
		return done(in, EventPromoted, c.Name,
			fmt.Sprintf("%s has caught up with the leader and is a voter now.", c.Name))
	case changes.MoveLeader:
		return done(in, EventLeaderMoved, c.To, why)
	case changes.RemoveMember:
		return done(in, EventRemoved, c.Name, why)
	case changes.DisarmAlarms:
		return done(in, EventDisarmed, "", why)
	case changes.StartPods:
		return started(in, c)
	case changes.EvictPod:
		return done(in, EventPodEvicted, c.Pod.Name, why)
	case changes.DeletePods:
		return done(in, EventPodDeleted, only(c.Pods), why)
	case changes.KeepVolume:
		return done(in, EventVolumeKept, c.Volume.Name, why)
	case changes.DeleteVolumes:
		return done(in, EventVolumeDeleted, "", why)
	case changes.TakeOver:
		return done(in, EventTakenOver, "", why)
	case changes.AdoptData:
		return done(in, EventDataTaken, "", why)
	case changes.FollowPolicy:
		return done(in, EventPolicyApplied, "", policyApplied(c))
	case changes.ApplyObjects:
		return renewed(in, c)
	case changes.StartPreflight, changes.DeletePreflight, changes.RecordRestored, changes.DeleteRestores,
		changes.PrepareNext, changes.MarkFlushed, changes.MarkFormer, changes.MarkCurrent,
		changes.Bootstrap, changes.RecordMembers,
		changes.SealPods, changes.LabelRole, changes.SetBudget, changes.WriteSettings,
		changes.MarkVolume, changes.DressPods, changes.RestoreInputs, changes.ResizePod, changes.DeleteSecret,
		changes.PrepareMember,
		changes.AppendEntries, changes.EnableDowngrade, changes.CancelDowngrade:
	}
	return nil
}

// NotTakenOver tells a person who asked this install to take a cluster over why it does not. In the status the install
// that looks after the cluster may tell something else.
func NotTakenOver(in Input) []words.Event {
	why := in.Outcome.Message
	if in.Decision.Change == nil {
		why = in.Decision.Message
	}
	if why == "" || in.Observation.Desired.Operator != in.Observation.Cluster.Operator {
		return nil
	}
	return warning(EventNotTaken, changes.KindOf(changes.TakeOver{}), why)
}

func done(in Input, reason, member, note string) []words.Event {
	return []words.Event{{
		Reason: reason, Action: changes.KindOf(in.Outcome.Change), Note: strings.TrimSpace(note), Member: member,
	}}
}

// begun tells of a bootstrap; the lost record of a living cluster that is written anew is none.
func begun(in Input, b changes.BeginBootstrap) []words.Event {
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
	says := fmt.Sprintf("It begins with the backup %s, of revision %d and etcd %s.", origin.Key, origin.Revision,
		wroteBy(origin))
	events := done(in, EventRestoring, "", join(says, caveats(origin)))
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
	says := fmt.Sprintf("The cluster serves with what the backup %s held at revision %d.", origin.Key, origin.Revision)
	return done(in, EventRestored, "", join(says, caveats(origin)))
}

// bootstrapped tells of a cluster that answers for the first time; an identity that is put back from a volume is not
// new.
func bootstrapped(in Input, c changes.RecordBootstrap) []words.Event {
	if !in.Observation.Current.Membership.Known {
		return nil
	}
	created := done(in, EventCreated, "",
		fmt.Sprintf("The members found each other and serve as etcd cluster %s.", c.ClusterID))
	return append(created, restoreDone(in, in.Observation.Current.Bootstrap.Origin)...)
}

func policyApplied(c changes.FollowPolicy) string {
	if c.Retain {
		return "Volumes and CAs will be kept when the cluster is deleted."
	}
	return "Volumes and CAs will be deleted with the cluster."
}

// renewed tells of certificates that were issued anew, of members and of clients. Those of a new cluster or member are
// no news, and neither is the operator's own.
func renewed(in Input, c changes.ApplyObjects) []words.Event {
	var members []string
	for _, name := range c.Secrets {
		if secret := in.Observation.Current.Find(name).Secret; secret.State == facts.ObjectDrifted {
			members = append(members, fmt.Sprintf("%s (before: %s)", secret.Name, secret.Detail))
		}
	}
	var events []words.Event
	if len(members) > 0 {
		events = done(in, EventRenewed, "", fmt.Sprintf("Renewed the Secrets of members: %s. Members read them within "+
			"two minutes, without a restart.", strings.Join(members, ", ")))
	}
	clients := in.clientSecret()
	for _, object := range c.Objects {
		if clients != nil && object.Name == clients.Name && object.State == facts.ObjectDrifted {
			note := fmt.Sprintf("Renewed the Secret of clients: %s (before: %s). Clients that hold a copy of it need "+
				"the new one.", object.Name, object.Detail)
			events = append(events, done(in, EventRenewed, "", note)...)
		}
	}
	return events
}

// started tells of Pods that are started again; the first Pod of a learner is told by its addition.
func started(in Input, c changes.StartPods) []words.Event {
	var events []words.Event
	for _, pod := range c.Pods {
		if pod.Flags == facts.FlagsSealed {
			events = append(events, done(in, EventPodStarted, pod.Name,
				fmt.Sprintf("Started Pod %s again, on its own data.", pod.Name))...)
		}
	}
	return events
}

// only is the name of the Pod, when it is a single one.
func only(pods []facts.PodRef) string {
	if len(pods) != 1 {
		return ""
	}
	return pods[0].Name
}
