package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// putAside has the volume of a member that was replaced so long ago.
func (w *world) putAside(name string, ago time.Duration) {
	w.t.Helper()
	was := w.claims()[0]
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: was.Namespace,
		Labels: was.Labels, Annotations: was.Annotations}, Spec: was.Spec}
	kept.Labels[v1alpha1.LabelKept] = string(facts.CauseDisk)
	kept.Annotations[v1alpha1.AnnotationKeptSince] = w.now.Add(-ago).Format(time.RFC3339)
	w.create(kept)
}

func TestAKeptVolumeOutlivesAnswersThatAreADayAhead(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.putAside("demo-9", time.Hour)
	w.settle()
	w.date = 25 * time.Hour
	w.some(60)
	if n := len(w.claims()); n != 4 {
		t.Fatalf("%d volumes are left: %v", n, w.writes)
	}
	w.now, w.date = w.now.Add(w.date), 0
	w.until("its time is over", func() bool { return len(w.claims()) == 3 })
}
