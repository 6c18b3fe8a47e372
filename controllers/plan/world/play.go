package world

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// immortal is an incarnation that no change outlasts.
const immortal = 1 << 20

// Pass is one pass of the operator on what it sees. It returns the decision.
func (w *World) Pass() plan.Decision {
	w.ledger.isFresh = true
	d := w.take(w.Observe(), immortal)
	w.ledger.isFresh = false
	w.checkClaim(d)
	w.checkNoNeed(d)
	return d
}

// StalePass is a pass on a lagging cache, by an operator that may die in the middle of it.
func (w *World) StalePass() plan.Decision {
	effects := immortal
	if w.chance(3, "the operator dies", "") == 0 {
		effects = w.doCount(deedDeath, w.chance(4, "effects before it dies", ""), immortal)
	}
	if (w.trouble.Overlap || w.trouble.Installs) && w.chance(3, "another operator", "") == 0 {
		return w.otherPass(effects)
	}
	return w.take(w.ObserveStale(), effects)
}

// take carries out the first change that is not refused: a rule whose change is refused gives way, if it may.
func (w *World) take(o facts.Observation, effects int) plan.Decision {
	w.ledger.looks++
	return w.takeOn(w.ledger.looks, o, effects)
}

// takeOn acts on a look that was taken some time ago.
func (w *World) takeOn(look int, o facts.Observation, effects int) plan.Decision {
	w.ledger.acting = look
	for {
		d := plan.Decide(o)
		w.ledger.decide(d)
		if d.Change == nil {
			return d
		}
		w.ledger.ca = o.Objects[0].Holds
		err := w.Apply(d.Change, o.Refused, effects)
		w.logf("%s %s: %s (err=%v)", d.Rule, changes.KindOf(d.Change), d.Message, err)
		if !errors.Is(err, errRefused) || !d.GivesWay {
			return d
		}
		o.Refused = append(o.Refused, facts.Note{Rule: d.Rule, Reason: "QuotaExceeded", Message: err.Error()})
	}
}

// Settle lets time pass without faults until the operator has nothing to do, and returns the last decision and whether
// it is a rest: settled, or refused for a reason that only a person can end. A cluster of which enough is left must
// settle.
func (w *World) Settle(passes int) (plan.Decision, bool) {
	var d plan.Decision
	quiet := 0
	w.ledger.effects = map[string]int{}
	defer func() { w.ledger.effects, w.ledger.settled = nil, nil }()
	for range passes {
		if w.IsUnsafe() {
			break
		}
		w.Advance()
		d = w.Pass()
		w.checkRest(d)
		if w.isRest(d) {
			quiet++
		} else {
			quiet = 0
		}
		if quiet > 60 {
			return d, true
		}
	}
	return d, false
}

func (w *World) isRest(d plan.Decision) bool {
	switch {
	case d.Verdict == plan.Settled || isLeftAlone(d.Reason):
		return true
	case d.Verdict != plan.Refuse:
		return false
	case w.isForGood(d):
		return true
	case w.hasIll(hidden, isolated):
		return true // nothing is taken from a member that somebody still reaches
	case w.isForPeopleToSay():
		return d.NeedsHuman || d.Overdue
	case w.Recoverable():
		return slices.Contains([]string{facts.ReasonNotSupported, facts.ReasonAlarm, facts.ReasonAuthByHand},
			d.Reason) || w.isForPeople(d)
	}
	return d.NeedsHuman || d.Overdue || w.isForPeople(d)
}

// isForPeopleToSay reports that only a person may know what is true: which copy is right, or of which incarnation a
// volume was.
func (w *World) isForPeopleToSay() bool { return w.hasLiar() || w.hasEdited() }

// isForGood reports a refusal that only a person ends, however the world goes on.
func (w *World) isForGood(d plan.Decision) bool {
	// the names of the first members went with the peer Service
	isOfRecord := w.recordLost && d.Overdue || d.Reason == facts.ReasonRecordLost
	return isOfRecord || w.isForRestore(d) || isUnrestorable(d) || w.isOfCopies(d)
}

// isOfCopies reports that a person is asked because members were said to hold different data, and one of them holds
// none any more that could be compared.
func (w *World) isOfCopies(d plan.Decision) bool {
	c := w.written()
	if d.Reason != facts.ReasonCorruption || !d.NeedsHuman || c == nil || !w.hasSpokenOfCorruption(c) {
		return false
	}
	good, voters := w.copies(c)
	return good < voters
}

