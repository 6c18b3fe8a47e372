package world

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestADoomedMemberGoesFirstWhereItsPodKeepsItsSuccessorFromEveryNode(t *testing.T) {
	each(t, seeds(10), func(t *testing.T, seed uint64) {
		w := New(seed+1, Spec3(3+2*int(seed%2)))
		w.Nodes = w.Spec.Size
		w.Settle(600)
		doomedAt := w.Now
		w.DeleteVolume("demo-1")
		for count(w.Log, "shrink RemoveMember") == 0 && w.Now.Sub(doomedAt) < time.Hour {
			w.Advance()
			w.Pass()
		}
		if waited := w.Now.Sub(doomedAt); waited < facts.PlaceDeadline || waited > 2*facts.PlaceDeadline {
			t.Fatalf("seed %d: it went after %s\n%s", seed, waited, firstStory(t, w))
		}
		d, rests := w.Settle(1500)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 || w.objects.pods["demo-1"].UID != "" {
			t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
		}
	})
}

func TestOtherSettingsComeToTheMembersBesideADoomedOneWhoseSuccessorNoNodeTakes(t *testing.T) {
	each(t, seeds(5), func(t *testing.T, seed uint64) {
		w := New(seed+1, Spec3(3))
		w.Settle(600)
		w.Nowhere = true
		w.doomUnderOtherSettings()
		for name, p := range w.objects.pods {
			if isToHave := name != "demo-1"; isToHave != (p.Settings == w.Spec.Settings) || len(w.Violations) > 0 {
				t.Fatalf("seed %d: %s runs with %v: %v\n%s", seed, name, p.Settings, w.Violations, firstStory(t, w))
			}
		}
		w.Nowhere = false
		d, rests := w.Settle(1500)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
			t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
		}
	})
}

func TestNoMemberIsRestartedWhereTheSuccessorOfADoomedOneWouldTakeItsRoom(t *testing.T) {
	each(t, seeds(5), func(t *testing.T, seed uint64) {
		w := New(seed+1, Spec3(3))
		w.Nodes, w.Crowded = 3, "0/3 nodes are available: 3 Insufficient cpu."
		w.Settle(600)
		w.doomUnderOtherSettings()
		if count(w.Log, "EvictPod") > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, w.Violations, firstStory(t, w))
		}
		w.DeletePod("demo-1") // as the message says
		d, rests := w.Settle(1500)
		if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
			t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
		}
	})
}

// doomUnderOtherSettings deletes the volume of demo-1, asks for other settings and gives all that a quarter of an hour.
func (w *World) doomUnderOtherSettings() {
	w.DeleteVolume("demo-1")
	w.Spec.Settings.Inputs = "other"
	for since := w.Now; w.Now.Sub(since) < 3*facts.PlaceDeadline; {
		w.Advance()
		w.Pass()
	}
}
