package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// proposal is what a rule says. One that yields is reported, and later rules are asked. Any other one ends the walk,
// even when it only waits.
type proposal struct {
	Decision
	yields bool
}

// Decide names the one safe change to make now, or says why there is none.
func Decide(seen facts.Observation) Decision {
	o := current(seen)
	rules := rulesFor(o)
	trace := make(Trace, 0, len(rules))
	for _, r := range rules {
		p := r.ask(o)
		if o.rebuilding == nil && slices.Contains(rebuild, r.name) {
			o.rebuilding = p
		}
		d, said := r.hear(o, p)
		trace = append(trace, said)
		if said.Ends {
			d.Trace = trace
			return withWayBack(o, d)
		}
	}
	return settled(o, trace)
}

func (r rule) givesWay() bool { return r.onward&givesWay != 0 }

func (r rule) mayYield() bool { return r.onward&mayYield != 0 }

// hear takes down what a rule proposes, once the guard was asked about its change.
func (r rule) hear(o pass, p *proposal) (Decision, Said) {
	if note, isRefused := refused(o.Observation, r); isRefused {
		return Decision{}, Said{Note: note, Verdict: Wait, Recheck: recheckWait} // it is tried again in the next pass
	}
	if p == nil {
		return Decision{}, Said{Note: facts.Note{Rule: r.name}}
	}
	p.Rule, p.GivesWay = r.name, r.givesWay()
	d, isVetoed := guarded(o, p.Decision)
	yields := p.yields || isVetoed && r.givesWay()
	return d, Said{Note: d.Note(), Verdict: d.Verdict, Ends: !yields, Recheck: d.Recheck}
}

// StandBy names what a replica may do that does not lead: to lead clients away from a member that serves nothing while
// a quorum does, or whose copy of the data was not compared, where that is the next change. It is nothing otherwise.
func StandBy(seen facts.Observation) Decision {
	d := Decide(seen)
	label, isLabel := d.Change.(changes.LabelRole)
	if !isLabel || d.Rule != nameLeadAway {
		return Decision{}
	}
	in := current(seen).Incarnation
	if r := in.Find(label.Pod.Name); isIdleBesideQuorum(in, r, seen.Now) || isToLeaveUncompared(in, r) {
		return d
	}
	return Decision{}
}

// refused is what was answered to the rule's change in this pass, if the rule may give way to later ones.
func refused(o facts.Observation, r rule) (facts.Note, bool) {
	for _, note := range o.Refused {
		if note.Rule == r.name && r.givesWay() {
			return note, true
		}
	}
	return facts.Note{}, false
}

// guarded lets a decision pass, or turns it into a refusal when the guard vetoes its change.
func guarded(o pass, d Decision) (_ Decision, isVetoed bool) {
	if d.Change == nil {
		return d, false
	}
	veto := changes.VetoOf(*o.View, d.Change)
	if !veto.Holds() {
		return d, false
	}
	return Decision{
		Verdict: Refuse, Rule: d.Rule, Reason: veto.Reason, Recheck: recheckSlow,
		Message: fmt.Sprintf("Cannot %s: %s Why it is due: %s", changes.WordsOf(d.Change).Name(), veto.Message,
			d.Because),
	}, true
}

// settled ends a walk in which every rule that spoke yielded. The gravest note is the decision, and of equals the
// first; the verdict is Settled only when there is none.
func settled(o pass, trace Trace) Decision {
	said := trace.Spoken()
	if len(said) == 0 {
		return Decision{Verdict: Settled, Rule: RuleSettled, Reason: facts.ReasonSettled, Recheck: recheckSettled,
			Message: allHealthy(len(o.Voters())), Trace: trace}
	}
	worst, recheck := said[0], said[0].Recheck
	for _, s := range said {
		recheck = min(recheck, s.Recheck)
		if gravity(s.Verdict, s.NeedsHuman) > gravity(worst.Verdict, worst.NeedsHuman) {
			worst = s
		}
	}
	d := Decision{Verdict: Wait, Rule: worst.Rule, Reason: worst.Reason, Message: worst.Message,
		NeedsHuman: worst.NeedsHuman, Overdue: worst.Overdue, IsAnswer: worst.IsAnswer, Recheck: recheck, Trace: trace}
	if gravity(worst.Verdict, worst.NeedsHuman) > 0 {
		d.Verdict, d.Recheck = Refuse, recheckSlow
	}
	return d
}

func allHealthy(voters int) string {
	if voters == 1 {
		return "The one member is healthy and as the spec asks."
	}
	return fmt.Sprintf("All %d members are healthy and as the spec asks.", voters)
}

