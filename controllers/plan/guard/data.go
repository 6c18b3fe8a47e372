package guard

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func guardData(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.DeletePods:
		return first(c.Pods, func(ref facts.PodRef) string { return guardDeletePod(o, ref) })
	case changes.EvictPod:
		return guardEvict(o, c)
	case changes.ResizePod:
		return guardResize(o, c)
	case changes.KeepVolume:
		return guardKeep(o, c)
	case changes.DeleteVolumes:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardDeleteVolume(o, ref) })
	case changes.StartPods:
		return cmp.Or(guardFence(o), first(c.Pods, func(s changes.Start) string { return guardStart(o, s) }))
	case changes.WriteSettings:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardSettings(o, ref, c.Settings) })
	case changes.RecordMembers:
		return first(c.Members, func(r changes.MemberRecord) string { return guardRecord(o, r) })
	case changes.DeleteSecret:
		return guardSecret(o, c)
	default:
		return fmt.Sprintf("%T does not touch data.", c)
	}
}

// guardDeletePod lets a Pod go whose process does nothing for the cluster, and keeps every Pod that holds the only
// data.
func guardDeletePod(o facts.View, ref facts.PodRef) string {
	if r, isFormer := facts.Find(o.FormerMembers(), ref.Name); isFormer {
		return guardFormerPod(o, r, ref)
	}
	r := o.Find(ref.Name)
	if r.Pod == nil || r.Pod.UID != ref.UID {
		return fmt.Sprintf("the Pod %s is another one by now.", ref.Name)
	}
	switch {
	case isNobodys(o.Incarnation, r):
		return ""
	case r.Pod.Running && !mayStopSurvivor(o, r) && guardStop(o, r) != "":
		return guardStop(o, r)
	case r.Ephemeral && r.IsRecorded():
		return fmt.Sprintf("the Pod %s holds the data of a member.", ref.Name)
	case r.IsDoomed():
		return fmt.Sprintf("the volume of %s is being deleted and lives only as long as its Pod.", ref.Name)
	}
	return ""
}

// isNobodys reports a Pod of a bootstrap that was given up, or of a member that is none any more.
func isNobodys(o facts.Incarnation, r facts.Replica) bool {
	return isVoided(o, r.Pod.Incarnation) || isOtherIncarnation(o, r.Pod.Incarnation) || o.Membership.Known &&
		r.Member == nil
}

// guardEvict lets a member be stopped on purpose only on data that outlives its Pod, and only while the others are a
// quorum.
func guardEvict(o facts.View, c changes.EvictPod) string {
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", c.Pod.Name)
	case r.Ephemeral || r.IsDoomed():
		return fmt.Sprintf("the data of %s would be lost with its Pod.", r.Name)
	case !r.IsSealed() || !o.MayRestart(r):
		return fmt.Sprintf("%s has no recorded data of this cluster to start from.", r.Name)
	case whyStay(o, r) != "":
		return whyStay(o, r)
	case !o.Membership.Known && !(o.IsAlone(r) && guardStop(o, r) == ""):
		return "the member list is not known."
	}
	return guardVotes(o, r)
}

// whyStay says why a member should not be stopped, or "": copies differ, or it could not start again.
func whyStay(o facts.View, r facts.Replica) string {
	if veto := guardCopies(o, r.Name); veto != "" {
		return veto
	}
	if !r.Settings().IsZero() && o.WhyNotStart(r, r.Settings()) != "" {
		return fmt.Sprintf("%s could not start again: %s.", r.Name, o.WhyNotStart(r, r.Settings()))
	}
	return ""
}

// isVoided reports whether this incarnation was given up, with nothing ever recorded of it.
func isVoided(o facts.Incarnation, incarnation string) bool {
	return o.Bootstrap.Void && !o.IsAlive() && incarnation == o.Bootstrap.Incarnation
}

// isOtherIncarnation reports whether something is left of a bootstrap that was given up, while the next one is under
// way.
func isOtherIncarnation(o facts.Incarnation, incarnation string) bool {
	return o.Bootstrap.Exists() && !o.IsAlive() && incarnation != o.Bootstrap.Incarnation
}

// guardDeleteVolume never lets go of a volume that a current member, or an unknown one, may live on.
func guardDeleteVolume(o facts.View, ref facts.VolumeRef) string {
	if r, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		return guardNextVolume(o, r, ref)
	}
	if r, isFormer := facts.Find(o.FormerMembers(), ref.Name); isFormer {
		return guardFormerVolume(o, r, ref)
	}
	if v, isKept := keptAs(o, ref); isKept {
		return guardKeptVolume(o, v)
	}
	return guardOwnVolume(o, o.Find(ref.Name), ref)
}

