package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAnEmptySpecIsSafe(t *testing.T) {
	for name, spec := range map[string]EtcdClusterSpec{
		"no sections":    {},
		"empty sections": {Storage: &StorageSpec{}, Etcd: &EtcdSpec{}, TLS: &TLSSpec{}, Disruption: &DisruptionSpec{}},
	} {
		t.Run(name, func(t *testing.T) {
			if !spec.IsTLS() {
				t.Error("connections are not protected")
			}
			if spec.IsEphemeral() {
				t.Error("data is not on a volume")
			}
			if got := spec.DeletionPolicyOrDefault(); got != DeletionRetain {
				t.Errorf("the deletion policy is %s, want %s", got, DeletionRetain)
			}
			if !spec.HasBudget() {
				t.Error("there is no budget")
			}
			if spec.IsDryRun() {
				t.Error("nothing would be done")
			}
			if size := spec.StorageSizeOrDefault(); size.String() != "8Gi" {
				t.Errorf("the size of a volume is %s, want 8Gi", size.String())
			}
			if quota := spec.QuotaOrDefault(); quota.String() != "2Gi" {
				t.Errorf("the quota is %s, want 2Gi", quota.String())
			}
		})
	}
}

func TestWhatTheUserSaysStandsAgainstTheDefault(t *testing.T) {
	size, quota := resource.MustParse("20Gi"), resource.MustParse("4Gi")
	spec := EtcdClusterSpec{
		Storage:    &StorageSpec{Size: &size, DeletionPolicy: DeletionDelete, Ephemeral: &EphemeralSpec{}},
		Etcd:       &EtcdSpec{QuotaBackendBytes: &quota},
		TLS:        &TLSSpec{Mode: TLSDisabled},
		Disruption: &DisruptionSpec{PodDisruptionBudget: BudgetNone},
		Mode:       ModeDryRun,
	}
	if spec.IsTLS() || !spec.IsEphemeral() || spec.HasBudget() || !spec.IsDryRun() {
		t.Errorf("TLS %v, ephemeral %v, budget %v, dry run %v", spec.IsTLS(), spec.IsEphemeral(), spec.HasBudget(), spec.IsDryRun())
	}
	if got := spec.DeletionPolicyOrDefault(); got != DeletionDelete {
		t.Errorf("the deletion policy is %s, want %s", got, DeletionDelete)
	}
	if got := spec.StorageSizeOrDefault(); got.Cmp(size) != 0 {
		t.Errorf("the size of a volume is %s, want %s", got.String(), size.String())
	}
	if got := spec.QuotaOrDefault(); got.Cmp(quota) != 0 {
		t.Errorf("the quota is %s, want %s", got.String(), quota.String())
	}
}
