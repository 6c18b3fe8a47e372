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

// The guard's part about restores in place.

func guardInPlace(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.BeginNext:
		return guardBeginNext(o, c)
	case changes.PrepareNext:
		return guardPrepareNext(o, c)
	case changes.DropNext:
		return guardDropNext(o, c)
	case changes.SwitchOver:
		return guardSwitchOver(o, c)
	case changes.MarkFlushed:
		return guardFlushed(o, c)
	case changes.GoBack:
		return guardGoBack(o, c)
	case changes.MarkCurrent:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardMarkCurrent(o, c.After, ref) })
	case changes.MarkFormer:
		return first(c.Volumes, func(ref facts.VolumeRef) string { return guardMark(o, c.By, ref) })
	default:
		return fmt.Sprintf("%T is no part of a restore in place.", c)
	}
}

// guardBeginNext lets an incarnation be restored only on an approval, under names and an incarnation that were never
// used.
func guardBeginNext(o facts.View, c changes.BeginNext) string {
	request, isApproved := o.ApprovedNow(c.Restore)
	switch {
	case !o.CanBeFollowed() || c.From != o.Bootstrap.Incarnation:
		return "the incarnation that another one is to follow is not written down, or is another one by now."
	case o.IsPreparing():
		return "another incarnation is being restored already."
	case !isApproved || !asksFor(request, c.Next):
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	}
	return cmp.Or(guardFresh(o, c.Next), guardNames(o, c.Names, c.NextOrdinal), guardSource(o, request, c.Next),
		guardRevisions(o, c.Next))
}

// asksFor reports whether the incarnation is what the request names.
func asksFor(r facts.Request, l record.Next) bool {
	isBumped := r.Bump == l.Bump || !r.IsBumpFixed && r.Bump < l.Bump
	return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && isBumped
}

// guardRevisions lets no revision be served twice: a client that watches from the first time hears nothing of the
// second.
func guardRevisions(o facts.View, l record.Next) string {
	if !o.MayBegin(l) {
		return fmt.Sprintf("it would begin at revision %d, and clients were served up to %d.", o.Bootstrap.BeginsAt(l),
			o.Served())
	}
	return ""
}

// guardFresh lets no incarnation be begun twice.
func guardFresh(o facts.View, l record.Next) string {
	if l.Counter <= max(o.Bootstrap.Counter, o.Bootstrap.LastCounter) ||
		l.Incarnation != facts.IncarnationID(o.Cluster.UID,
			l.Counter) || o.HasTraceOf(l.Incarnation) {
		return fmt.Sprintf("the incarnation %s was begun before.", l.Incarnation)
	}
	return ""
}

// guardNames lets no name be given that anybody ever had.
func guardNames(o facts.View, chosen []string, next int) string {
	if len(chosen) == 0 {
		return "it has no members."
	}
	for _, name := range chosen {
		ordinal, ok := etcdutil.Ordinal(o.Cluster.Name, name)
		_, isSeen := facts.Find(o.EveryReplica(), name)
		isLeft := slices.ContainsFunc(o.Retained, func(r facts.Retained) bool { return r.Name == name })
		if !ok || isSeen || isLeft || slices.Contains(o.Bootstrap.Names, name) || ordinal < o.Bootstrap.NextOrdinal ||
			ordinal >= next {
			return fmt.Sprintf("the name %s may have been used.", name)
		}
	}
	return ""
}

// guardSource holds what an incarnation begins with to what was looked at, and lets data be given up without a backup
// only where the quorum is certainly lost.
func guardSource(o facts.View, request facts.Request, l record.Next) string {
	switch l.Source {
	case record.SourceBackup:
		return guardOrigin(o.Asking(request), l.Origin)
	case record.SourceEmpty:
		if !l.Origin.IsZero() || !o.IsQuorumGone() {
			return "the quorum is not certainly lost."
		}
		return ""
	case record.SourceSurvivor:
		return guardSurvivor(o, l)
	case record.SourcePrevious: // it begins nothing: see guardGoBack
	}
	return fmt.Sprintf("%q is nothing that an incarnation could begin with.", l.Source)
}

func guardSurvivor(o facts.View, l record.Next) string {
	if !o.IsQuorumGone() || o.Desired.Ephemeral || len(l.Names) != 1 || l.Origin.IsZero() {
		return "the quorum is not certainly lost, or this is not how one survivor is rebuilt from."
	}
	survivor := o.Find(l.Survivor)
	if why := o.WhyNoRoomFor(survivor); why != "" {
		return why + "."
	}
	return cmp.Or(guardTools(o, survivor, l.Origin.Version), guardSurvivorData(o.Incarnation, survivor))
}

// guardTools lets nothing be rebuilt with an older etcd than any that may have written it.
func guardTools(o facts.View, r facts.Replica, version etcdutil.Version) string {
	wrote := []etcdutil.Version{r.Record().Version, o.ClusterVersion()}
	if r.Answer != nil {
		wrote = append(wrote, r.Answer.Version)
	}
	for _, v := range wrote {
		if v.Compare(version) > 0 && !v.SameMinor(version) {
			return fmt.Sprintf("etcd %s may have written the data of %s, and it would be rebuilt with %s.", v, r.Name,
				version)
		}
	}
	return ""
}

