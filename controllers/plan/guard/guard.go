// Package guard says why a change must not be made. It finds out for itself, and can import neither a rule nor a
// judgement. It shares with them the questions of package facts, such as MayRestart: a mistake there reaches both.
package guard

import (
	"cmp"
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Veto says why a change must not be made in this world, or "". It knows nothing of why a rule proposes it: whatever
// comes out of plan.Decide, and again of the live look before a change is carried out, passes here.
func Veto(o facts.View, c changes.Change) string {
	return cmp.Or(guardKeeper(o, c), guardTrust(o, c), vetoOf(o, c))
}

// guardKeeper leaves a cluster to the install that looks after it. What moves that has conditions of its own.
func guardKeeper(o facts.View, c changes.Change) string {
	if _, isMove := c.(changes.TakeOver); isMove || !o.IsAnothers() {
		return ""
	}
	return fmt.Sprintf("the operator %s looks after the cluster.", o.Keeper())
}

func vetoOf(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.RemoveMember, changes.Promote, changes.AddLearner, changes.MoveLeader:
		return guardMembership(o, c)
	case changes.DeletePods, changes.EvictPod, changes.ResizePod, changes.DeleteVolumes, changes.KeepVolume,
		changes.StartPods, changes.RecordMembers, changes.DeleteSecret, changes.SetChoices:
		return guardData(o, c)
	case changes.TakeOver, changes.AdoptData, changes.BeginBirth, changes.Bootstrap, changes.VoidBirth,
		changes.NextBirth:
		return guardBirth(o, c)
	case changes.BeginNext, changes.PrepareNext, changes.DropNext, changes.SwitchOver, changes.GoBack,
		changes.MarkFormer, changes.MarkCurrent, changes.MarkFlushed:
		return guardInPlace(o, c)
	case changes.StartPreflight, changes.DeletePreflight, changes.RecordRestored, changes.DeleteRestores:
		return guardTask(o, c)
	case changes.SetBudget:
		return guardBudget(o, c)
	case changes.DisarmAlarms, changes.AppendEntries, changes.EnableDowngrade, changes.CancelDowngrade:
		return guardUpkeep(o, c)
	case changes.RecordBirth:
		return guardRecordBirth(o, c)
	case changes.LabelRole, changes.SealPods:
		return guardRoles(o, c)
	case changes.FollowPolicy, changes.MarkVolume, changes.DressPods, changes.RestoreInputs,
		changes.ApplyObjects, changes.PrepareMember:
		return "" // nothing stops, nothing is deleted that data or votes depend on
	}
	return fmt.Sprintf("%T is not a change that the guard knows.", c)
}

// guardRoles is asked of whom clients are led to.
func guardRoles(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.LabelRole:
		return guardLabel(o, c)
	case changes.SealPods:
		return first(c.Pods, func(s changes.Seal) string { return guardSeal(o, s) })
	default:
		return fmt.Sprintf("%T leads no client.", c)
	}
}

// guardUpkeep is asked of what etcd is to do beside its data and its list.
func guardUpkeep(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.DisarmAlarms:
		return guardDisarm(o, c)
	case changes.AppendEntries:
		return guardAppend(o, c)
	case changes.EnableDowngrade:
		return guardDowngrade(o, c)
	case changes.CancelDowngrade:
		return guardCancel(o)
	default:
		return fmt.Sprintf("%T is nothing that etcd does by itself.", c)
	}
}

func first[T any](items []T, veto func(T) string) string {
	for _, item := range items {
		if why := veto(item); why != "" {
			return why
		}
	}
	return ""
}

// keptAs returns what was put aside, if this volume was.
func keptAs(o facts.View, ref facts.VolumeRef) (facts.KeptVolume, bool) {
	for _, v := range o.Kept {
		if v.Name == ref.Name && v.UID == ref.UID {
			return v, true
		}
	}
	return facts.KeptVolume{}, false
}
