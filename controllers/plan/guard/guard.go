// Package guard says why a change must not be made. It finds out for itself, and can import neither a rule nor a
// judgement. It shares with them the questions of package facts, such as MayRestart: a mistake there reaches both.
package guard

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
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
		changes.StartPods, changes.RecordMembers, changes.DeleteSecret, changes.WriteSettings:
		return guardData(o, c)
	case changes.TakeOver, changes.AdoptData, changes.BeginBootstrap, changes.Bootstrap, changes.VoidBootstrap,
		changes.NextBootstrap:
		return guardBootstraps(o, c)
	case changes.BeginNext, changes.PrepareNext, changes.DropNext, changes.SwitchOver, changes.GoBack,
		changes.MarkFormer, changes.MarkCurrent, changes.MarkFlushed:
		return guardInPlace(o, c)
	case changes.StartPreflight, changes.DeletePreflight, changes.RecordRestored, changes.DeleteRestores:
		return guardTask(o, c)
	case changes.SetBudget:
		return guardBudget(o, c)
	case changes.DisarmAlarms, changes.AppendEntries, changes.EnableDowngrade, changes.CancelDowngrade:
		return guardUpkeep(o, c)
	case changes.RecordBootstrap:
		return guardRecordBootstrap(o, c)
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

// firstBlind is the first minor of etcd that cannot read what 3.5 wrote to raft's log.
var firstBlind = etcdutil.Version{Major: 3, Minor: 7}

// guardUncovered lets no member go to a minor that cannot read what 3.5 wrote, while its log may still hold that. Where
// another voter serves with that minor, it was covered before; no 3.5 could join since.
func guardUncovered(o facts.View, r facts.Replica, version etcdutil.Version) string {
	isAhead := func(other facts.Replica) bool {
		return other.IsHealthy(o.Membership) && other.Answer.Version.Compare(firstBlind) >= 0
	}
	if version.Compare(firstBlind) < 0 || r.Record().Version.Compare(firstBlind) >= 0 ||
		slices.ContainsFunc(o.Voters(), isAhead) || o.IsLogCovered() {
		return ""
	}
	return fmt.Sprintf("raft's log of %s may still hold what etcd 3.5 wrote, and %s cannot read it.", r.Name, version)
}

// guardLogMark lets a mark be written only of what the member says now, and while no 3.5 can write.
func guardLogMark(o facts.View, r facts.Replica, mark record.LogMark) string {
	if mark == r.Record().LogMark || mark == (record.LogMark{}) {
		return ""
	}
	if !o.MayMarkLog() || mark != o.NextLogMark(r) {
		return fmt.Sprintf("%s does not say how far it is in raft's log while every voter runs 3.6.", r.Name)
	}
	return ""
}

// guardAppend adds more than one entry only while all voters take them: one that lags would fall behind further.
func guardAppend(o facts.View, c changes.AppendEntries) string {
	isOne := c.Until == 0
	if !o.Membership.Known || !isOne && len(o.HealthyVoters()) < len(o.Voters()) {
		return "entries are added to raft's log only while every voter answers."
	}
	return ""
}
