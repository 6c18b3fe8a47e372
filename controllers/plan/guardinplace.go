package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// The guard's part about restores in place.

func guardInPlace(o view, c Change) string {
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
	case MarkFormer:
		return first(c.Volumes, func(ref VolumeRef) string { return guardMark(o, c.By, ref) })
	default:
		return fmt.Sprintf("%T is no part of a restore in place.", c)
	}
}

// guardBeginNext lets an incarnation be restored only on an approval, under names and an incarnation that were never used.
func guardBeginNext(o view, c BeginNext) string {
	request, isApproved := o.approvedNow(c.Restore)
	switch {
	case !o.canBeFollowed() || c.From != o.Birth.Incarnation:
		return "the incarnation that another one is to follow is not written down, or is another one by now."
	case o.isPreparing():
		return "another incarnation is being restored already."
	case !isApproved || !request.asksFor(c.Next):
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	}
	return cmp.Or(o.guardFresh(c.Next), o.guardNames(c.Names, c.NextOrdinal), o.guardSource(request, c.Next))
}

// asksFor reports whether the incarnation is what the request names.
func (r Request) asksFor(l record.Next) bool {
	return r.WantedBackup.Fault == "" && r.Source == l.Source && r.Survivor == l.Survivor && r.Bump == l.Bump
}

// guardFresh lets no incarnation be begun twice.
func (o view) guardFresh(l record.Next) string {
	if l.Counter <= max(o.Birth.Counter, o.Birth.LastCounter) || l.Incarnation != IncarnationID(o.Cluster.UID, l.Counter) || o.hasTraceOf(l.Incarnation) {
		return fmt.Sprintf("the incarnation %s was begun before.", l.Incarnation)
	}
	return ""
}

// guardNames lets no name be given that anybody ever had.
func (o view) guardNames(chosen []string, next int) string {
	if len(chosen) == 0 {
		return "it has no members."
	}
	for _, name := range chosen {
		ordinal, ok := etcdutil.Ordinal(o.Cluster.Name, name)
		_, isSeen := find(o.everyReplica(), name)
		isLeft := slices.ContainsFunc(o.Retained, func(r Retained) bool { return r.Name == name })
		if !ok || isSeen || isLeft || slices.Contains(o.Birth.Names, name) || ordinal < o.Birth.NextOrdinal || ordinal >= next {
			return fmt.Sprintf("the name %s may have been used.", name)
		}
	}
	return ""
}

// guardSource holds what an incarnation begins with to what was looked at, and lets data be given up without a backup only where the
// quorum is certainly lost.
func (o view) guardSource(request Request, l record.Next) string {
	switch l.Source {
	case record.SourceBackup:
		return guardOrigin(o.asking(request), l.Origin)
	case record.SourceEmpty:
		if !l.Origin.IsZero() || !o.isQuorumGone() {
			return "the quorum is not certainly lost."
		}
		return ""
	case record.SourceSurvivor:
		return o.guardSurvivor(l)
	}
	return fmt.Sprintf("%q is nothing that an incarnation could begin with.", l.Source)
}

func (o view) guardSurvivor(l record.Next) string {
	if !o.isQuorumGone() || o.Desired.Ephemeral || len(l.Names) != 1 || l.Origin.IsZero() {
		return "the quorum is not certainly lost, or this is not how one survivor is rebuilt from."
	}
	return o.guardSurvivorData(o.Find(l.Survivor))
}

// guardPrepareNext makes volumes and restore Pods only for the next incarnation, and only where there are none.
func guardPrepareNext(o view, c PrepareNext) string {
	l, ahead := o.Birth.Next, o.ofNext()
	if l.IsZero() || c.Incarnation != l.Incarnation || c.Incarnation == o.Birth.Incarnation {
		return "another incarnation is being restored, or none."
	}
	isOther := func(name string) bool { return !slices.Contains(l.Names, name) }
	if slices.ContainsFunc(c.Secrets, isOther) || slices.ContainsFunc(c.Volumes, func(v NewVolume) bool { return isOther(v.Name) }) {
		return "it is not only for members of the next incarnation."
	}
	isTaken := func(v NewVolume) bool { r := ahead.Find(v.Name); return r.Volume != nil || r.Restoring != nil }
	if slices.ContainsFunc(c.Volumes, isTaken) {
		return "a member has a volume already, or a Pod that was made for another one."
	}
	return first(c.Restores, func(laying Laying) string { return cmp.Or(o.guardReading(laying), guardLaying(ahead, laying)) })
}

