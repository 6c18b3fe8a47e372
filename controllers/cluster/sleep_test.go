package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// isAsleep reports that nothing is left to do for a cluster with size 0.
func (w *world) isAsleep() bool {
	step := w.status().NextStep
	return step != nil && step.Reason == facts.ReasonAsleep && len(w.pods()) == 0
}

func TestAClusterSleepsAndWakesOnItsVolumesAndMeanwhileNothingIsWritten(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	id, claims := w.status().ClusterID, w.uidsOf(&corev1.PersistentVolumeClaimList{})
	w.resize(0)
	w.until("it sleeps", w.isAsleep)
	if budgets := w.uidsOf(&policyv1.PodDisruptionBudgetList{}); len(budgets) > 0 {
		t.Errorf("a budget is left: %v", budgets)
	}
	w.some(10)
	w.writes = nil
	w.delete(&corev1.Service{}, "demo")
	w.writes = nil
	for range 30 {
		w.now = w.now.Add(24 * time.Hour) // beyond the end of certificates
		w.some(3)
	}
	if len(w.writes) > 0 {
		t.Errorf("while it slept was written: %v", w.writes)
	}
	status := w.status()
	if available := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable); available.Reason != facts.ReasonAsleep ||
		status.Size != 0 || len(status.Members) != 3 || status.ClusterID != id {
		t.Errorf("%+v", status)
	}
	w.resize(3)
	w.settle()
	if now := w.uidsOf(&corev1.PersistentVolumeClaimList{}); len(now) != 3 || now["demo-0"] != claims["demo-0"] || w.status().ClusterID != id {
		t.Errorf("it is another cluster: %v, was %v", now, claims)
	}
	if w.bootstrapRecord().Asleep {
		t.Error("its record still says that it sleeps")
	}
}

func TestAnOperatorThatIsKilledAfterAnyWriteOfSleepAndWakingGoesOn(t *testing.T) {
	for _, crash := range []int{1, 2, 4, 6, 9} {
		w := newWorld(t, demo(3))
		w.settle()
		id := w.status().ClusterID
		w.crashAt = len(w.writes) + crash
		w.resize(0)
		w.until("it sleeps", w.isAsleep)
		w.resize(3)
		w.settle()
		if w.status().ClusterID != id {
			t.Errorf("killed after write %d it is another cluster", crash)
		}
	}
}
