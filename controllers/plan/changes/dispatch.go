package changes

import (
	"cmp"
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func vetoOf(o facts.View, c Change) string {
	switch c := c.(type) {
	case RemoveMember, Promote, AddLearner, MoveLeader:
		return guardMembership(o, c)
	case DeletePods, EvictPod, ResizePod, DeleteVolumes, KeepVolume,
		StartPods, RecordMembers, DeleteSecret, WriteSettings:
		return guardData(o, c)
	case TakeOver, AdoptData, BeginBootstrap, Bootstrap, VoidBootstrap,
		NextBootstrap:
		return guardBootstraps(o, c)
	case BeginNext, PrepareNext, DropNext, SwitchOver, GoBack,
		MarkFormer, MarkCurrent, MarkFlushed:
		return guardInPlace(o, c)
	case StartPreflight, DeletePreflight, RecordRestored, DeleteRestores:
		return guardTask(o, c)
	case SetBudget:
		return guardBudget(o, c)
	case DisarmAlarms, AppendEntries, EnableDowngrade, CancelDowngrade:
		return guardUpkeep(o, c)
	case RecordBootstrap:
		return guardRecordBootstrap(o, c)
	case LabelRole, SealPods:
		return guardRoles(o, c)
	case FollowPolicy, MarkVolume, DressPods, RestoreInputs,
		ApplyObjects, PrepareMember:
		return "" // nothing stops, nothing is deleted that data or votes depend on
	}
	return fmt.Sprintf("%T is not a change that the guard knows.", c)
}

// guardRoles is asked of whom clients are led to.
func guardRoles(o facts.View, c Change) string {
	switch c := c.(type) {
	case LabelRole:
		return guardLabel(o, c)
	case SealPods:
		return first(c.Pods, func(s Seal) string { return guardSeal(o, s) })
	default:
		return fmt.Sprintf("%T leads no client.", c)
	}
}

// guardUpkeep is asked of what etcd is to do beside its data and its list.
func guardUpkeep(o facts.View, c Change) string {
	switch c := c.(type) {
	case DisarmAlarms:
		return guardDisarm(o, c)
	case AppendEntries:
		return guardAppend(o, c)
	case EnableDowngrade:
		return guardDowngrade(o, c)
	case CancelDowngrade:
		return guardCancel(o)
	default:
		return fmt.Sprintf("%T is nothing that etcd does by itself.", c)
	}
}

// guardBootstraps is asked of how a cluster begins, and of whose it is: both stand on the peer Service.
func guardBootstraps(o facts.View, c Change) string {
	switch c := c.(type) {
	case TakeOver:
		return guardTakeOver(o, c)
	case AdoptData:
		return guardAdopt(o, c)
	case BeginBootstrap:
		return guardBegin(o, c)
	case Bootstrap:
		return guardBootstrap(o, c)
	case VoidBootstrap:
		return guardVoid(o)
	case NextBootstrap:
		return guardNext(o, c)
	default:
		return fmt.Sprintf("%T is no part of a bootstrap.", c)
	}
}

func guardMembership(o facts.View, c Change) string {
	switch c := c.(type) {
	case RemoveMember:
		return guardRemove(o, c)
	case Promote:
		return guardPromote(o, c)
	case AddLearner:
		return guardAdd(o, c)
	case MoveLeader:
		return guardMove(o, c)
	default:
		return fmt.Sprintf("%T does not change the membership.", c)
	}
}

func guardData(o facts.View, c Change) string {
	switch c := c.(type) {
	case DeletePods:
		return first(c.Pods, func(ref facts.PodRef) string { return guardDeletePod(o, ref) })
	case EvictPod:
		return guardEvict(o, c)
	case ResizePod:
		return guardResize(o, c)
	case KeepVolume:
		return guardKeep(o, c)
	case DeleteVolumes:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardDeleteVolume(o, ref) })
	case StartPods:
		return cmp.Or(guardFence(o), first(c.Pods, func(s Start) string { return guardStart(o, s) }))
	case WriteSettings:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardSettings(o, ref, c.Settings) })
	case RecordMembers:
		return first(c.Members, func(r MemberRecord) string { return guardRecord(o, r) })
	case DeleteSecret:
		return guardSecret(o, c)
	default:
		return fmt.Sprintf("%T does not touch data.", c)
	}
}

func guardInPlace(o facts.View, c Change) string {
	switch c := c.(type) {
	case BeginNext:
		return guardBeginNext(o, c)
	case PrepareNext:
		return guardPrepareNext(o, c)
	case DropNext:
		return guardDropNext(o, c)
	case SwitchOver:
		return guardSwitchOver(o, c)
	case MarkFlushed:
		return guardFlushed(o, c)
	case GoBack:
		return guardGoBack(o, c)
	case MarkCurrent:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardMarkCurrent(o, c.After, ref) })
	case MarkFormer:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardMark(o, c.By, ref) })
	default:
		return fmt.Sprintf("%T is no part of a restore in place.", c)
	}
}

// guardTask is asked of Pods that run to their end once, and of what is written down of them.
func guardTask(o facts.View, c Change) string {
	switch c := c.(type) {
	case StartPreflight:
		return guardPreflight(o, c)
	case DeletePreflight:
		if o.Preflight == nil || o.Preflight.UID != c.UID {
			return "the preflight Pod is another one by now."
		}
	case RecordRestored:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardRestored(o, c.Incarnation, ref) })
	case DeleteRestores:
		return first(c.Pods, func(ref facts.PodRef) string { return guardDeleteRestore(o, ref) })
	default:
		return fmt.Sprintf("%T is no task.", c)
	}
	return ""
}
