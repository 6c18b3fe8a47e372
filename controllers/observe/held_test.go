package observe_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWhatIsBeingDeletedSaysWhichFinalizerKeepsIt(t *testing.T) {
	const hold = "example.com/hold"
	w := newBootstrappedWorld(t)
	keep := func(object client.Object) {
		object.SetDeletionTimestamp(&metav1.Time{Time: w.now})
		object.SetFinalizers([]string{hold})
		w.put(object)
	}
	pod, task := w.objects["*v1.Pod demo-0"].(*corev1.Pod), w.restorePod("demo-2")
	pod.Status.Phase, task.Status.Phase = corev1.PodSucceeded, corev1.PodFailed
	pod.Status.ContainerStatuses, task.Spec.NodeName = nil, "node-1"
	for _, object := range []client.Object{pod, task, w.volume("demo-1"), w.objects["*v1.Service demo"]} {
		keep(object)
	}
	if p := w.replica("demo-0").Pod; p == nil || p.HeldBy != hold {
		t.Errorf("the Pod is %+v", p)
	}
	if v := w.replica("demo-1").Volume; v == nil || v.HeldBy != hold {
		t.Errorf("the volume is %+v", v)
	}
	if r := w.replica("demo-2").Restoring; r == nil || r.HeldBy != hold {
		t.Errorf("the restore Pod is %+v", r)
	}
	if o := w.object("Service", "demo"); o.HeldBy != hold {
		t.Errorf("the Service is %+v", o)
	}
	if p := w.replica("demo-1").Pod; p == nil || p.HeldBy != "" {
		t.Errorf("a Pod that is not being deleted is %+v", p)
	}
}
