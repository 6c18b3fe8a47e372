package provisioner

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func optionsOn(node string) controller.ProvisionOptions {
	reclaim := corev1.PersistentVolumeReclaimDelete
	return controller.ProvisionOptions{
		StorageClass: &storagev1.StorageClass{ReclaimPolicy: &reclaim}, PVName: "pvc-1", SelectedNodeName: node,
		PVC: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-0"}},
	}
}

func TestAVolumeIsADirectoryOfItsNodeThatAnyUserMayWrite(t *testing.T) {
	roots := Roots{"node-1": t.TempDir(), "node-2": t.TempDir()}
	volume, _, err := roots.Provision(t.Context(), optionsOn("node-2"))
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(roots["node-2"], "pvc-1_ns_demo-0")
	if got := volume.Spec.HostPath.Path; got != want {
		t.Errorf("it is in %s, want %s", got, want)
	}
	if info, err := os.Stat(want); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info, err)
	}
	if got := volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values; got[0] != "node-2" {
		t.Errorf("it is on %v", got)
	}
	if err := roots.Delete(t.Context(), volume); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(want); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAClaimOnAStrangeNodeGetsNoVolume(t *testing.T) {
	if _, _, err := (Roots{}).Provision(t.Context(), optionsOn("node-9")); err == nil {
		t.Error("it got one")
	}
}

func TestNothingOutsideTheDirectoryOfANodeIsRemoved(t *testing.T) {
	roots, elsewhere := Roots{"node-1": t.TempDir()}, t.TempDir()
	for _, path := range []string{
		elsewhere, roots["node-1"], filepath.Join(roots["node-1"], "..", filepath.Base(elsewhere)),
	} {
		volume := &corev1.PersistentVolume{}
		volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: path}
		if err := roots.Delete(t.Context(), volume); err == nil {
			t.Errorf("%s was removed", path)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if err := roots.Delete(t.Context(), &corev1.PersistentVolume{}); err == nil {
		t.Error("a volume without a path was removed")
	}
}
