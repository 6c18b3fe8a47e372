package world

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// inPlaceEvents must happen in stories, or these prove nothing.
var inPlaceEvents = []string{
	"restore-begin BeginNext", "restore-prepare PrepareNext", "restore-prepare RecordRestored",
	"restore-prepare DeleteVolumes", "restore-prepare DeleteRestores",
	"restore-call-off DropNext", "restore-switch-over SwitchOver", "restore-fence MarkFormer", "restore-go-back GoBack", "restore-fence MarkCurrent",
	"restore-fence DeletePods", "restore-fence DeleteSecret",
	"collect DeleteVolumes: The restore asks to give up", "from Survivor", "restore-prepare MarkFlushed", "from Empty",
	"cut off", "created again",
}

// playInPlace is one story of a cluster that is restored in place, once or again and again, while things happen to it.
func playInPlace(t *tale) (plan.Decision, bool) { return playInPlaceUnder(t, Hazards{}) }

// playInPlaceUnder is such a story under hazards, which end with it.
func playInPlaceUnder(t *tale, hazards Hazards) (plan.Decision, bool) {
	s := t.seed
	spec := Spec3([]int{1, 3, 3, 3, 5}[s%5])
	spec.TLS, spec.Ephemeral = s%4 != 0, s%23 == 0
	w := t.begin(spec)
	if d, rests := w.Settle(900); !rests {
		return d, false
	}
	w.Steps = 1000 // however soon it settled
	w.Suffer(hazards)
	w.Ask(record.SourceBackup, "", true)
	w.suffer(80+w.chance(200, "steps", ""), 4+w.chance(40, "rate", ""), w.inPlaceFaultOrOther)
	w.Spec.Paused, w.Spec.Settings = false, spec.Settings
	w.ToggleQuota(false)
	w.SpoilBackups(false)
	w.FillNodes(false)
	w.Calm()
	w.Reconnect()
	if s%3 == 0 {
		w.Cure()
		w.ReturnNodes()
	}
	switch {
	case s%2 == 0:
		w.objects.requests = nil
	case plan.WayBack(w.Observe()) != "":
		w.objects.requests = nil
		w.Ask(record.SourcePrevious, "", true)
	default:
		w.Approve()
	}
	return w.Settle(3000)
}