// guardOwnVolume is the guard of a volume of this incarnation.
func guardOwnVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) string {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return fmt.Sprintf("the volume %s is another one by now.", ref.Name)
	}
	if r.Pod != nil {
		return fmt.Sprintf("a Pod still uses the volume %s.", ref.Name)
	}
	if isVoided(o.Incarnation, r.Volume.Incarnation) || isOtherIncarnation(o.Incarnation, r.Volume.Incarnation) &&
		!r.IsRecorded() {
		return ""
	}
	if !o.Membership.Known || r.Member != nil {
		return fmt.Sprintf("it is not certain that no member lives on the volume %s.", ref.Name)
	}
	return guardLastCopy(o, r)
}

// guardLastCopy keeps what a removed member lived on while it may be a copy that is needed.
func guardLastCopy(o facts.View, r facts.Replica) string {
	switch {
	case !r.IsRecorded():
		return ""
	case r.Volume.RemovedFor == facts.CauseCorruption:
		return fmt.Sprintf("the volume %s holds a copy that differs; a person decides about it.", r.Name)
	}
	return guardCopies(o, r.Name)
}

// guardKeptVolume keeps what was put aside until its time is over, and while anything of its name is there.
func guardKeptVolume(o facts.View, v facts.KeptVolume) string {
	r := o.Find(v.Name)
	if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil ||
		r.Pod != nil ||
		v.Since.IsZero() {
		return fmt.Sprintf("the volume %s is kept.", v.Name)
	}
	return ""
}

// guardKeep puts aside only what no member lives on, or what was put aside at a time that cannot be read.
func guardKeep(o facts.View, c changes.KeepVolume) string {
	if v, isKept := keptAs(o, c.Volume); isKept && v.For == c.For && v.Since.IsZero() {
		return ""
	}
	r := o.Find(c.Volume.Name)
	switch {
	case !r.HasVolume(c.Volume) || c.For == facts.NoCause || r.Volume.RemovedFor != c.For:
		return fmt.Sprintf("the volume %s is another one by now.", c.Volume.Name)
	case !o.Membership.Known || r.Member != nil || r.Pod != nil:
		return fmt.Sprintf("it is not certain that no member lives on the volume %s.", c.Volume.Name)
	}
	return ""
}

// guardStart keeps a member ID from ever starting on an empty or foreign disk.
func guardStart(o facts.View, s changes.Start) string {
	r := o.Find(s.Name)
	switch s.Flags {
	case facts.FlagsSealed:
		return cmp.Or(guardRead(o.Incarnation, r), guardSealed(o, r, s))
	case facts.FlagsBootstrap:
		if !mayBeBootstrapped(o, r) || !o.Bootstrap.Origin.IsZero() || r.IsRestored() {
			return fmt.Sprintf("%s is not a first member that has yet to start empty.", s.Name)
		}
	case facts.FlagsJoin:
		if r.IsRecorded() || !o.Membership.Known || !r.IsLearner() {
			return fmt.Sprintf("%s is not a learner that has yet to start.", s.Name)
		}
		return guardUncovered(o, r, s.Settings.Version)
	case facts.FlagsNone, facts.FlagsComparing:
		return fmt.Sprintf("%s has no flags to start with.", s.Name)
	}
	return ""
}

// guardSealed lets a member start only from data that is recorded as its own, or was restored for it.
func guardSealed(o facts.View, r facts.Replica, s changes.Start) string {
	isFirst := startsFirst(o, r)
	why := o.WhyNotStart(r, s.Settings)
	if isFirst {
		why = whyNotRestored(o.Incarnation, r, s.Settings.Version)
	}
	switch {
	case s.Flags != facts.FlagsSealed || !isFirst && !o.MayRestart(r):
		return fmt.Sprintf("%s has no recorded data of this cluster to start from.", s.Name)
	case why != "":
		return fmt.Sprintf("etcd %s must not start on the data of %s: %s.", s.Settings.Version, s.Name, why)
	}
	return ""
}

// guardSettings lets a member's next Pod be made from a version only where that may start on its data, and from a minor
// that was not begun only while all other voters serve: the way back is theirs. What its Pod was made from already may
// be written.
func guardSettings(o facts.View, ref facts.VolumeRef, c facts.Settings) string {
	r := o.Find(ref.Name)
	if !r.IsRecorded() || !r.HasVolume(ref) || r.Pod != nil && r.Pod.Settings == c {
		return guardFirstSettings(o, ref, c)
	}
	if why := o.WhyNotOnData(r, c.Version); why != "" {
		return fmt.Sprintf("etcd %s must not start on the data of %s: %s.", c.Version, r.Name, why)
	}
	if crowded := o.Crowded(c); len(crowded) > 0 {
		return fmt.Sprintf("what %s stores has no room with these settings.", crowded[0].Name)
	}
	if o.HasBegun(r, c.Version) {
		return ""
	}
	if veto := cmp.Or(guardUncovered(o, r, c.Version), guardFormat(o, r, c.Version)); veto != "" {
		return veto
	}
	others := facts.Filter(o.HealthyVoters(), func(other facts.Replica) bool { return other.Name != r.Name })
	wanted := facts.Filter(o.Voters(), func(other facts.Replica) bool { return other.Name != r.Name })
	if !o.Membership.Known || len(others) < len(wanted) {
		return fmt.Sprintf("another minor is tried on %s only while all others serve.", r.Name)
	}
	return ""
}