// isForPeople reports a refusal while members are there whose settings may be what keeps them from answering: ones that
// serve by their kubelets' word, from which nothing is taken, and ones that nobody else can speak for.
func (w *World) isForPeople(d plan.Decision) bool {
	isUnheard := w.hasUnheard() && (w.Spec.Ephemeral || len(w.objects.pods) > 1)
	return isUnheard && facts.IsVeto(d.Reason) || d.Overdue && (isUnheard || w.hasUnproven() || w.isSentAway())
}

// fault is what people and machines do, so many times as often as others. Most of them hit one Pod.
type fault struct {
	name   string
	weight int
	do     func(name string)
}

// by is a fault that hits no Pod.
func by(do func()) func(string) { return func(string) { do() } }

// Fault does one thing to the world that people and machines do, chosen by the seed.
func (w *World) Fault() {
	faults := append([]fault{
		{"DeletePod", 2, w.DeletePod}, {"loseMember", 1, w.loseMember}, {"DeleteVolume", 1, w.DeleteVolume},
		{"KillContainer", 2, w.KillContainer}, {"WipeDisk", 1, w.WipeDisk}, {"EndPod", 1, w.EndPod},
		{"StripSeal", 1, w.StripSeal}, {"Freeze", 1, w.Freeze}, {"Isolate", 1, w.Isolate}, {"Hide", 1, w.Hide},
		{"LoseNode", 1, w.LoseNode}, {"Undress", 1, w.Undress}, {"StripInputs", 1, w.StripInputs},
		{"LoseObject", 1, func(string) { w.LoseObject("demo") }},
		{"DeletePeerService", 1, by(w.DeletePeerService)},
		{"Cure", 1, by(w.Cure)}, {"ReturnNodes", 1, by(w.ReturnNodes)},
		{"ToggleQuota", 1, func(string) { w.ToggleQuota(!w.refusing) }},
		{"Recreate", 1, by(w.Recreate)}, {"changeSpec", 4, by(w.changeSpec)},
	}, w.hazardFaults()...)
	if w.hasRestores() {
		faults = append(faults, w.restoreFaults()...)
	}
	w.strike(faults)
}

// strike lets one of these happen. Each draws a number, as Pods do: those that a hazard adds change nothing but what
// they take the place of.
func (w *World) strike(faults []fault) {
	var tickets []string
	for _, f := range faults {
		for n := range f.weight {
			tickets = append(tickets, fmt.Sprint(f.name, "#", n))
		}
	}
	drawn, _, _ := strings.Cut(w.oneOf("fault", tickets), "#")
	name, victim, _ := strings.Cut(w.do(deedFault, drawn+" "+w.oneOf("victim", sortedKeys(w.objects.pods))), " ")
	for _, f := range faults {
		if f.name == name {
			f.do(victim)
		}
	}
}

// loseMember deletes a member's Pod and its volume.
func (w *World) loseMember(name string) {
	w.DeletePod(name)
	w.DeleteVolume(name)
}

// changeSpec is a user who changes their mind.
func (w *World) changeSpec() {
	switch w.chance(5, "what the user changes", "") {
	case 0:
		w.Spec.Paused = !w.Spec.Paused
	case 1:
		w.Spec.Settings.Version.Patch = []int{15, 16, 17}[w.chance(3, "patch", "")]
	case 2:
		w.Spec.Settings.Inputs = []string{"a", "b", "broken", "never-serves", "unheard"}[w.chance(5, "inputs", "")]
		w.Spec.Settings.Fixed = ""
		c := w.Spec.Settings
		w.Broken[c], w.NeverServes[c] = c.Inputs == "broken", c.Inputs == "never-serves"
		w.Unheard[c] = c.Inputs == "unheard"
	default:
		w.Spec.Size = []int{1, 3, 5}[w.chance(3, "size", "")]
	}
	w.logf("spec: size %d, version %s, inputs %s, paused %v", w.Spec.Size, w.Spec.Settings.Version,
		w.Spec.Settings.Inputs, w.Spec.Paused)
}

// suffer lets so many steps go by: things happen to a cluster, a fault in one of `once` of them, while operators, up to
// two at once and with lagging caches, look after it.
func (w *World) suffer(steps, once int, fault func()) {
	for range steps {
		w.Advance()
		if w.chance(once, "a fault happens", "") == 0 {
			fault()
		}
		if w.chance(4, "the operator looks", "") > 0 {
			w.StalePass()
		}
		if w.IsUnsafe() {
			return
		}
	}
}

// Story prints what happened, for a failure to be read.
func (w *World) Story(last int) string {
	from := max(0, len(w.Log)-last)
	out := ""
	for i, line := range w.Log[from:] {
		out += fmt.Sprintf("%4d %s\n", from+i, line)
	}
	return out
}
