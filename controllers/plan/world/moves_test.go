package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// pooled is a settled cluster in the pool "a", on volumes of the class "a".
func pooled(seed uint64) *World {
	spec := Spec3([]int{1, 3, 5}[seed%3])
	spec.Settings.Inputs, spec.StorageClass = inPool("a"), "a"
	w := New(seed, spec)
	w.Settle(600)
	return w
}

// expectMoved lets the cluster come to rest, as the spec asks by then.
func (w *World) expectMoved(t *testing.T, seed uint64) {
	t.Helper()
	d, rests := w.Settle(4000)
	if !rests || d.Verdict != plan.Settled || len(w.Violations) > 0 {
		t.Fatalf("seed %d: %+v %v\n%s", seed, d, w.Violations, firstStory(t, w))
	}
}

func TestMembersMoveToAnotherPoolOrClassAndNoVoteIsAwayMeanwhile(t *testing.T) {
	each(t, seeds(6), func(t *testing.T, seed uint64) {
		w := pooled(4*seed + 2) // the operator reads nodes
		if seed%2 == 0 {
			w.Spec.Settings.Inputs = inPool("b")
		} else {
			w.Spec.StorageClass = "b"
		}
		w.expectMovedWithoutAStop(t, seed)
	})
}

// expectMovedWithoutAStop expects as many voters as the size asks for, all the while that members move, and none that
// is stopped for it.
func (w *World) expectMovedWithoutAStop(t *testing.T, seed uint64) {
	t.Helper()
	for range 700 {
		w.Advance()
		w.Pass()
		if up := w.upVoters(w.written()); up < w.Spec.Size {
			t.Fatalf("seed %d: %d of %d voters serve\n%s", seed, up, w.Spec.Size, firstStory(t, w))
		}
	}
	w.expectMoved(t, seed)
	if count(w.Log, "EvictPod") > 0 {
		t.Fatalf("seed %d: a member was stopped\n%s", seed, firstStory(t, w))
	}
}

func TestDataInPodsAndVolumesAreExchangedAndNoVoteIsAwayMeanwhile(t *testing.T) {
	media := []facts.Storage{{}, {Ephemeral: true}, {Ephemeral: true, Medium: "Memory"}}
	each(t, seeds(12), func(t *testing.T, seed uint64) {
		spec := Spec3([]int{1, 3, 5}[seed%3])
		spec.Storage = media[seed%2]
		w := New(seed, spec)
		w.Settle(600)
		w.Spec.Storage = media[(seed%2+1+seed/6%2)%3]
		w.expectMovedWithoutAStop(t, seed)
		if onVolumes := len(w.objects.volumes); w.Spec.Ephemeral == (onVolumes > 0) {
			t.Fatalf("seed %d: %d volumes\n%s", seed, onVolumes, firstStory(t, w))
		}
	})
}

func TestAMoveThatIsPutBackMidwayLeadsBack(t *testing.T) {
	each(t, seeds(24), func(t *testing.T, seed uint64) {
		w := pooled(4*seed + 2*(seed%2)) // in half of them the operator reads nodes
		was := w.Spec
		w.Spec.Settings.Inputs, w.Spec.StorageClass = inPool("b"), "b"
		for range 17 * seed {
			w.Advance()
			w.Pass()
		}
		w.Spec = was
		w.expectMoved(t, seed)
	})
}

func TestWhereNodesAreNotReadAMemberThatNoNodeTakesServesOnUntilItIsSucceeded(t *testing.T) {
	each(t, seeds(3), func(t *testing.T, seed uint64) {
		w := pooled(12*seed + 4) // of three members, and the operator reads no nodes
		w.Spec.Settings.Inputs = inPool("b")
		w.expectMoved(t, seed)
		if count(w.Log, "MarkVolume") == 0 {
			t.Fatalf("seed %d: none was found out too late\n%s", seed, firstStory(t, w))
		}
	})
}