// gravity puts what needs a person before what is refused, and that before what waits.
func gravity(v Verdict, needsHuman bool) int {
	switch {
	case needsHuman:
		return 2
	case v == Refuse:
		return 1
	}
	return 0
}

// Confirm repeats the decision on what was just read live, and reports whether it still asks for this very change.
func Confirm(live facts.Observation, c changes.Change) bool {
	return reflect.DeepEqual(Decide(live).Change, c)
}

// MustConfirm reports whether a change is carried out only after Confirm. That is the rule; the exceptions say why, in
// their traits.
func MustConfirm(c changes.Change) bool { return changes.TraitsOf(c).Unconfirmed == "" }

// How long until the next look when nothing is heard.
const (
	recheckUrgent  = 250 * time.Millisecond // clients cannot write meanwhile
	recheckWait    = 1 * time.Second
	recheckSlow    = 10 * time.Second
	recheckSettled = 20 * time.Second
	recheckHashes  = time.Minute // to compute a hash stops the writes of a member for a moment
)

// inTurn takes each step for every member before the next one for any.
func inTurn(o pass, members []facts.Replica, steps ...func(pass, facts.Replica) *proposal) *proposal {
	for _, step := range steps {
		for _, r := range members {
			if p := step(o, r); p != nil {
				return p
			}
		}
	}
	return nil
}

// act makes a change. A rule says why, and what the reader can do; what is done says the change itself.
func act(c changes.Change, because string, args ...any) *proposal {
	because = fmt.Sprintf(because, args...)
	return &proposal{Decision: Decision{Verdict: Act, Change: c, Reason: changes.KindOf(c), Because: because,
		Message: changes.WordsOf(c).Do() + ": " + because}}
}

func wait(reason, format string, args ...any) *proposal {
	return &proposal{Decision: Decision{Verdict: Wait, Reason: reason, Recheck: recheckWait,
		Message: fmt.Sprintf(format, args...)}}
}

func refuse(reason, format string, args ...any) *proposal {
	return &proposal{Decision: Decision{Verdict: Refuse, Reason: reason, Recheck: recheckSlow,
		Message: fmt.Sprintf(format, args...)}}
}

// byHuman marks a refusal that nothing but a person can end.
func (p *proposal) byHuman() *proposal { p.NeedsHuman = true; return p }

// answering has what is said reach the person who asked, beside all else that is said.
func (p *proposal) answering() *proposal { p.IsAnswer = true; return p }

// yielding lets later rules act.
func (p *proposal) yielding() *proposal { p.yields = true; return p }

// due turns a wait into a refusal once it lasts longer than its deadline.
func (p *proposal) due(o pass, since time.Time, deadline time.Duration) *proposal {
	if !since.IsZero() && o.Now.Sub(since) > deadline {
		p.Verdict, p.Overdue, p.Recheck = Refuse, true, recheckSlow
	}
	return p
}

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
	Reason  string         // CamelCase, for machines; of Act the name of the change
	Message string         // a sentence, for people; of Act what is done, and because of what
	Because string         // of Act
	GivenUp string         // of a member that is removed for a new one: DataLost or MemberDead

	// GivesWay: when Kubernetes or etcd refuses the change, the planner is asked again in the same pass, with that in
	// Refused, and later rules may act. A rule may give way in one phase and hold in another.
	GivesWay   bool
	NeedsHuman bool          // nothing but a person can end what is refused, or waited for
	Overdue    bool          // a wait past its deadline
	IsAnswer   bool          // it tells a person what holds a request up
	Recheck    time.Duration // look again after this long even if nothing is heard
	Trace      Trace         // how that came about
}

// Says is the message for people who did not ask for a list of steps: it says who does what is done.
func (d Decision) Says() string {
	if d.Change == nil {
		return d.Message
	}
	return "The operator " + changes.WordsOf(d.Change).Does() + ": " + d.Because
}

// Note is what the decision says.
func (d Decision) Note() facts.Note {
	return facts.Note{Rule: d.Rule, Reason: d.Reason, Message: d.Message, NeedsHuman: d.NeedsHuman, Overdue: d.Overdue,
		IsAnswer: d.IsAnswer}
}

// Trace is what each rule said that was asked, in that order.
type Trace []Said

// Said is what a rule said, with the guard's words where that held its change back.
type Said struct {
	facts.Note
	Verdict Verdict       // "" where it had nothing to say
	Ends    bool          // no later rule was asked
	Recheck time.Duration // of the rule's decision
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

// current is the view of the current incarnation.
func current(o facts.Observation) pass {
	o = asAsked(o)
	v := passOf(o.On(o.Current))
	v.Approved = approvals(v)
	return v
}
