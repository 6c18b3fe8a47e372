package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// aSleep is a settled cluster that fell asleep.
func aSleep(t *testing.T, seed uint64, size int) *World {
	t.Helper()
	w := New(seed, Spec3(size))
	w.Settle(600)
	w.Sleep()
	d, _ := w.Settle(200)
	if d.Reason != facts.ReasonAsleep || len(w.objects.pods) > 0 || len(w.Violations) > 0 {
		t.Fatalf("seed %d: %+v, %d Pods, %v\n%s", seed, d, len(w.objects.pods), w.Violations, firstStory(t, w))
	}
	return w
}

func TestAClusterThatSleptServesTheSameDataAtAnySizeAndVersion(t *testing.T) {
	each(t, seeds(18), func(t *testing.T, seed uint64) {
		w := aSleep(t, seed, []int{1, 3, 5}[seed%3])
		id, started := w.bootstrapped, w.started
		w.Spec.Size = []int{1, 3, 5}[seed/3%3]
		w.Spec.Settings.Version.Patch += int(seed % 2)
		w.expectMoved(t, seed)
		if c := w.written(); c == nil || c.id != id || w.objects.bootstrap.Asleep || w.started == started {
			t.Fatalf("seed %d: it is another cluster, or still called asleep\n%s", seed, firstStory(t, w))
		}
	})
}

func TestDataInPodsGoesToVolumesBeforeAClusterSleepsAndNoneIsLost(t *testing.T) {
	each(t, seeds(12), func(t *testing.T, seed uint64) {
		size := []int{1, 3, 5}[seed%3]
		spec := Spec3(size)
		spec.Storage = facts.Storage{Ephemeral: true}
		w := New(seed, spec)
		w.Settle(600)
		id := w.bootstrapped
		w.Spec.Storage = facts.Storage{}
		for range 23 * (seed / 3) { // some are on their way
			w.Advance()
			w.Pass()
		}
		w.Sleep()
		d, _ := w.Settle(2000)
		if d.Reason != facts.ReasonAsleep || len(w.objects.pods) > 0 || len(w.objects.volumes) < min(size, 3) ||
			len(w.Violations) > 0 {
			t.Fatalf("seed %d: %+v, %d Pods, %v\n%s", seed, d, len(w.objects.pods), w.Violations, firstStory(t, w))
		}
		w.Spec.Size = size
		w.expectMoved(t, seed)
		if c := w.written(); c == nil || c.id != id {
			t.Fatalf("seed %d: it is another cluster\n%s", seed, firstStory(t, w))
		}
	})
}

func TestOfAClusterThatSleepsNothingIsWritten(t *testing.T) {
	w := aSleep(t, 1, 3)
	w.LoseObject("demo")
	before := w.snapshot()
	for range 400 {
		w.Advance()
		w.Pass()
	}
	if w.hasChanged(before) {
		t.Errorf("something was\n%s", w.Story(20))
	}
}

func TestOneVolumeThatIsLostAsleepIsMadeUpForAwake(t *testing.T) {
	each(t, seeds(6), func(t *testing.T, seed uint64) {
		w := aSleep(t, seed, 3)
		w.DeleteVolume("demo-1")
		w.Wake()
		w.Spec.Size = 3
		w.expectMoved(t, seed)
	})
}

func TestAClusterThatIsDeletedAsleepIsResumedAsleep(t *testing.T) {
	each(t, seeds(6), func(t *testing.T, seed uint64) {
		w := aSleep(t, seed, 3)
		id, started := w.bootstrapped, w.started
		w.Recreate()
		d, _ := w.Settle(300)
		if d.Reason != facts.ReasonAsleep || w.started != started || !w.objects.bootstrap.Asleep {
			t.Fatalf("seed %d: %+v\n%s", seed, d, firstStory(t, w))
		}
		w.Spec.Size = 3
		w.expectMoved(t, seed)
		if w.written().id != id {
			t.Errorf("seed %d: it is another cluster\n%s", seed, firstStory(t, w))
		}
	})
}

func TestSleepThatIsTakenBackAtAnyMomentLosesNothing(t *testing.T) {
	each(t, moments(48), func(t *testing.T, seed uint64) {
		w := New(seed, Spec3(3))
		w.Settle(600)
		for range 2 {
			w.Sleep()
			for range seed / 2 {
				w.Advance()
				w.Pass()
			}
			w.Spec.Size = 3
			for range seed % 7 {
				w.Advance()
				w.Pass()
			}
		}
		w.expectMoved(t, seed)
	})
}

func TestAClusterThatSleepsNowAndThenBesideFaultsIsAwakeInTheEnd(t *testing.T) {
	k, _ := kindOf("sleep")
	for s := *first; s < *first+uint64(*times*8); s++ {
		w := k.tell(s, nil).w
		report(t, k, s, w)
	}
}
