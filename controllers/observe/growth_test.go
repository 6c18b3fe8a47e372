package observe_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAVolumeSaysHowFarItIsWithWhatItsClaimAsksFor(t *testing.T) {
	condition := func(kind corev1.PersistentVolumeClaimConditionType, message string) corev1.PersistentVolumeClaimCondition {
		return corev1.PersistentVolumeClaimCondition{Type: kind, Status: corev1.ConditionTrue, Message: message}
	}
	for name, row := range map[string]struct {
		has        string
		resource   corev1.ClaimResourceStatus
		conditions []corev1.PersistentVolumeClaimCondition
		want       facts.Growth
	}{
		"it has that":       {has: "20Gi"},
		"nothing says that": {},
		"nothing was begun": {has: "8Gi", want: facts.Growth{State: facts.GrowthUnderWay}},
		"the node has yet to follow": {has: "8Gi", resource: corev1.PersistentVolumeClaimNodeResizePending,
			want: facts.Growth{State: facts.GrowthAtNode}},
		"an older Kubernetes says so by a condition": {has: "8Gi",
			conditions: []corev1.PersistentVolumeClaimCondition{condition(corev1.PersistentVolumeClaimFileSystemResizePending, "")},
			want:       facts.Growth{State: facts.GrowthAtNode}},
		"it cannot be had, in the words of Kubernetes": {has: "8Gi",
			resource:   corev1.PersistentVolumeClaimControllerResizeInfeasible,
			conditions: []corev1.PersistentVolumeClaimCondition{condition(corev1.PersistentVolumeClaimControllerResizeError, "no room.")},
			want:       facts.Growth{State: facts.GrowthInfeasible, Message: "no room"}},
	} {
		w, claim, _ := waitingForVolume(t)
		claim.Status.Phase, claim.Spec.VolumeName = corev1.ClaimBound, "pv-1"
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}
		if row.has != "" {
			claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(row.has)}
		}
		if row.resource != "" {
			claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{
				corev1.ResourceStorage: row.resource}
		}
		claim.Status.Conditions = row.conditions
		if got := w.lookWith("").Volume.Growth; got != row.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
