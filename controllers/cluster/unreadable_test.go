package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestARecordThatCannotBeReadStallsTheClusterAndNothingIsTouched(t *testing.T) {
	damage := func(string) string { return "{not JSON" }
	newer := func(text string) string {
		return strings.Replace(text, `"leastReader":1`, `"leastReader":2`, 1)
	}
	for _, row := range []struct {
		kind, name, annotation string
		object                 client.Object
		edit                   func(string) string
		reason, advice         string
	}{
		{resources.KindService, resources.PeerService("demo"), v1alpha1.AnnotationBootstrap, &corev1.Service{}, damage, apply.RejectedUnreadable, "Put the annotation back"},
		{resources.KindVolume, "demo-0", v1alpha1.AnnotationRecord, &corev1.PersistentVolumeClaim{}, damage, apply.RejectedUnreadable, "Put the annotation back"},
		{resources.KindService, resources.PeerService("demo"), v1alpha1.AnnotationBootstrap, &corev1.Service{}, newer, apply.RejectedTooNew, "Upgrade the operator"},
		{resources.KindVolume, "demo-0", v1alpha1.AnnotationRecord, &corev1.PersistentVolumeClaim{}, newer, apply.RejectedTooNew, "Upgrade the operator"},
	} {
		t.Run(row.kind+" "+row.reason, func(t *testing.T) {
			w := newWorld(t, demo(1))
			w.settle()
			healthy := w.status()
			good := w.annotate(row.object, row.name, row.annotation, row.edit)
			before := len(w.writes)
			for range 3 {
				if _, err := w.pass(); err == nil {
					t.Fatal("the pass does not look again with back-off")
				}
			}
			if more := w.writes[before:]; len(more) != 1 || !strings.HasPrefix(more[0], "patch status ") {
				t.Errorf("it wrote %q", more)
			}
			w.checkUnreadable(row.reason, row.kind, row.name, row.annotation, row.advice)
			if w.status().ClusterID != healthy.ClusterID {
				t.Errorf("the cluster's ID is %q", w.status().ClusterID)
			}
			w.annotate(row.object, row.name, row.annotation, func(string) string { return good })
			w.settle()
		})
	}
}

func (w *world) checkUnreadable(reason string, parts ...string) {
	w.t.Helper()
	status := w.status()
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || status.NextStep.Rule != report.RuleObserve || status.NextStep.Reason != reason ||
		status.NextStep.Verdict != v1alpha1.VerdictStalled || len(status.Members) > 0 {
		w.t.Fatalf("the status is %+v", status)
	}
	for _, part := range parts {
		if !strings.Contains(stalled.Message, part) {
			w.t.Errorf("%q does not name %s", stalled.Message, part)
		}
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable); c.Status != metav1.ConditionUnknown {
		w.t.Errorf("Available is %+v", c)
	}
}

// annotate changes an annotation and returns the old value.
func (w *world) annotate(object client.Object, name, annotation string, edit func(string) string) (old string) {
	w.t.Helper()
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	annotations := object.GetAnnotations()
	old = annotations[annotation]
	annotations[annotation] = edit(old)
	if annotations[annotation] == old {
		w.t.Fatalf("%s stays as it is", old)
	}
	object.SetAnnotations(annotations)
	if err := w.kube.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	return old
}
