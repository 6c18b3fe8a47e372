package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Verdict is the kind of a decision.
type Verdict string

// The verdicts.
const (
	Act     Verdict = "Act"     // carry out Change now
	Wait    Verdict = "Wait"    // something is under way; look again
	Refuse  Verdict = "Refuse"  // not safe, not possible, or past its deadline; look again all the same
	Settled Verdict = "Settled" // observed equals desired
)

// Decision is what to do now, and why.
type Decision struct {
	Verdict Verdict
	Change  changes.Change // non-nil only for Act
	Rule    string         // the rule that spoke
	Reason  string         // CamelCase, for machines
	Message string         // a sentence, for people

	// GivesWay: when Kubernetes or etcd refuses the change, the planner is asked again in the same pass, with that in
	// Refused, and later rules may act. A rule may give way in one phase and hold in another.
	GivesWay   bool
	NeedsHuman bool          // nothing but a person can end what is refused, or waited for
	Overdue    bool          // a wait past its deadline
	Recheck    time.Duration // look again after this long even if nothing is heard
	Trace      Trace         // how that came about
}

// Note is what the decision says.
func (d Decision) Note() facts.Note {
	return facts.Note{Rule: d.Rule, Reason: d.Reason, Message: d.Message, NeedsHuman: d.NeedsHuman, Overdue: d.Overdue}
}

// Trace is what each rule said that was asked, in that order.
type Trace []Said

// Said is what a rule said, with the guard's words where that held its change back.
type Said struct {
	facts.Note
	Verdict Verdict // "" where it had nothing to say
	Ends    bool    // no later rule was asked
}

// Spoken leaves out the rules that had nothing to say.
func (t Trace) Spoken() Trace {
	var out Trace
	for _, s := range t {
		if s.Verdict != "" {
			out = append(out, s)
		}
	}
	return out
}

// Yielded is what rules said that let later ones act: they wait, were refused, or were held back.
func (t Trace) Yielded() []facts.Note {
	var out []facts.Note
	for _, s := range t.Spoken() {
		if !s.Ends {
			out = append(out, s.Note)
		}
	}
	return out
}

// String has a line for each rule that spoke, and one for all that had nothing to say.
func (t Trace) String() string {
	var lines, mute []string
	for _, s := range t {
		switch {
		case s.Verdict == "":
			mute = append(mute, s.Rule)
		case s.Ends:
			lines = append(lines, fmt.Sprintf("%s: %s %s: %s", s.Rule, s.Verdict, s.Reason, s.Message))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s %s, and yields: %s", s.Rule, s.Verdict, s.Reason, s.Message))
		}
	}
	if len(mute) > 0 {
		lines = append(lines, "nothing to say: "+strings.Join(mute, ", "))
	}
	return strings.Join(lines, "\n")
}
