package facts

import (
	"fmt"
	"time"
)

// How volumes grow. What a claim asks for may be raised at any time. It may be lowered only while it has not got that,
// and never to what it has (kubernetes/kubernetes:pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate).

// GrowthDeadline is how long a node may take for a volume that its storage made larger. A driver that grows a volume
// only at the start of its Pod takes for ever.
const GrowthDeadline = 10 * time.Minute

// Growth is how far a volume is with what its claim asks for.
type Growth struct {
	State   GrowthState
	Message string    // in the words of Kubernetes; empty where it says none
	Since   time.Time // when Kubernetes said so; zero where it does not
}

// GrowthState is one of a closed set.
type GrowthState string

// The states of a growth.
const (
	GrowthNone       GrowthState = ""           // it has what was asked
	GrowthUnderWay   GrowthState = "UnderWay"   // the storage makes it larger, or a node does
	GrowthAtNode     GrowthState = "AtNode"     // only the node has yet to make its file system larger
	GrowthInfeasible GrowthState = "Infeasible" // the storage or the node cannot
)

// Room is how large a volume is, as far as its status says: what is asked and not yet there is no room.
func (v *Volume) Room() int64 {
	if v.IsGrowing() {
		return v.Capacity
	}
	return v.Bytes
}

// IsGrowing reports a volume that has not got what its claim asks for, also where it never will.
func (v *Volume) IsGrowing() bool { return v.Phase == VolumeBound && v.Growth.State != GrowthNone }

// IsInfeasible reports a volume that does not get what its claim asks for.
func (v *Volume) IsInfeasible() bool { return v.IsGrowing() && v.Growth.State == GrowthInfeasible }

// leastGrowth is what a claim that is lowered asks for beside what it has.
const leastGrowth = 1 << 20

// GrowsTo is what a claim is to ask for by the spec: more, or less where it asked for too much and has not got it. What
// people and tools asked for beyond the spec stays.
func (v *Volume) GrowsTo(d Desired) int64 {
	asked := d.BytesOf(v)
	switch {
	case v.Phase != VolumeBound || v.Terminating || d.Ephemeral || d.ExpandsByMove && v.Bytes < asked:
	case v.Bytes < asked:
		return asked
	case v.IsGrowing() && v.AskedBytes > asked:
		return min(v.Bytes, max(asked, v.Capacity+leastGrowth))
	}
	return v.Bytes
}

// BytesOf is the size that the spec asks for of such a volume.
func (d Desired) BytesOf(v *Volume) int64 {
	if v.isLog {
		return d.WAL.Bytes
	}
	return d.StorageBytes
}

// whyTooSmall says that a volume has less than the spec asks for, where members move for that, as a part of a sentence,
// or "".
func (v *Volume) whyTooSmall(d Desired) string {
	what, asked := "its volume", d.BytesOf(v)
	isShort := v.Bytes < asked || v.IsInfeasible() && v.Capacity < asked
	if !d.ExpandsByMove || !isShort {
		return ""
	}
	if v.isLog {
		what = "the volume of its write-ahead log"
	}
	return fmt.Sprintf("%s has %s, and the spec asks for %s", what, FormatBytes(v.Room()), FormatBytes(asked))
}

// LacksRoomForQuota reports a member whose volume has no room yet for a larger quota than it runs with. The spec gives
// it that room.
func (r Replica) LacksRoomForQuota(d Desired) bool {
	quota := d.Settings.QuotaBytes
	return r.Volume != nil && r.Volume.Phase == VolumeBound && r.Volume.Room() < d.StorageBytes &&
		quota > r.RunsWith().QuotaBytes && VolumeFor(quota) > r.Volume.Room()
}
