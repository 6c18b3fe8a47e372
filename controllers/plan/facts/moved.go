package facts

import "fmt"

// WhyMoved says what of a member's volume is other than the spec asks for, as a part of a sentence, or "". No restart
// changes that: a new member follows this one, on another volume. So it does where a person asked for that. Where the
// spec names no StorageClass, any will do: a default that changes moves no member.
func (r Replica) WhyMoved(d Desired) string {
	v := r.Volume
	switch {
	case r.IsUnwanted:
		return "the annotation etcdsteward.dev/replace names it"
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
	}
	return ""
}

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
	case d.Ephemeral && !r.IsUnwanted:
		return "its data ends with its Pod"
	case r.Volume != nil && r.Volume.Misplaced != "":
		return r.Volume.Misplaced
	case r.Volume != nil && r.Volume.RemovedFor == CausePlace:
		return "no node that can use its volume took it as the spec is"
	}
	return r.WhyMoved(d)
}
