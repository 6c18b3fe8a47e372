package world

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestASecondInstallLeavesAClusterWhosePeerServiceIsDeletedToTheFirst(t *testing.T) {
	for _, spec := range []facts.Desired{Spec3(3), inMemory(Spec3(3))} {
		w := New(1, spec)
		if _, rests := w.Settle(3000); !rests || len(w.Violations) > 0 {
			t.Fatalf("it does not come to rest: %v\n%s", w.Violations, w.Story(40))
		}
		first := w.Cluster.Operator
		w.DeletePeerService()
		w.Cluster.Operator = "another install"
		for range 20 {
			w.Advance()
			if d := w.Pass(); d.Reason != facts.ReasonOtherOperator || len(w.Violations) > 0 {
				t.Fatalf("it says %s: %v", d.Reason, w.Violations)
			}
		}
		w.Cluster.Operator = first
		w.Pass()
		if w.objects.claim != first || len(w.Violations) > 0 {
			t.Fatalf("claimed by %q: %v", w.objects.claim, w.Violations)
		}
	}
}

func inMemory(spec facts.Desired) facts.Desired {
	spec.Ephemeral, spec.Retain = true, false
	return spec
}

func TestOfTwoInstallsOneLooksAfterAClusterUnderEveryFault(t *testing.T) {
	for seed := range uint64(40) {
		told := &tale{seed: seed}
		playHazard(told, Hazards{Installs: true})
		if w := told.w; len(w.Violations) > 0 {
			t.Errorf("seed %d: %v", seed, w.Violations)
		}
	}
}
