package restore

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

func TestARestoreOfNoClusterIsToldSo(t *testing.T) {
	key := client.ObjectKey{Namespace: "shop", Name: "back"}
	restore := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "back", UID: "uid-back", Generation: 1}}
	restore.Spec.ClusterRef.Name = "demo"
	restore.Spec.Source.BackupRef = &v1alpha1.BackupReference{Name: "nightly"}
	cluster := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo"}}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	writes := 0
	kube := interceptor.NewClient(
		kubefake.NewClientBuilder().WithScheme(scheme).WithObjects(restore, cluster).WithStatusSubresource(restore).Build(),
		interceptor.Funcs{SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		}})
	r := &Reconciler{kit.Frame{
		Client: kube, Live: kube, Recorder: events.NewFakeRecorder(10), Now: time.Now, Unseen: kit.NewUnseenWrites(time.Now),
	}}
	pass := func() v1alpha1.EtcdRestoreStatus {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		now := &v1alpha1.EtcdRestore{}
		if err := kube.Get(t.Context(), key, now); err != nil {
			t.Fatal(err)
		}
		return now.Status
	}
	if got := pass(); len(got.Conditions) > 0 {
		t.Errorf("the cluster is there, and its passes tell: %+v", got)
	}
	if err := kube.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	got := pass()
	if len(got.Conditions) != 3 || got.Conditions[0].Reason != report.RestoreReasonAbsent || got.Stage != "Waiting" || writes != 1 {
		t.Errorf("%d writes: %+v", writes, got)
	}
	if pass(); writes != 1 {
		t.Errorf("it is told again: %d writes", writes)
	}
	if got := r.restoresOfCluster(t.Context(), cluster); len(got) != 1 || got[0].NamespacedName != key {
		t.Errorf("the cluster leads to %v", got)
	}
}