// guardFirstSettings gives a member that has yet to start from a backup only settings that leave room for it.
func guardFirstSettings(o facts.View, ref facts.VolumeRef, c facts.Settings) string {
	if _, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		o = o.OfNext()
	}
	if r := o.Find(ref.Name); o.IsAlive() || r.Pod != nil && r.Pod.Settings == c {
		return ""
	}
	return whyNoRoom(o, ref.Name, c)
}

// startsFirst reports whether the member has never been seen on what was restored for it.
func startsFirst(o facts.View, r facts.Replica) bool {
	isOfThisIncarnation := r.IsRestored() && r.Volume.Incarnation == o.Bootstrap.Incarnation && !o.Bootstrap.Void
	return isOfThisIncarnation && !r.IsRecorded() && (mayBeBootstrapped(o, r) || !o.IsAlive())
}

// mayBeBootstrapped reports whether a cluster that lives still expects this first member: it is listed, or was
// interrupted.
func mayBeBootstrapped(o facts.View, r facts.Replica) bool {
	if r.IsRecorded() || !o.IsFilled(r) {
		return false
	}
	isListed := o.Membership.Known && r.Member != nil && slices.Contains(o.Bootstrap.Names, r.Name) &&
		!o.HasLostVolume(r)
	return isListed || o.MayRebirth(r)
}

// guardRecord writes an identity down only when that very member said it in this very observation.
func guardRecord(o facts.View, m changes.MemberRecord) string {
	r, says := o.Find(m.Name), m.Record
	isSaid := o.IsAnsweringFor(r) && says.IsOf(r.Answer.ClusterID, r.Member.ID) && !says.Version.IsZero()
	isOurs := o.Bootstrap.ClusterID == 0 || says.ClusterID == o.Bootstrap.ClusterID
	if !isSaid || !isOurs || r.Incarnation() != o.Bootstrap.Incarnation || !isWhere(r, m) {
		return fmt.Sprintf("%s did not answer as member %s of this cluster.", m.Name, says.MemberID)
	}
	return guardLogMark(o, r, says.LogMark)
}

// isWhere reports that a record goes to the very volume, or the very Pod, that the member's data is in.
func isWhere(r facts.Replica, m changes.MemberRecord) bool {
	if r.Volume != nil {
		return r.Pod != nil && m.VolumeUID == r.Volume.UID
	}
	return r.Pod != nil && m.PodUID == r.Pod.UID
}

// guardStop says why a process that runs may not be stopped before etcd was asked, or "". It may only where it never
// served by its kubelet's word and no other does, or where nothing is left of any other member; and its data must
// outlive it.
func guardStop(o facts.View, r facts.Replica) string {
	if o.Membership.Known || !r.HadItsTime(o.Now) || r.IsRecorded() && !o.MayRestart(r) {
		return fmt.Sprintf("etcd of %s runs.", r.Name)
	}
	isSpare := !o.IsAlive() && o.IsFirstToSpare(r)
	if isSpare || r.HasLastingData() && (o.IsAlone(r) || r.Pod.NeverReady() && !o.IsAnyReady()) {
		return ""
	}
	return fmt.Sprintf("etcd of %s runs, and may serve.", r.Name)
}

// guardSecret takes no certificates from a member: it could not start again.
func guardSecret(o facts.View, c changes.DeleteSecret) string {
	former, isFormer := facts.Find(o.FormerMembers(), c.Name)
	next, isNext := facts.Find(o.Next.Members, c.Name)
	switch r := o.Find(c.Name); {
	case c.UID == "":
		return fmt.Sprintf("nothing says which certificates of %s these are.", c.Name)
	case isFormer:
		return cmp.Or(guardSame(former, c), guardSwitched(o, c.Name))
	case isNext:
		return cmp.Or(guardSame(next, c), guardUnwanted(o))
	case !o.Membership.Known || r.Member != nil:
		return fmt.Sprintf("it is not certain that %s is no member.", c.Name)
	default:
		return guardSame(r, c)
	}
}

func guardSame(r facts.Replica, c changes.DeleteSecret) string {
	if r.Secret.UID != c.UID {
		return fmt.Sprintf("the certificates of %s are others by now.", c.Name)
	}
	return ""
}
