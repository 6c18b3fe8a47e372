package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan"
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
		if w.IsUnsafe() {
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
