package v1alpha1

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnEmptySpecIsSafe(t *testing.T) {
	for name, spec := range map[string]EtcdClusterSpec{
		"no sections":    {},
		"empty sections": {Storage: &StorageSpec{}, Etcd: &EtcdSpec{}, TLS: &TLSSpec{}, Disruption: &DisruptionSpec{}, Repair: &RepairSpec{}},
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
			if after := spec.ReplaceAfterOrDefault(); after != 5*time.Minute {
				t.Errorf("a member is replaced after %s, want 5m", after)
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
	spec.Storage.DeletionPolicy = ""
	if got := spec.DeletionPolicyOrDefault(); got != DeletionDelete {
		t.Errorf("without volumes the deletion policy is %s, want %s: there is nothing to keep", got, DeletionDelete)
	}
	for given, want := range map[time.Duration]time.Duration{
		0: 0, 30 * time.Second: 30 * time.Second, time.Hour: time.Hour, time.Second: DefaultReplaceAfter, -time.Hour: DefaultReplaceAfter,
	} {
		spec.Repair = &RepairSpec{ReplaceAfter: &metav1.Duration{Duration: given}}
		if got := spec.ReplaceAfterOrDefault(); got != want {
			t.Errorf("with %s a member is replaced after %s, want %s", given, got, want)
		}
	}
	if got := spec.StorageSizeOrDefault(); got.Cmp(size) != 0 {
		t.Errorf("the size of a volume is %s, want %s", got.String(), size.String())
	}
	if got := spec.QuotaOrDefault(); got.Cmp(quota) != 0 {
		t.Errorf("the quota is %s, want %s", got.String(), quota.String())
	}
}