// guardPrepareNext makes volumes and restore Pods only for the next incarnation, and only where there are none.
func guardPrepareNext(o facts.View, c changes.PrepareNext) string {
	l, ahead := o.Bootstrap.Next, o.OfNext()
	if l.IsZero() || c.Incarnation != l.Incarnation || c.Incarnation == o.Bootstrap.Incarnation {
		return "another incarnation is being restored, or none."
	}
	isOther := func(name string) bool { return !slices.Contains(l.Names, name) }
	if slices.ContainsFunc(c.Secrets, isOther) ||
		slices.ContainsFunc(c.Volumes, func(v changes.NewVolume) bool { return isOther(v.Name) }) {
		return "it is not only for members of the next incarnation."
	}
	isTaken := func(v changes.NewVolume) bool { r := ahead.Find(v.Name); return r.Volume != nil || r.Restoring != nil }
	if slices.ContainsFunc(c.Volumes, isTaken) {
		return "a member has a volume already, or a Pod that was made for another one."
	}
	return cmp.Or(guardRoom(ahead, c.Volumes), first(c.Restores, func(restoring changes.Restoring) string {
		if restoring.Holds {
			return guardPlace(ahead, restoring)
		}
		return cmp.Or(guardReading(o, restoring), guardRestoring(ahead, restoring))
	}))
}

// guardPlace lets the place of a member be held only where it will start: on its restored volume, which no other Pod
// uses.
func guardPlace(ahead facts.View, restoring changes.Restoring) string {
	r := ahead.Find(restoring.Name)
	if r.Pod != nil || r.Restoring != nil || ahead.LacksVolume(r) || !ahead.IsFilled(r) || r.IsRecorded() ||
		r.Volume.Settings != restoring.Settings {
		return fmt.Sprintf("the place of %s cannot be held: its volume is not restored, or a Pod uses it.",
			restoring.Name)
	}
	return ""
}

// guardReading lets a restore Pod read only what the incarnation is to begin with, and write only where nobody ever
// lived.
func guardReading(o facts.View, restoring changes.Restoring) string {
	l, survivor := o.Bootstrap.Next, o.Survivor()
	if restoring.Mounts != "" && (restoring.Mounts != l.Survivor || !o.IsFlushed(survivor) || survivor.Pod != nil) {
		return fmt.Sprintf("the volume of %s cannot be read.", restoring.Mounts)
	}
	if r, _ := facts.Find(o.Next.Members, restoring.Name); r.Volume != nil &&
		(r.Volume.Terminating || r.Volume.Incarnation != l.Incarnation) || restoring.Survivor != l.Survivor {
		return fmt.Sprintf("nothing can be restored on the volume of %s.", restoring.Name)
	}
	return ""
}

func guardDropNext(o facts.View, c changes.DropNext) string {
	isLeft := slices.ContainsFunc(o.Next.Members, func(r facts.Replica) bool {
		return r.Volume != nil || r.Pod != nil ||
			r.Restoring != nil
	})
	switch {
	case c.Incarnation != o.Bootstrap.Next.Incarnation || c.Incarnation == o.Bootstrap.Incarnation:
		return "another incarnation is being restored, or none."
	case isLeft:
		return "something of the incarnation that was restored is still there."
	}
	return guardUnwanted(o)
}

// guardUnwanted lets what was restored be taken back only while no EtcdRestore wants it.
func guardUnwanted(o facts.View) string {
	for _, r := range o.Requests {
		if r.ID == o.Bootstrap.Next.Restore && r.Approval != "" && !o.IsOvertaken() {
			return fmt.Sprintf("the EtcdRestore %s asks for it.", r.Name)
		}
	}
	return ""
}

// guardSwitchOver ends an incarnation only for one that is whole, on an approval of the evidence that there is.
func guardSwitchOver(o facts.View, c changes.SwitchOver) string {
	l := o.Bootstrap.Next
	request, isApproved := o.ApprovedNow(l.Restore)
	switch {
	case l.IsZero() || c.From != o.Bootstrap.Incarnation || c.To != l.Incarnation || c.From == c.To || o.Bootstrap.Void:
		return "another incarnation is being restored, or another one lives."
	case !isApproved || request.Source != l.Source:
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	case !slices.Equal(c.Voters, o.KnownVoters()):
		return "who has a vote is another by now."
	case !o.IsStillAbove(l):
		return "clients were served revisions by now that it would serve again."
	}
	if why := cmp.Or(o.WhyServedOn(o.IsGone), o.WhyNoCertificates()); why != "" {
		return why + "."
	}
	return cmp.Or(guardBeginning(o),
		first(l.Names, func(name string) string { return guardReady(o, name, c.Volumes[name]) }))
}

