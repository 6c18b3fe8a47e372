package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// inPlaceEvents must happen in stories, or these prove nothing.
var inPlaceEvents = []string{
	"restore-begin BeginNext", "restore-prepare PrepareNext", "restore-prepare RecordRestored",
	"restore-prepare DeleteVolumes", "restore-prepare DeleteRestores",
	"restore-call-off DropNext", "restore-switch-over SwitchOver", "restore-fence MarkFormer",
	"restore-fence DeletePods", "restore-fence DeleteSecret",
	"collect DeleteVolumes: The restore asks to give up", "from Survivor", "restore-prepare MarkFlushed", "from Empty",
	"cut off", "created again",
}

func TestNoStoryOfARestoreInPlaceViolatesAnInvariantAndEveryOneComesToRest(t *testing.T) {
	outcomes, done, steps, moves := map[string]int{}, map[string]int{}, 0, map[int]int{}
	from, to := *first, *first+uint64(*stories)/4
	if *seed != 0 {
		from, to = *seed, *seed+1
	}
	for s := from; s < to; s++ {
		w, d, rests := playInPlace(s)
		steps += w.Steps
		if *seed != 0 {
			t.Logf("rests=%v %+v\n%s", rests, d, w.Story(len(w.Log)))
		}
		if len(w.Violations) > 0 || !rests {
			t.Fatalf("seed %d: rests=%v %+v %v\n%s", s, rests, d, w.Violations, w.Story(120))
		}
		outcomes[d.Reason]++
		moves[len(w.moves)]++
		for _, what := range inPlaceEvents {
			done[what] += mentions(w.Log, what)
		}
	}
	t.Logf("%d stories, %d steps, outcomes: %v, moves: %v, done: %v", to-from, steps, outcomes, moves, done)
	for _, what := range inPlaceEvents {
		if *seed == 0 && done[what] < int(to-from)/100 {
			t.Errorf("%q happened %d times only, which proves nothing", what, done[what])
		}
	}
	if *seed == 0 && outcomes[facts.ReasonSettled] < int(to-from)/2 {
		t.Fatalf("too few stories end settled for this to prove anything: %v", outcomes)
	}
}

// playInPlace is one story of a cluster that is restored in place, once or again and again, while things happen to it.
func playInPlace(s uint64) (*World, plan.Decision, bool) { return playInPlaceUnder(s, Hazards{}) }

// playInPlaceUnder is such a story under hazards, which end with it.
func playInPlaceUnder(s uint64, hazards Hazards) (*World, plan.Decision, bool) {
	spec := Spec3([]int{1, 3, 3, 3, 5}[s%5])
	spec.TLS, spec.Ephemeral = s%4 != 0, s%23 == 0
	w := New(s, spec)
	if d, rests := w.Settle(900); !rests {
		return w, d, false
	}
	w.Suffer(hazards)
	rate := 4 + w.rng.IntN(40)
	w.Ask(record.SourceBackup, "", true)
	for range 80 + w.rng.IntN(200) {
		w.Advance()
		if w.rng.IntN(rate) == 0 {
			w.inPlaceFaultOrOther()
		}
		if w.rng.IntN(4) > 0 {
			w.StalePass()
		}
		if len(w.Violations) > 0 {
			return w, plan.Decision{}, false
		}
	}
	w.Spec.Paused, w.Spec.Choices = false, spec.Choices
	w.ToggleQuota(false)
	w.SpoilBackups(false)
	w.Calm()
	w.Reconnect()
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	if s%2 == 0 {
		w.objects.requests = nil
	} else {
		w.Approve()
	}
	d, rests := w.Settle(3000)
	return w, d, rests
}
