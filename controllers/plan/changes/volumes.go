package changes

import (
	"cmp"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// NewVolume is a volume to make, for one named member.
type NewVolume struct {
	Name     string
	Bytes    int64
	Settings facts.Settings
}

// WriteSettings writes on volumes what their members' Pods are to be made from.
type WriteSettings struct {
	Volumes  []facts.VolumeRef
	Settings facts.Settings
	Rehearse bool // the members run: first make sure that Kubernetes would admit Pods made from these
}

func (WriteSettings) traits() Traits { return Traits{} }

func (c WriteSettings) words() Words {
	return says("Write", "writes", "Wrote", "settings on the volume", EventRecorded).of(volumeNames(c.Volumes))
}

func (c WriteSettings) veto(o facts.View) Veto {
	return first(c.Volumes, func(ref facts.VolumeRef) Veto { return guardSettings(o, ref, c.Settings) })
}

// guardSettings lets a member's next Pod be made from a version only where that may start on its data, and from a minor
// that was not begun only while all other voters serve: the way back is theirs. What its Pod was made from already may
// be written.
func guardSettings(o facts.View, ref facts.VolumeRef, c facts.Settings) Veto {
	r := o.Find(ref.Name)
	if !r.IsRecorded() || !r.HasVolume(ref) || r.Pod != nil && r.Pod.Settings == c {
		return guardFirstSettings(o, ref, c)
	}
	if why := o.WhyNotUnlisted(r, c.Transport); why != "" {
		return quorumAtRisk("%s must not be given these settings: %s.", r.Name, why)
	}
	if why := o.WhyNotOnData(r, c.Version); why != "" {
		return dataAtRisk("etcd %s must not start on the data of %s: %s.", c.Version, r.Name, why)
	}
	if crowded := o.Crowded(c); len(crowded) > 0 {
		return dataAtRisk("what %s stores has no room with these settings.", crowded[0].Name)
	}
	if o.HasBegun(r, c.Version) {
		return Veto{}
	}
	if veto := cmp.Or(guardUncovered(o, r, c.Version), guardFormat(o, r, c.Version),
		guardUnsaved(o, r, c.Version)); veto.Holds() {
		return veto
	}
	others := facts.Filter(o.HealthyVoters(), func(other facts.Replica) bool { return other.Name != r.Name })
	wanted := facts.Filter(o.Voters(), func(other facts.Replica) bool { return other.Name != r.Name })
	if !o.Membership.Known || len(others) < len(wanted) {
		return quorumAtRisk("another minor is tried on %s only while all others serve.", r.Name)
	}
	return Veto{}
}

// guardFirstSettings gives a member that has yet to start from a backup only settings that leave room for it.
func guardFirstSettings(o facts.View, ref facts.VolumeRef, c facts.Settings) Veto {
	if _, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		o = o.OfNext()
	}
	if r := o.Find(ref.Name); o.IsAlive() || r.Pod != nil && r.Pod.Settings == c {
		return Veto{}
	}
	return whyNoRoom(o, ref.Name, c)
}

// guardFormat lets the first member go to a lower minor only once each member says that its data followed.
func guardFormat(o facts.View, r facts.Replica, version etcdutil.Version) Veto {
	if version.Compare(r.Record().Version) > 0 {
		return Veto{}
	}
	for _, other := range o.HealthyVoters() {
		if format := other.Answer.Versions.Storage; format.Compare(version) > 0 && !format.SameMinor(version) {
			return dataAtRisk("the data of %s is in the format of %s, which etcd %s cannot read.", other.Name,
				format.MinorString(), version)
		}
	}
	return Veto{}
}

