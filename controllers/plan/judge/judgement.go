// Package judge says how each member is, once, from one table (signs.go). Rules, evidence and status read that. The
// guard does not: it cannot import this package.
package judge

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
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

// Judgement is what is known of one member, once, for every rule, for the evidence and for the status. The guard does
// not read it.
type Judgement struct {
	State State
	Cause facts.Cause
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

// IsOwnWord reports a member that stopped, and said of its own data that it is gone or cannot be read.
func (j Judgement) IsOwnWord() bool {
	return j.State == Lost && j.Cause == facts.CauseDisk && j.Cure == Replace
}

// MustGo reports a member that is to be replaced now: its data is certainly gone, and it does not run.
func (j Judgement) MustGo() bool { return j.Cure == Replace && j.Certain && j.State == Lost }

// Sign is a row of the table: what is seen of a member, and what that means.
type Sign struct {
	Judgement
	fits  func(View, facts.Replica) bool
	since func(facts.Replica) time.Time    // nil where it does not matter
	says  func(View, facts.Replica) string // nil: what is seen
	word  word                             // where Reason is no constant
}

// seen begins a row with a part of a sentence about the member.
func seen(what string, fits func(View, facts.Replica) bool) Sign {
	return Sign{Judgement: Judgement{Says: what}, fits: fits}
}

func (s Sign) means(state State, cause facts.Cause, cure Cure) Sign {
	s.State, s.Cause, s.Cure = state, cause, cure
	return s
}

func (s Sign) by(proof ...Witness) Sign { s.Proof = proof; return s }

func (s Sign) certainly() Sign { s.Certain = true; return s }

func (s Sign) from(since func(facts.Replica) time.Time) Sign { s.since = since; return s }

func (s Sign) saying(says func(View, facts.Replica) string) Sign { s.says = says; return s }

func (s Sign) told(reason string) Sign { s.Reason = reason; return s }

func (s Sign) toldBy(w word) Sign { s.word = w; return s }

// Word is how docs/failures.md tells the reason; empty where the member is well.
func (s Sign) Word() string {
	if s.Reason != "" {
		return "`" + s.Reason + "`"
	}
	return s.word.doc
}

// RowOf is the first row of the table that fits, from the top; -1 when none does.
func RowOf(o View, r facts.Replica) int {
	return slices.IndexFunc(Signs, func(s Sign) bool { return s.fits(o, r) })
}

// judge is what that row says.
func judge(o View, r facts.Replica) Judgement {
	i := RowOf(o, r)
	if i < 0 {
		return Judgement{}
	}
	s := Signs[i]
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
