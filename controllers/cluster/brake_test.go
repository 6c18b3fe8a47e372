package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

func TestAChangeThatChangesNothingIsRepeatedMoreAndMoreSlowly(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	var waits []time.Duration
	for range 9 {
		undo(w)
		result, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key})
		if err != nil {
			t.Fatal(err)
		}
		if w.isUndone() {
			t.Fatalf("nothing was written after %s", waits)
		}
		waits = append(waits, result.RequeueAfter)
		undo(w)
		w.now = w.now.Add(result.RequeueAfter / 2)
		if result.RequeueAfter >= time.Second { // a pass that something else began meanwhile
			w.checkHeld(result.RequeueAfter / 2)
		}
		w.now = w.now.Add(result.RequeueAfter - result.RequeueAfter/2)
	}
	want := []time.Duration{kit.AfterChange, kit.AfterChange, 1, 2, 4, 8, 16, 30, 30}
	for i := range waits {
		if want[i] < kit.AfterChange {
			want[i] *= time.Second
		}
		if waits[i] != want[i] {
			t.Fatalf("it waits %s, want %s", waits, want)
		}
	}
	w.settle()
	undo(w)
	if result, err := w.pass(); err != nil || result.RequeueAfter != kit.AfterChange {
		t.Errorf("after a pass with nothing to do it waits %s: %v", result.RequeueAfter, err)
	}
}

// undo takes away what the operator wants the client Service to be.
func undo(w *world) {
	w.t.Helper()
	service := w.service()
	service.Spec.Selector = map[string]string{"somebody": "else"}
	if err := w.kube.Update(w.t.Context(), service); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) checkHeld(rest time.Duration) {
	w.t.Helper()
	result, err := w.operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	if err != nil {
		w.t.Fatal(err)
	}
	if !w.isUndone() {
		w.t.Error("it was written to")
	}
	if result.RequeueAfter > rest {
		w.t.Errorf("it looks again in %s, and may go on in %s", result.RequeueAfter, rest)
	}
}

func (w *world) isUndone() bool { return w.service().Spec.Selector["somebody"] != "" }

func (w *world) service() *corev1.Service {
	w.t.Helper()
	service := &corev1.Service{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: "demo"}, service); err != nil {
		w.t.Fatal(err)
	}
	return service
}
