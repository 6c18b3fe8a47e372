package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestOtherAmountsStopNoMemberUnlessItsNodeNeverHasRoomAndPuttingThemBackHeals(t *testing.T) {
	each(t, []int{1, 3}, func(t *testing.T, size int) {
		each(t, []bool{false, true}, func(t *testing.T, ephemeral bool) {
			spec := Spec3(size)
			spec.Ephemeral = ephemeral
			spec.Settings.Inputs, spec.Settings.Fixed = "small", "amounts"
			w := New(uint64(size), spec)
			w.Settle(600)
			for _, step := range []struct {
				inputs string
				stops  bool
			}{{"large", false}, {"small", false}, {hugeAmounts, true}, {"large", false}} {
				before := len(w.Log)
				w.Spec.Settings.Inputs = step.inputs
				d, rests := w.Settle(1500)
				if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
					t.Fatalf("size %d, ephemeral %v, %s: %+v %v\n%s", size, ephemeral, step.inputs, d, w.Violations,
						firstStory(t, w))
				}
				since := w.Log[before:]
				if stops := count(since, "EvictPod") + count(since, "RemoveMember"); (stops > 0) != step.stops {
					t.Fatalf("size %d, ephemeral %v, %s: %d members were stopped\n%s", size, ephemeral, step.inputs,
						stops, firstStory(t, w))
				}
				if count(since, "resize ResizePod") != size {
					t.Fatalf("size %d, ephemeral %v, %s: not each member once\n%s", size, ephemeral, step.inputs,
						firstStory(t, w))
				}
			}
		})
	})
}

func TestANodeThatHasNoRoomForAmountsHoldsBackTheOthers(t *testing.T) {
	spec := Spec3(3)
	spec.Settings.Inputs, spec.Settings.Fixed = "small", "amounts"
	w := New(1, spec)
	w.Settle(600)
	w.Spec.Settings.Inputs = "large"
	for range 50 {
		w.Pass() // and no kubelet answers
	}
	given := 0
	for _, p := range w.objects.pods {
		if p.Resize.State == facts.ResizeInProgress {
			given++
		}
	}
	if given != 1 || count(w.Log, "EvictPod") > 0 {
		t.Errorf("%d at a time\n%s", given, firstStory(t, w))
	}
}
