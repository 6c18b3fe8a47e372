package plan

import (
	"slices"
	"time"
)

// State says how a member stands, in one adjective. The set is closed.
type State string

// The states of a member.
const (
	Serving      State = "Serving"      // it answers, its kubelet calls it ready, and it has all that was committed
	Behind       State = "Behind"       // it answers, and cannot be relied on yet
	Starting     State = "Starting"     // its Pod or its process has not had its time yet
	Stopped      State = "Stopped"      // its container does not run
	Unresponsive State = "Unresponsive" // its process runs, had its time, and does not answer the operator
	Leaving      State = "Leaving"      // its Pod is terminating
	Absent       State = "Absent"       // it has no Pod
	Doomed       State = "Doomed"       // it may serve, and its data is gone as soon as its Pod stops
	Lost         State = "Lost"         // its data is gone, or is not its own
)

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
	case CauseSettings, CauseImage, CauseRoom, CauseSpace:
		return RecursKind
	case CauseCorruption:
		return DoubtKind
	case CauseUnknown:
		return UnknownKind
	case NoCause:
	}
	return ""
}

// Cure says what ends it. The set is closed.
type Cure string

// The cures.
const (
	NoCure  Cure = ""
	Await   Cure = "Wait"    // it ends by itself, or nothing is known to help
	Restart Cure = "Restart" // a Pod on the volume that it has
	Replace Cure = "Replace" // a new member in its place
	Correct Cure = "Correct" // the spec, or the platform, is put right by a person
	Compare Cure = "Compare" // the copies of the others show whose data is right
	Person  Cure = "Person"  // a person decides
)

// Witness is a source that a judgement rests on. Two of different kinds are worth more than one twice.
type Witness string

// The witnesses.
const (
	ByMember   Witness = "member"   // etcd of this very member, by its answer or its last words
	ByPeers    Witness = "peers"    // the hashes of the other members
	ByOperator Witness = "operator" // the operator could not reach the member
	ByKubelet  Witness = "kubelet"  // the kubelet of its node
	ByNode     Witness = "node"     // the Node object
	ByVolume   Witness = "volume"   // its claim and what is behind that
	ByRecord   Witness = "record"   // the birth record, or what is written on the volume
)

// Judgement is what is known of one member, once, for every rule, for the evidence and for the status. The guard does not read it.
type Judgement struct {
	State State
	Cause Cause
	Cure  Cure

	// Certain says of Replace that no time has to pass: whatever comes back, this data does not.
	Certain bool
	Since   time.Time // since when, by the API server's clock; zero when that is not known or does not matter
	Proof   []Witness
	Says    string // why, as a part of a sentence: "its volume is gone"
	Reason  string // the same in one word, for the status; empty where the member is well
}

// IsLost reports data that is certainly gone, or another's.
func (j Judgement) IsLost() bool { return j.State == Lost }

// isOwnWord reports a member that stopped, and said of its own data that it is gone or cannot be read.
func (j Judgement) isOwnWord() bool {
	return j.State == Lost && j.Cause == CauseDisk && j.Cure == Replace
}

// mustGo reports a member that is to be replaced now: its data is certainly gone, and it does not run.
func (j Judgement) mustGo() bool { return j.Cure == Replace && j.Certain && j.State == Lost }

// sign is a row of the table: what is seen of a member, and what that means.
type sign struct {
	Judgement
	fits  func(view, Replica) bool
	since func(Replica) time.Time    // nil where it does not matter
	says  func(view, Replica) string // nil: what is seen
	word  word                       // where Reason is no constant
}

// seen begins a row with a part of a sentence about the member.
func seen(what string, fits func(view, Replica) bool) sign {
	return sign{Judgement: Judgement{Says: what}, fits: fits}
}

func (s sign) means(state State, cause Cause, cure Cure) sign {
	s.State, s.Cause, s.Cure = state, cause, cure
	return s
}

func (s sign) by(proof ...Witness) sign { s.Proof = proof; return s }

func (s sign) certainly() sign { s.Certain = true; return s }

func (s sign) from(since func(Replica) time.Time) sign { s.since = since; return s }

func (s sign) saying(says func(view, Replica) string) sign { s.says = says; return s }

func (s sign) told(reason string) sign { s.Reason = reason; return s }

func (s sign) toldBy(w word) sign { s.word = w; return s }

// rowOf is the first row of the table that fits, from the top; -1 when none does.
func rowOf(o view, r Replica) int {
	return slices.IndexFunc(signs, func(s sign) bool { return s.fits(o, r) })
}

// judge is what that row says.
func judge(o view, r Replica) Judgement {
	i := rowOf(o, r)
	if i < 0 {
		return Judgement{}
	}
	s := signs[i]
	j := s.Judgement
	if s.since != nil {
		j.Since = s.since(r)
	}
	if s.says != nil {
		j.Says = s.says(o, r)
	}
	if s.word.find != nil {
		j.Reason = s.word.find(r)
	}
	return j
}
