package facts

import (
	"fmt"
	"slices"
)

// WAL says on which volume of its own a member's write-ahead log lies, or will lie; zero where it lies beside the
// data. That volume and the one of the data are one, in two halves: where one half is lost, all is.
type WAL struct {
	Bytes        int64  // that the spec asks for, or asked for when it was made or grew last
	StorageClass string // the same; empty for the default one
	Attributes   string // the VolumeAttributesClass that the spec asks for; empty for none
}

// Half is the claim of a write-ahead log by itself. It grows as the one of the data does, and for itself.
type Half struct {
	VolumeRef

	Bytes      int64 // requested size
	Capacity   int64 // what it has, as its status says
	Growth     Growth
	Attributes Attributes
	Class      string // its StorageClass, as the claim says; for display
}

// Claims are the replicas that have volumes, with each claim of these for their volume: with the one of the data, and
// with the one of the write-ahead log where that has its own. All else of the volume is as it was.
func Claims(members []Replica) []Replica {
	var claims []Replica
	for _, r := range members {
		if r.Volume == nil {
			continue
		}
		claims = append(claims, r)
		if log := r.Volume.log(); log != nil {
			r.Volume = log
			claims = append(claims, r)
		}
	}
	return claims
}

// log is a volume with the claim of its write-ahead log in the place of that of the data; nil where it has none.
func (v *Volume) log() *Volume {
	if v.Half.UID == "" {
		return nil
	}
	log, half := *v, v.Half
	log.isLog, log.UID, log.Bytes, log.Capacity, log.Growth = true, half.UID, half.Bytes, half.Capacity, half.Growth
	log.AskedBytes, log.Class, log.Attributes = v.WAL.Bytes, half.Class, half.Attributes
	return &log
}

// IsLog reports a volume of Claims that stands for the claim of a write-ahead log.
func (v *Volume) IsLog() bool { return v.isLog }

// Stray is a claim of a write-ahead log whose member's data is gone. It is of no use to any member.
type Stray struct {
	VolumeRef

	Member string
}

// StrayOf is the member that this claim was made for, if it is such a one.
func (o Observation) StrayOf(ref VolumeRef) (member string, isStray bool) {
	i := slices.IndexFunc(o.Strays, func(s Stray) bool { return s.VolumeRef == ref })
	if i < 0 {
		return "", false
	}
	return o.Strays[i].Member, true
}

// IsOfNobody reports a name of which neither a member, nor a Pod, nor data is left, in any incarnation, and that none
// is about to get.
func (o View) IsOfNobody(name string) bool {
	isLeft := func(r Replica) bool {
		return r.Name == name && (r.Member != nil || r.Pod != nil || r.Volume != nil || r.Restoring != nil)
	}
	isKept := func(v KeptVolume) bool { return v.Name == name }
	isAwaited := name == o.Bootstrap.Promised || slices.Contains(o.Bootstrap.Next.Names, name)
	return o.Membership.Known && !isAwaited && !slices.ContainsFunc(o.EveryReplica(), isLeft) &&
		!slices.ContainsFunc(o.Kept, isKept)
}

// IsZero reports a write-ahead log that lies beside the data.
func (w WAL) IsZero() bool { return w == WAL{} }

// whyOtherLog says what of a volume's write-ahead log is other than the spec asks for, as a part of a sentence, or "".
// Where the spec names no StorageClass, any will do.
func (v *Volume) whyOtherLog(d Desired) string {
	w, asked, log := v.WAL, d.WAL, v.log()
	switch {
	case w.IsZero() && asked.IsZero():
	case w.IsZero():
		return "its write-ahead log lies beside its data, and the spec asks for a volume of its own"
	case asked.IsZero():
		return "its write-ahead log has a volume of its own, and the spec asks for none"
	case asked.StorageClass != "" && w.StorageClass != asked.StorageClass:
		return fmt.Sprintf("the volume of its write-ahead log is of StorageClass %q, and the spec names %q",
			w.StorageClass, asked.StorageClass)
	case log != nil && log.whyTooSmall(d) != "":
		return log.whyTooSmall(d)
	case w.Bytes > asked.Bytes && (log == nil || !log.IsGrowing()): // one that has not grown yet takes that back
		return fmt.Sprintf("the volume of its write-ahead log was made for %s, and the spec asks for %s",
			FormatBytes(w.Bytes), FormatBytes(asked.Bytes))
	}
	return ""
}

// isMadeForOther is the same of one that was never made: it was asked for in vain, and may be asked for anew.
func (w WAL) isMadeForOther(asked WAL) bool {
	return w.IsZero() != asked.IsZero() || w.StorageClass != asked.StorageClass || w.Bytes > asked.Bytes
}
