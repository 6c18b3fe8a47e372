package world

import (
	"maps"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
)

// Otherwise a seed would replay nothing once the planner changed.
func TestWhatTheOperatorDoesChangesNoLaterFault(t *testing.T) {
	for name, more := range map[string]func(*World){
		"an effect more": func(w *World) {
			_ = w.effect(changes.SetBudget{MinAvailable: w.objects.budget}, immortal, nil)
		},
		"a pass more": func(w *World) { w.Pass() },
		"much less":   func(w *World) { w.Spec.Paused = !w.Spec.Paused },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, seeds(12), func(t *testing.T, seed uint64) { haveSameFaults(t, seed+1, more) })
		})
	}
}

// haveSameFaults tells one story twice, the second time with something more at its 40th step. The same faults must hit
// the same members, of those that are there in both.
func haveSameFaults(t *testing.T, seed uint64, more func(*World)) {
	t.Helper()
	usual, other := New(seed, Spec3(3)), New(seed, Spec3(3))
	usual.suffer(40, 10, usual.Fault)
	other.suffer(40, 10, other.Fault)
	more(other)
	faults := 0
	for range 100 {
		usual.Advance()
		other.Advance()
		hasSamePods := maps.Equal(keys(usual.objects.pods), keys(other.objects.pods))
		a, b := faultOf(usual), faultOf(other)
		if a.moment != b.moment || hasSamePods && a.Does != b.Does {
			t.Fatalf("%q, and %q in the other story\n%s", a, b, firstStory(t, other))
		}
		if a.Does != "" && hasSamePods {
			faults++
		}
		usual.StalePass()
		other.StalePass()
	}
	if faults == 0 {
		t.Error("no fault was compared")
	}
}

// faultOf is the fault of this step, if there is one.
func faultOf(w *World) Deed {
	if w.chance(5, "a fault happens", "") > 0 {
		return Deed{}
	}
	w.Fault()
	return w.Deeds[len(w.Deeds)-1]
}
