package facts

// Cause says why a member stands so, in one noun. The set is closed.
type Cause string

// The causes, by kind: see Kind.
const (
	NoCause Cause = ""

	CauseVolume   Cause = "Volume"   // the claim, or what is behind it, is gone or going
	CausePod      Cause = "Pod"      // the Pod that held ephemeral data is gone
	CauseDisk     Cause = "Disk"     // the disk fails, or what lies on it cannot be read
	CauseNode     Cause = "Node"     // the node is gone, stopped answering, or does not take the Pod
	CauseIdentity Cause = "Identity" // the data is of another cluster or of another member

	CauseSettings Cause = "Settings" // a flag, a certificate, a version
	CauseImage    Cause = "Image"    // the image cannot be had
	CauseRoom     Cause = "Room"     // no node has room for the Pod
	CauseSpace    Cause = "Space"    // the disk is full
	CauseOutside  Cause = "Outside"  // something outside of the member holds its Pod back

	CauseCorruption Cause = "Corruption" // its copy of the data differs from another member's

	CauseUnknown Cause = "Unknown"
)

// Kind tells what a new member in the place of this one would meet.
type Kind string

// The kinds of causes.
const (
	OwnKind     Kind = "own"     // of this disk or node: a new member would not meet it
	RecursKind  Kind = "recurs"  // a new member would meet it as well: it is told, and nobody is replaced for it
	DoubtKind   Kind = "doubt"   // one member's word does not prove it: the others' evidence decides
	UnknownKind Kind = "unknown" // time tells
)

// Kind is the kind of the cause; empty where there is none.
func (c Cause) Kind() Kind {
	switch c {
	case CauseVolume, CausePod, CauseDisk, CauseNode, CauseIdentity:
		return OwnKind
	case CauseSettings, CauseImage, CauseRoom, CauseSpace, CauseOutside:
		return RecursKind
	case CauseCorruption:
		return DoubtKind
	case CauseUnknown:
		return UnknownKind
	case NoCause:
	}
	return ""
}
