package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// growthOf is how far a claim is with what it asks for. Kubernetes says what cannot be in a state of its own since
// 1.34, and before that only how an attempt failed, which it repeats.
func growthOf(claim *corev1.PersistentVolumeClaim) facts.Growth {
	asked, has := claim.Spec.Resources.Requests.Storage(), claim.Status.Capacity.Storage()
	if claim.Status.Phase != corev1.ClaimBound || has.IsZero() || has.Cmp(*asked) >= 0 {
		return facts.Growth{}
	}
	growth := facts.Growth{State: facts.GrowthUnderWay}
	for _, c := range claim.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
			growth.Message = strings.TrimRight(c.Message, ". \n")
		case corev1.PersistentVolumeClaimFileSystemResizePending:
			growth.State, growth.Since = facts.GrowthAtNode, c.LastTransitionTime.Time
		case corev1.PersistentVolumeClaimResizing:
			if growth.Since.IsZero() {
				growth.Since = c.LastTransitionTime.Time
			}
		default:
		}
	}
	switch claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		growth.State = facts.GrowthInfeasible
	case corev1.PersistentVolumeClaimNodeResizePending:
		growth.State = facts.GrowthAtNode
	default:
	}
	return growth
}