// guardUnsaved lets the first member go down to 3.6 only once each member's etcd wrote a snapshot. Where no downgrade
// is enabled, the cluster version never rose.
func guardUnsaved(o facts.View, r facts.Replica, version etcdutil.Version) Veto {
	isLast := func(other facts.Replica) bool { return other.Answer.Versions.Downgrade.SameMinor(version) }
	if version.Minor != firstBlind.Minor-1 || r.Record().Version.Compare(firstBlind) < 0 ||
		!slices.ContainsFunc(o.HealthyVoters(), isLast) || o.IsLogSaved() {
		return Veto{}
	}
	return dataAtRisk("raft's log of a member may still hold what %s cannot read.", version)
}

// firstBlind is the first minor of etcd that cannot read what 3.5 wrote to raft's log.
var firstBlind = etcdutil.Version{Major: 3, Minor: 7}

// guardUncovered lets no member go to a minor that cannot read what 3.5 wrote, while its log may still hold that. Where
// another voter serves with that minor, it was covered before; no 3.5 could join since.
func guardUncovered(o facts.View, r facts.Replica, version etcdutil.Version) Veto {
	isAhead := func(other facts.Replica) bool {
		return other.IsHealthy(o.Membership) && other.Answer.Version.Compare(firstBlind) >= 0
	}
	if version.Compare(firstBlind) < 0 || r.Record().Version.Compare(firstBlind) >= 0 ||
		slices.ContainsFunc(o.Voters(), isAhead) || o.IsLogCovered() {
		return Veto{}
	}
	return dataAtRisk("raft's log of %s may still hold what etcd 3.5 wrote, and %s cannot read it.", r.Name, version)
}

// MarkVolume writes on a volume why its member is to be removed, so that it is kept when that is done. Or it writes
// that a previous member said that its data is gone, so that the cluster does not go back to it. Without a cause it
// takes back what stands there.
type MarkVolume struct {
	Volume facts.VolumeRef
	For    facts.Cause
}

func (MarkVolume) traits() Traits { return Traits{Unconfirmed: "a mark deletes nothing"} }

func (c MarkVolume) words() Words {
	how := "to be kept"
	if c.For == facts.NoCause {
		how = "as one that its member stays on"
	}
	return marked([]facts.VolumeRef{c.Volume}, how)
}

func (MarkVolume) veto(facts.View) Veto { return Veto{} }

// KeepVolume puts the volume of a removed member aside: from then on it belongs to no member. The time for which it
// is kept begins, also of one that was put aside before.
type KeepVolume struct {
	Volume facts.VolumeRef
	For    facts.Cause
}

func (KeepVolume) traits() Traits { return Traits{} }

func (c KeepVolume) words() Words {
	return says("Keep", "keeps", "Kept", "the volume of "+c.Volume.Name, EventVolumeKept).about(c.Volume.Name)
}

// veto puts aside only what no member lives on, or what was put aside at a time that cannot be read.
func (c KeepVolume) veto(o facts.View) Veto {
	if v, isKept := keptAs(o, c.Volume); isKept && v.For == c.For && v.Since.IsZero() {
		return Veto{}
	}
	r := o.Find(c.Volume.Name)
	switch {
	case !r.HasVolume(c.Volume) || c.For == facts.NoCause || r.Volume.RemovedFor != c.For:
		return identityAtRisk("the volume %s is another one by now.", c.Volume.Name)
	case !o.Membership.Known || r.Member != nil || r.Pod != nil:
		return dataAtRisk("it is not certain that no member lives on the volume %s.", c.Volume.Name)
	}
	return Veto{}
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

// DeleteVolumes deletes volumes that belong to no member.
type DeleteVolumes struct{ Volumes []facts.VolumeRef }

func (DeleteVolumes) traits() Traits { return Traits{} }

func (c DeleteVolumes) words() Words {
	return says("Delete", "deletes", "Deleted", "the volume", EventVolumeDeleted).of(volumeNames(c.Volumes))
}

func (c DeleteVolumes) veto(o facts.View) Veto {
	return first(c.Volumes, func(ref facts.VolumeRef) Veto { return guardDeleteVolume(o, ref) })
}

// guardDeleteVolume never lets go of a volume that a current member, or an unknown one, may live on.
func guardDeleteVolume(o facts.View, ref facts.VolumeRef) Veto {
	if r, isNext := facts.Find(o.Next.Members, ref.Name); isNext {
		return guardNextVolume(o, r, ref)
	}
	if r, isFormer := facts.Find(o.FormerMembers(), ref.Name); isFormer {
		return guardFormerVolume(o, r, ref)
	}
	if v, isKept := keptAs(o, ref); isKept {
		return guardKeptVolume(o, v)
	}
	if member, isStray := o.StrayOf(ref); isStray {
		return guardStray(o, member)
	}
	return guardOwnVolume(o, o.Find(ref.Name), ref)
}

// guardOwnVolume is the guard of a volume of this incarnation.
func guardOwnVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) Veto {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return identityAtRisk("the volume %s is another one by now.", ref.Name)
	}
	if r.Pod != nil {
		return dataAtRisk("a Pod still uses the volume %s.", ref.Name)
	}
	if isVoided(o.Incarnation, r.Volume.Incarnation) || isOtherIncarnation(o.Incarnation, r.Volume.Incarnation) &&
		!r.IsRecorded() && !o.IsRelabelled(r) {
		return Veto{}
	}
	if !o.Membership.Known || r.Member != nil {
		return dataAtRisk("it is not certain that no member lives on the volume %s.", ref.Name)
	}
	return guardLastCopy(o, r)
}

