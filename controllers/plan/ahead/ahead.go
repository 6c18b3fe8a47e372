// Package ahead foretells what the planner will decide, step by step. It is pure: it asks plan.Decide, makes of what
// was observed what the change makes of it when all goes well, and asks again. What no change makes, such as the
// passing of time, is a step of its own.
//
// It keeps what was observed as it is, but for what changes touch. What Kubernetes and etcd do by themselves happens at
// once after each change: Pods start and serve, volumes are made, members catch up. Whatever goes wrong later, and what
// people do meanwhile, is not foreseen. The tests hold it to the simulator, and to the operator itself.
package ahead

import (
	"fmt"
	"reflect"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// Step is what happens next.
type Step struct {
	plan.Decision               // with a change, or with what is waited for
	Wait          time.Duration // how long it waits for time to pass; zero for what ends by itself once all goes well
}

// Does is what a step changes, in words. IDs that etcd will give are in no forecast.
func (s Step) Does() string {
	if _, isNamed := s.Change.(changes.RecordBootstrap); isNamed {
		return "Record the cluster ID"
	}
	return changes.WordsOf(s.Change).Do()
}

// Forecast is what happens, step by step.
type Forecast struct {
	Steps []Step
	End   plan.Decision // what is said once no step follows
	Cut   string        // why nothing is foretold after the last step, as a sentence; then End is nothing
	// Unread is what could not be read, and what is taken for granted in its place, as sentences; or ""
	Unread string
}

// Changes are the steps that change something.
func (f Forecast) Changes() []changes.Change {
	var out []changes.Change
	for _, s := range f.Steps {
		if s.Change != nil {
			out = append(out, s.Change)
		}
	}
	return out
}

// Spec is what a cluster asks for.
type Spec struct {
	Of func(facts.Observation) facts.Desired // in an observation that is foretold
	// Compares: what a member holds is compared with what the others do, once it started from its data
	Compares bool
	// SeesDrains: whether the node of a new member is drained will be known
	SeesDrains bool
}

// mostSteps bounds a forecast. A cluster of seven whose minor changes twice takes fewer than half of them.
const mostSteps = 1000

// Of is what the planner will decide from here on.
func Of(seen facts.Observation, spec Spec) Forecast {
	var f Forecast
	w := modelOf(seen, spec)
	for len(f.Steps) < mostSteps {
		d := plan.Decide(w.look())
		switch {
		case d.Change != nil:
			if f.Cut = w.cut(f, d); f.Cut != "" {
				return f
			}
			f.Steps = append(f.Steps, Step{Decision: d})
			if !w.make(d.Change) {
				f.Cut = fmt.Sprintf("What follows depends on what this finds (%s). Ask again once it is done.",
					changes.KindOf(d.Change))
				return f
			}
			w.goOn()
		case d.Verdict == plan.Settled:
			f.End = d
			return f
		case w.goOn():
			f.Steps = append(f.Steps, Step{Decision: d})
		default:
			wait := w.untilNext()
			if wait == 0 {
				f.End = d
				return f
			}
			f.Steps = append(f.Steps, Step{Decision: d, Wait: wait})
			w.o.Now = w.o.Now.Add(wait)
		}
	}
	f.Cut = fmt.Sprintf("No more than %d steps are foretold.", mostSteps)
	return f
}

// cut says why no step follows although a change is decided, or "": the last one has not changed what it was for.
func (w *model) cut(f Forecast, d plan.Decision) string {
	if n := len(f.Steps); n == 0 || !reflect.DeepEqual(f.Steps[n-1].Change, d.Change) {
		return ""
	}
	return "The last step is repeated until it has the effect that it is made for. How often is not foretold."
}

// Waits for time: the first one that is tried, and the last.
const (
	firstWait = time.Second
	lastWait  = 400 * 24 * time.Hour
)

// untilNext is the shortest time after which something is changed though nothing else happens, in seconds; zero where
// no time brings that. It finds the first of its doublings, and then halves what is between that and the one before.
func (w *model) untilNext() time.Duration {
	acts := func(after time.Duration) bool {
		later := *w
		later.o.Now = w.o.Now.Add(after)
		return plan.Decide(later.look()).Change != nil
	}
	until := firstWait
	for ; !acts(until); until *= 2 {
		if until > lastWait {
			return 0
		}
	}
	from := until / 2
	for until-from > time.Second {
		if half := (from + (until-from)/2).Round(time.Second); acts(half) {
			until = half
		} else {
			from = half
		}
	}
	return until
}