// guardReading lets a restore Pod read only what the incarnation is to begin with, and write only where nobody ever lived.
func (o view) guardReading(laying Laying) string {
	l, survivor := o.Birth.Next, o.survivor()
	if laying.Mounts != "" && (laying.Mounts != l.Survivor || !o.isFlushed(survivor) || survivor.Pod != nil) {
		return fmt.Sprintf("the volume of %s cannot be read.", laying.Mounts)
	}
	if r, _ := find(o.Next.Members, laying.Name); r.Volume != nil && (r.Volume.Terminating || r.Volume.Incarnation != l.Incarnation) || laying.Survivor != l.Survivor {
		return fmt.Sprintf("nothing can be restored on the volume of %s.", laying.Name)
	}
	return ""
}

func guardDropNext(o view, c DropNext) string {
	isLeft := slices.ContainsFunc(o.Next.Members, func(r Replica) bool { return r.Volume != nil || r.Pod != nil || r.Restoring != nil })
	switch {
	case c.Incarnation != o.Birth.Next.Incarnation || c.Incarnation == o.Birth.Incarnation:
		return "another incarnation is being restored, or none."
	case isLeft:
		return "something of the incarnation that was restored is still there."
	}
	return o.guardUnwanted()
}

// guardUnwanted lets what was restored be taken back only while no EtcdRestore wants it.
func (o view) guardUnwanted() string {
	for _, r := range o.Requests {
		if r.ID == o.Birth.Next.Restore && r.Approval != "" && !o.isOvertaken() {
			return fmt.Sprintf("the EtcdRestore %s asks for it.", r.Name)
		}
	}
	return ""
}

// guardSwitchOver ends an incarnation only for one that is whole, on an approval of the evidence that there is.
func guardSwitchOver(o view, c SwitchOver) string {
	l := o.Birth.Next
	request, isApproved := o.approvedNow(l.Restore)
	switch {
	case l.IsZero() || c.From != o.Birth.Incarnation || c.To != l.Incarnation || c.From == c.To || o.Birth.Void:
		return "another incarnation is being restored, or another one lives."
	case !isApproved || request.Source != l.Source:
		return "no EtcdRestore asks for this with an approval of the evidence that there is."
	case !slices.Equal(c.Voters, o.knownVoters()):
		return "who has a vote is another by now."
	}
	if why := cmp.Or(o.whyServedOn(o.isGone), o.whyNoCertificates()); why != "" {
		return why + "."
	}
	return cmp.Or(o.guardBeginning(), first(l.Names, func(name string) string { return o.guardReady(name, c.Volumes[name]) }))
}

// guardBeginning holds what was restored to what was asked for, and to what may be given up.
func (o view) guardBeginning() string {
	l := o.Birth.Next
	switch {
	case l.Source != record.SourceBackup && !o.isQuorumGone():
		return "the quorum is not certainly lost."
	case l.Source == record.SourceSurvivor && !o.isAsRestored():
		return "nothing says that the survivor still holds just what was restored."
	case l.Origin.IsZero() != (l.Source == record.SourceEmpty):
		return "what was restored is not what was asked for."
	case !l.Origin.IsZero() && (!l.Origin.Version.SameMinor(o.Desired.Choices.Version) || o.Desired.Ephemeral):
		return fmt.Sprintf("what was restored is of etcd %s, and cannot start as the spec asks.", l.Origin.Version)
	}
	return ""
}

// guardReady lets a cluster move only to members that lack nothing: certificates, and a volume of their own that was restored.
func (o view) guardReady(name, volumeUID string) string {
	r, _ := find(o.Next.Members, name)
	l := o.Birth.Next
	switch {
	case r.Pod != nil || r.Restoring != nil:
		return fmt.Sprintf("a Pod of %s is there.", name)
	case o.Desired.TLS && r.Secret.State != ObjectCurrent:
		return fmt.Sprintf("%s has no certificates.", name)
	case o.Desired.Ephemeral && l.Origin.IsZero():
		return ""
	case !r.hasVolume(VolumeRef{Name: name, UID: volumeUID}) || !r.Volume.isThere(true):
		return fmt.Sprintf("the volume of %s is another one by now, or is lost.", name)
	case !r.Volume.isReadyFor(l):
		return fmt.Sprintf("the volume of %s was not restored completely.", name)
	}
	return ""
}

// isReadyFor reports a volume that was made for an incarnation, and holds what that begins with.
func (v *Volume) isReadyFor(l record.Next) bool {
	return v.Incarnation == l.Incarnation && (l.Origin.IsZero() || v.Restored == l.Incarnation)
}
