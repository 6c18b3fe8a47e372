package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubefake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
)

func TestARestoreIsToldWhatItWillWaitForAndIsNeverRefused(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "demo"}
	cluster := &v1alpha1.EtcdCluster{ObjectMeta: meta}
	shows := cluster.DeepCopy()
	shows.Status.Evidence = &v1alpha1.EvidenceStatus{Digest: "0123456789abcdef"}
	ofBackup := v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "nightly"}}
	ofStore := v1alpha1.EtcdRestoreSource{Latest: true, Store: &v1alpha1.BackupStore{Volume: &v1alpha1.VolumeStore{ClaimName: "backups"}}}
	empty := v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}}
	for name, row := range map[string]struct {
		cluster  *v1alpha1.EtcdCluster
		source   v1alpha1.EtcdRestoreSource
		approval string
		isOld    bool
		warning  string
	}{
		"nothing is missing":                 {cluster, empty, "", false, ""},
		"no cluster":                         {nil, empty, "", false, "There is no EtcdCluster demo"},
		"no backup":                          {cluster, ofBackup, "", false, "there is no EtcdBackup nightly in this namespace. The restore waits"},
		"no claim":                           {cluster, ofStore, "", false, "spec.source.store.volume.claimName names"},
		"the source of one that exists":      {cluster, ofBackup, "", true, ""},
		"approved before there was evidence": {cluster, empty, "0123456789abcdef", false, "shows no evidence yet"},
		"approved":                           {shows, empty, "0123456789abcdef", true, ""},
		"approved on other evidence":         {shows, empty, "fedcba9876543210", true, "status.evidence.digest of EtcdCluster demo is 0123456789abcdef now"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			builder := kubefake.NewClientBuilder().WithScheme(scheme)
			if row.cluster != nil {
				builder = builder.WithObjects(row.cluster.DeepCopyObject().(client.Object))
			}
			kube := builder.Build()
			r := &Reconciler{Frame: kit.Frame{Client: kube, Live: kube}, Observer: &observe.Observer{Reader: kube}}
			now := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "back"}}
			now.Spec.ClusterRef.Name, now.Spec.Source = "demo", row.source
			var before *v1alpha1.EtcdRestore
			if row.isOld {
				before = now.DeepCopy()
			}
			now.Spec.Approval = row.approval
			said, err := r.admitRestore(t.Context(), jobworld.MayGetAllBut(), before, now)
			warnings := strings.Join(said.Warnings, " ")
			if err != nil || len(said.Refusals) > 0 || (warnings == "") != (row.warning == "") || !strings.Contains(warnings, row.warning) {
				t.Errorf("%+v, %v", said, err)
			}
		})
	}
}
