package facts

// By which VolumeAttributesClass volumes are. A bound claim may name another one at any time. It may name none only
// while its volume was given none (kubernetes/kubernetes:pkg/apis/core/validation,
// ValidatePersistentVolumeClaimUpdate).

// Attributes says by which VolumeAttributesClass a volume is, and which one it is to have. Each is empty for none.
type Attributes struct {
	Asked   string // that its claim names
	Has     string // that the storage gave it last, as the status of its claim says
	For     string // that the spec asked for when the operator wrote to it last
	State   AttributesState
	Message string // in the words of Kubernetes; empty where it says none
}

// AttributesState is one of a closed set.
type AttributesState string

// The states of a change of attributes.
const (
	AttributesNotBegun   AttributesState = ""           // nothing is known to work on it, or nothing has to be done
	AttributesUnderWay   AttributesState = "UnderWay"   // the driver changes the volume
	AttributesPending    AttributesState = "Pending"    // the class is not there, or is for another driver
	AttributesInfeasible AttributesState = "Infeasible" // the driver refuses it
)

// IsModifying reports a volume that has not got the class that its claim names, also where it never will.
func (v *Volume) IsModifying() bool {
	return v.Phase == VolumeBound && v.Attributes.Asked != v.Attributes.Has
}

// AttributesFor is the class that a claim is to name by the spec. Where the spec names none, a volume keeps what it
// has, and what the spec asked for and it has not got is taken back.
func (v *Volume) AttributesFor(d Desired) string {
	has, asked := v.Attributes, d.AttributesOf(v)
	switch {
	case v.Phase != VolumeBound || v.Terminating || d.Ephemeral:
	case asked != "":
		return asked
	case v.IsModifying() && has.For != "" && has.Asked == has.For:
		return has.Has
	}
	return has.Asked
}

// AttributesOf is the class that the spec asks for of such a volume.
func (d Desired) AttributesOf(v *Volume) string {
	if v.isLog {
		return d.WAL.Attributes
	}
	return d.Attributes
}

// isMadeForOtherAttributes reports a volume that waits for another class than the spec asks for: the claim of one that
// was never made cannot name another one.
func (v *Volume) isMadeForOtherAttributes(d Desired) bool {
	return v.Attributes.For != d.Attributes || v.Half.UID != "" && v.Half.Attributes.For != d.WAL.Attributes
}
