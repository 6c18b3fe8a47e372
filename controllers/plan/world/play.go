package world

import (
	"errors"
	"fmt"
	"slices"

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
	return d
}

// StalePass is a pass on a lagging cache, by an operator that may die in the middle of it.
func (w *World) StalePass() plan.Decision {
	life := immortal
	if w.rng.IntN(3) == 0 {
		life = w.rng.IntN(4)
	}
	if w.isAny(w.trouble.Overlap, w.trouble.Installs, w.trouble.OlderRelease) && w.rng.IntN(3) == 0 {
		return w.otherPass(life)
	}
	return w.take(w.ObserveStale(), life)
}

// take carries out the first change that is not refused: a rule whose change is refused gives way, if it may.
func (w *World) take(o facts.Observation, life int) plan.Decision {
	w.ledger.looks++
	return w.takeOn(w.ledger.looks, o, life)
}

// takeOn acts on a look that was taken some time ago.
func (w *World) takeOn(look int, o facts.Observation, life int) plan.Decision {
	w.ledger.acting = look
	for {
		d := plan.Decide(o)
		if d.Change == nil {
			return d
		}
		err := w.Apply(d.Change, o.Refused, life)
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
		w.Advance()
		d = w.Pass()
		w.checkRest(d)
		if w.IsUnsafe() {
			return d, false
		}
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
	case d.Verdict == plan.Settled:
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
		return slices.Contains([]string{facts.ReasonNotSupported, facts.ReasonAlarm}, d.Reason) || w.isForPeople(d)
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
	return isUnheard && d.Reason == facts.ReasonGuard || d.Overdue && (isUnheard || w.hasUnproven())
}

// Fault does one thing to the world that people and machines do, chosen by the seed.
func (w *World) Fault() {
	faults := []func(string){
		w.DeletePod, w.DeletePod, w.loseMember, w.DeleteVolume, w.KillContainer, w.KillContainer, w.WipeDisk, w.EndPod,
		w.StripSeal,
		w.Freeze, w.Isolate, w.Hide, w.LoseNode, w.Undress, w.StripInputs,
		func(string) { w.LoseObject("demo") },
		func(string) { w.DeletePeerService() },
		func(string) { w.Cure() },
		func(string) { w.ReturnNodes() },
		func(string) { w.ToggleQuota(!w.refusing) },
		func(string) { w.Recreate() },
		func(string) { w.DeleteTrial() },
		func(string) { w.changeSpec() }, func(string) { w.changeSpec() }, func(string) { w.changeSpec() },
		func(string) { w.changeSpec() },
	}
	faults = append(faults, w.hazardFaults()...)
	if w.hasRestores() {
		faults = append(faults, w.restoreFaults()...)
	}
	faults[w.rng.IntN(len(faults))](w.anyName())
}

// loseMember deletes a member's Pod and its volume.
func (w *World) loseMember(name string) {
	w.DeletePod(name)
	w.DeleteVolume(name)
}

func (w *World) anyName() string {
	names := sortedKeys(w.objects.pods)
	if len(names) == 0 {
		return ""
	}
	return names[w.rng.IntN(len(names))]
}

// changeSpec is a user who changes their mind.
func (w *World) changeSpec() {
	switch w.rng.IntN(5) {
	case 0:
		w.Spec.Paused = !w.Spec.Paused
	case 1:
		w.Spec.Choices.Version.Patch = []int{15, 16, 17}[w.rng.IntN(3)]
	case 2:
		w.Spec.Choices.Inputs = []string{"a", "b", "broken", "never-serves", "unheard"}[w.rng.IntN(5)]
		c := w.Spec.Choices
		w.Broken[c], w.NeverServes[c] = c.Inputs == "broken", c.Inputs == "never-serves"
		w.Unheard[c] = c.Inputs == "unheard"
	default:
		w.Spec.Size = []int{1, 3, 5}[w.rng.IntN(3)]
	}
	w.logf("spec: size %d, version %s, inputs %s, paused %v", w.Spec.Size, w.Spec.Choices.Version,
		w.Spec.Choices.Inputs, w.Spec.Paused)
}

// Play runs one story: a cluster is created, and for so many steps things happen to it while operators, up to two at
// once and with lagging caches, look after it. With faults they are also made to happen.
func Play(seed uint64, spec facts.Desired, steps int, faults bool) *World {
	w := New(seed, spec)
	w.suffer(steps, faults)
	return w
}

// suffer lets so many steps go by.
func (w *World) suffer(steps int, faults bool) {
	rate := 4 + w.rng.IntN(60)
	for range steps {
		w.Advance()
		if faults && w.rng.IntN(rate) == 0 {
			w.Fault()
		}
		if w.rng.IntN(4) > 0 {
			w.StalePass()
		}
		if w.IsUnsafe() {
			break
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
