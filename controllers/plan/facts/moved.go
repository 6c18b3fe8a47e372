package facts

import (
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// Storage is where a member keeps its data: on a volume, or in its Pod.
type Storage struct {
	Ephemeral bool   // in the Pod's emptyDir
	Medium    string // of that: Memory, or empty for the node's disk
}

// StorageOf is where a member without a Pod keeps its data. What is there says it, or the record of what first members
// were bootstrapped on. What an incarnation begins with is restored to volumes alone. Where nothing is left that is of
// no matter, since no data is: the member counts as a new one, and has what the spec asks for.
func StorageOf(r Replica, b record.Bootstrap, asked Storage) Storage {
	isFirst := b.Begun && slices.Contains(b.Names, r.Name)
	isRestored := !b.Origin.IsZero() && slices.Contains(b.Names, r.Name) ||
		!b.Next.Origin.IsZero() && slices.Contains(b.Next.Names, r.Name)
	switch {
	case r.Volume != nil, isRestored, isFirst && b.Volumes[r.Name] != "":
		return Storage{}
	case isFirst && !asked.Ephemeral:
		return Storage{Ephemeral: true}
	}
	return asked
}

// whyElsewhere says that a member keeps its data elsewhere than the spec asks for, as a part of a sentence, or "".
func (r Replica) whyElsewhere(d Desired) string {
	switch {
	case r.Storage == d.Storage:
		return ""
	case !r.Ephemeral:
		return "its data is on a volume, and the spec asks for data in Pods"
	case !d.Ephemeral:
		return "its data is in its Pod, and the spec asks for volumes"
	case d.Medium == "":
		return "its data is in memory, and the spec asks for the node's disk"
	}
	return "its data is on the node's disk, and the spec asks for memory"
}

// WhyMoved says what of a member's storage is other than the spec asks for, as a part of a sentence, or "". No restart
// changes that: a new member follows this one, with storage of its own. So it does where a person asked for that. Where
// the spec names no StorageClass, any will do: a default that changes moves no member.
func (r Replica) WhyMoved(d Desired) string {
	v := r.Volume
	switch elsewhere := r.whyElsewhere(d); {
	case r.IsUnwanted:
		return "the annotation etcdsteward.dev/replace names it"
	case r.IsDrained():
		return r.Pod.Drain.Why
	case elsewhere != "":
		return elsewhere
	case v == nil:
	case d.StorageClass != "" && v.MadeFor != d.StorageClass:
		return fmt.Sprintf("its volume is of StorageClass %q, and the spec names %q", v.MadeFor, d.StorageClass)
	case v.AccessMode != d.AccessMode:
		return fmt.Sprintf("its volume is %s, and the spec asks for %s", v.AccessMode, d.AccessMode)
	case v.whyTooSmall(d) != "":
		return v.whyTooSmall(d)
	case v.isTooLarge(d):
		return fmt.Sprintf("its volume was made for %s, and the spec asks for %s", FormatBytes(v.AskedBytes),
			FormatBytes(d.StorageBytes))
	default:
		return v.whyOtherLog(d)
	}
	return ""
}

// IsDrained reports the member of a cluster of one that has to leave its node. A member of more is stopped by the
// drain, and the others serve.
func (r Replica) IsDrained() bool { return r.Pod != nil && r.Pod.Drain.Why != "" }

// isTooLarge reports a volume for which the spec asked for more than it does now. What people or tools made of it is no
// reason to move a member. One that has not grown yet takes that back. A size without room for the quota is none to
// move to.
func (v *Volume) isTooLarge(d Desired) bool {
	return v.AskedBytes > d.StorageBytes && !v.IsGrowing() && d.HasRoomForQuota()
}

// HasRoomForQuota reports a size of volumes with room for a database at its quota, for a second file of it and for
// snapshots. A spec that is stored has that room, and a quota may have grown since.
func (d Desired) HasRoomForQuota() bool { return VolumeFor(d.Settings.QuotaBytes) <= d.StorageBytes }

// WhyNotInPlace says why a restart on its own data does not bring a member to the spec, as a part of a sentence, or "".
func (r Replica) WhyNotInPlace(d Desired) string {
	switch {
	case r.Ephemeral && r.WhyMoved(d) == "":
		return "its data ends with its Pod"
	case r.Volume != nil && r.Volume.Misplaced != "":
		return r.Volume.Misplaced
	case r.Volume != nil && r.Volume.RemovedFor == CausePlace:
		return "no node that can use its volume took it as the spec is"
	}
	return r.WhyMoved(d)
}