// guardBeginning holds what was restored to what was asked for, and to what may be given up.
func guardBeginning(o facts.View) string {
	l := o.Bootstrap.Next
	switch {
	case l.Source != record.SourceBackup && !o.IsQuorumGone():
		return "the quorum is not certainly lost."
	case l.Source == record.SourceSurvivor && !o.IsAsRestored():
		return "nothing says that the survivor still holds just what was restored."
	case l.Origin.IsZero() != (l.Source == record.SourceEmpty):
		return "what was restored is not what was asked for."
	case !l.Origin.IsZero() && o.Desired.Ephemeral, l.Source == record.SourceBackup &&
		etcdutil.WhyNotBegin(l.Origin.Version, o.Desired.Newest()) != "":
		return fmt.Sprintf("what was restored is of etcd %s, and cannot start as the spec asks.", l.Origin.Version)
	}
	return ""
}

// guardReady lets a cluster move only to members that lack nothing: certificates, and a volume of their own that was
// restored.
func guardReady(o facts.View, name, volumeUID string) string {
	r, _ := facts.Find(o.Next.Members, name)
	l := o.Bootstrap.Next
	if why := guardPlaceHeld(o, r); why != "" {
		return why
	}
	switch {
	case o.Desired.TLS && r.Secret.State != facts.ObjectCurrent:
		return fmt.Sprintf("%s has no certificates.", name)
	case o.Desired.Ephemeral && l.Origin.IsZero():
		return ""
	case !r.HasVolume(facts.VolumeRef{Name: name, UID: volumeUID}) || !r.Volume.IsThere(true):
		return fmt.Sprintf("the volume of %s is another one by now, or is lost.", name)
	case !isReadyFor(r.Volume, l):
		return fmt.Sprintf("the volume of %s was not restored completely.", name)
	}
	return ""
}

// guardPlaceHeld lets no Pod be there but one that shows that a node takes the member, where that is to be shown.
func guardPlaceHeld(o facts.View, r facts.Replica) string {
	switch {
	case r.Pod != nil || r.Restoring != nil && !r.Restoring.Holds:
		return fmt.Sprintf("a Pod of %s is there.", r.Name)
	case o.NeedsPlaces() && !r.HoldsPlace():
		return fmt.Sprintf("nothing says that a node takes %s where its volume is.", r.Name)
	}
	return ""
}

// isReadyFor reports a volume that was made for an incarnation, and holds what that begins with.
func isReadyFor(v *facts.Volume, l record.Next) bool {
	return v.Incarnation == l.Incarnation && (l.Origin.IsZero() || v.Restored == l.Incarnation)
}

// guardFlushed believes only of a process that runs without the others that it wrote out all that it had. Nothing ever
// ran on a volume that was put back.
func guardFlushed(o facts.View, c changes.MarkFlushed) string {
	r := o.Find(c.Volume.Name)
	if !o.IsPreparing() || c.Incarnation != o.Bootstrap.Next.Incarnation || r.Name != o.Bootstrap.Next.Survivor ||
		!r.HasVolume(c.Volume) || !o.IsQuorumGone() || !o.HasFlushed(r) && !r.IsPutBack() {
		return fmt.Sprintf("%s is not known to have run alone for long enough.", c.Volume.Name)
	}
	return ""
}

// guardRead starts no member on a volume that a restore Pod reads.
func guardRead(o facts.Incarnation, r facts.Replica) string {
	if o.IsFlushed(r) {
		return fmt.Sprintf("the volume of %s is being read.", r.Name)
	}
	return ""
}

// mayStopSurvivor reports a member that is to be read on its volume, as somebody approved, and that can serve nobody.
func mayStopSurvivor(o facts.View, r facts.Replica) bool {
	_, isApproved := o.ApprovedNow(o.Bootstrap.Next.Restore)
	return isApproved && o.IsFlushed(r) && o.IsQuorumGone() && r.HasLastingData() && r.Answer == nil
}

// guardSurvivorData says why a member's data is none to rebuild from, or "".
func guardSurvivorData(o facts.Incarnation, r facts.Replica) string {
	switch m := r.Record(); {
	case m.IsZero() || r.Incarnation() != o.Bootstrap.Incarnation || m.ClusterID != o.Bootstrap.ClusterID:
		return fmt.Sprintf("%s is not recorded as a member of this cluster.", r.Name)
	case r.IsPutBack():
		return ""
	}
	return guardReadable(o, r)
}

// guardReadable says why what a member of this incarnation holds cannot be had, or "".
func guardReadable(o facts.Incarnation, r facts.Replica) string {
	switch m := r.Record(); {
	case o.IsGone(r) || r.Answer != nil && !m.IsOf(r.Answer.ClusterID, r.Answer.ID):
		return fmt.Sprintf("the data of %s is lost, or is another's.", r.Name)
	case r.Answer == nil && (!o.MayRestart(r) || r.Pod != nil && r.CannotRun()):
		return fmt.Sprintf("%s neither answers nor can start.", r.Name)
	}
	return ""
}