// guardStray keeps the claim of a write-ahead log until nothing is left of the member that it was made for.
func guardStray(o facts.View, member string) Veto {
	if !o.IsOfNobody(member) {
		return dataAtRisk("it is not certain that nothing is left of %s, whose write-ahead log this is.", member)
	}
	return Veto{}
}

// guardLastCopy keeps what a removed member lived on while it may be a copy that is needed.
func guardLastCopy(o facts.View, r facts.Replica) Veto {
	switch {
	case !r.IsRecorded():
		return Veto{}
	case r.Volume.RemovedFor == facts.CauseCorruption:
		return dataAtRisk("the volume %s holds a copy that differs; a person decides about it.", r.Name)
	}
	return guardCopies(o, r.Name)
}

// guardKeptVolume keeps what was put aside until its time is over, and while anything of its name is there.
func guardKeptVolume(o facts.View, v facts.KeptVolume) Veto {
	r := o.Find(v.Name)
	if v.For == facts.CauseCorruption || !o.IsPast(v.Since.Add(o.Desired.KeepVolumes)) || r.Member != nil ||
		r.Pod != nil ||
		v.Since.IsZero() {
		return dataAtRisk("the volume %s is kept.", v.Name)
	}
	return Veto{}
}

// guardNextVolume takes back only what nobody ever lived on, and nobody wants or can use.
func guardNextVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) Veto {
	switch {
	case r.Volume == nil || r.Volume.UID != ref.UID:
		return identityAtRisk("the volume %s is another one by now.", ref.Name)
	case r.Pod != nil || r.Restoring != nil:
		return dataAtRisk("a Pod still uses the volume %s.", ref.Name)
	case r.IsRecorded() || r.Volume.Incarnation != o.Bootstrap.Next.Incarnation ||
		r.Volume.Incarnation == o.Bootstrap.Incarnation:
		return dataAtRisk("the volume %s may be one that a member lived on.", ref.Name)
	case r.Volume.IsSpoilt() || o.IsUnread(r) || o.IsMadeForOther(r):
		return Veto{}
	}
	return guardUnwanted(o)
}

// guardFormerVolume gives up what an incarnation left that ended, on the word of the EtcdRestore that ended it.
func guardFormerVolume(o facts.View, r facts.Replica, ref facts.VolumeRef) Veto {
	if r.Volume == nil || r.Volume.UID != ref.UID {
		return identityAtRisk("the volume %s is another one by now.", ref.Name)
	}
	if why := o.WhyKeepFormer(r); why != "" {
		return dataAtRisk("the volume %s is kept: %s.", ref.Name, why)
	}
	return Veto{}
}
