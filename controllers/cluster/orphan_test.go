package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

func TestARestoreOfNoClusterIsToldSo(t *testing.T) {
	w := newWorld(t, demo(1))
	restores := map[string]string{"back": "demo", "of-another": "other"}
	for name, cluster := range restores {
		restore := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}}
		restore.Spec.ClusterRef.Name = cluster
		restore.Spec.Source.BackupRef = &v1alpha1.BackupReference{Name: "nightly"}
		if err := w.kube.Create(t.Context(), restore); err != nil {
			t.Fatal(err)
		}
	}
	told := func(name string) v1alpha1.EtcdRestoreStatus {
		t.Helper()
		if _, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key}); err != nil {
			t.Fatal(err)
		}
		now := &v1alpha1.EtcdRestore{}
		if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, now); err != nil {
			t.Fatal(err)
		}
		return now.Status
	}
	if got := told("back"); len(got.Conditions) == 0 || got.Conditions[0].Reason == report.RestoreReasonAbsent {
		t.Errorf("the cluster is there: %+v", got)
	}
	w.delete(&v1alpha1.EtcdCluster{}, "demo")
	w.now = w.now.Add(time.Minute) // the cache shows that by now
	writes := len(w.writes)
	got := told("back")
	if len(got.Conditions) != 3 || got.Conditions[0].Reason != report.RestoreReasonAbsent || got.Stage != "Waiting" ||
		len(w.writes) != writes+1 {
		t.Errorf("%q: %+v", w.writes[writes:], got)
	}
	if got := told("of-another"); len(got.Conditions) > 0 || len(w.writes) != writes+1 {
		t.Errorf("it is told again, or of another cluster: %q", w.writes[writes:])
	}
}
