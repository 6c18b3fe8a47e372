package observe_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// waitingForVolume holds demo-1, whose Pod the scheduler does not place because its claim, of class "a", is unbound.
func waitingForVolume(t *testing.T) (w *world, claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) {
	w = newWorld(t)
	w.cluster.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: new("a")}
	claim, pod = w.volume("demo-1"), w.pod("demo-1", resources.StartBootstrap)
	claim.Status.Phase, pod.Spec.NodeName = corev1.ClaimPending, ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "pod has unbound immediate PersistentVolumeClaims",
	}}}
	w.put(claim)
	w.put(pod)
	return w, claim, pod
}

// lookWith looks while Kubernetes warns of each object in this way.
func (w *world) lookWith(reason string) facts.Replica {
	w.t.Helper()
	o := w.observer()
	o.Warning = func(context.Context, string, types.UID) *corev1.Event {
		return &corev1.Event{Reason: reason, Message: `storageclass.storage.k8s.io "a" not found`}
	}
	view, _, err := o.Observe(w.t.Context(), w.cluster, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return view.Current.Find("demo-1")
}

func TestAVolumeThatCannotBeMadeSaysWhy(t *testing.T) {
	const missing = `storageclass.storage.k8s.io "a" not found`
	for name, row := range map[string]struct {
		reason string
		edit   func(*corev1.PersistentVolumeClaim, *corev1.Pod)
		want   string
	}{
		"as Kubernetes says":     {"ProvisioningFailed", func(*corev1.PersistentVolumeClaim, *corev1.Pod) {}, missing},
		"unless that is another": {"FailedMount", func(*corev1.PersistentVolumeClaim, *corev1.Pod) {}, ""},
		"unless it was made": {"ProvisioningFailed", func(claim *corev1.PersistentVolumeClaim, _ *corev1.Pod) {
			claim.Spec.VolumeName, claim.Status.Phase = "pv-1", corev1.ClaimBound
		}, ""},
		"unless its Pod has a node": {"ProvisioningFailed", func(_ *corev1.PersistentVolumeClaim, pod *corev1.Pod) {
			pod.Status.Conditions = nil
		}, ""},
	} {
		w, claim, pod := waitingForVolume(t)
		row.edit(claim, pod)
		if got := w.lookWith(row.reason).Volume.Unmade; got != row.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestARestoreThatWaitsForItsVolumeSaysWhy(t *testing.T) {
	w, _, pod := waitingForVolume(t)
	w.remove(pod)
	restore := w.restorePod("demo-1")
	restore.Status.Conditions = pod.Status.Conditions
	w.put(restore)
	if got := w.lookWith("ProvisioningFailed").Restoring; got.Waiting != "ProvisioningFailed" ||
		got.Message != `storageclass.storage.k8s.io "a" not found` {
		t.Errorf("%+v", got.Task)
	}
}

func TestAVolumeSaysWhichClassItIsOfAndForWhichItWasMade(t *testing.T) {
	w, claim, _ := waitingForVolume(t)
	claim.Spec.StorageClassName = new("of-a-webhook")
	w.cluster.Spec.Storage.StorageClassName = new("b")
	if v := w.lookWith("").Volume; v.Class != "of-a-webhook" || v.MadeFor != "a" {
		t.Errorf("%+v", v)
	}
	if d := w.look().Desired; d.StorageClass != "b" {
		t.Errorf("the spec asks for b, and %q is wanted", d.StorageClass)
	}
}
