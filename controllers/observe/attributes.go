package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// attributesOf is the VolumeAttributesClass that a claim names, and how far its volume is with it. What is pending is
// always the class that the claim names, and its status names the one before. A state that this release does not know
// is one of work that goes on (kubernetes-csi/external-resizer:pkg/modifycontroller).
func attributesOf(claim *corev1.PersistentVolumeClaim) facts.Attributes {
	has := facts.Attributes{Asked: valueOf(claim.Spec.VolumeAttributesClassName),
		Has: valueOf(claim.Status.CurrentVolumeAttributesClassName),
		For: claim.Annotations[v1alpha1.AnnotationAttributesClass]}
	status := claim.Status.ModifyVolumeStatus
	switch {
	case has.Asked == has.Has || status == nil:
	case status.Status == corev1.PersistentVolumeClaimModifyVolumePending:
		has.State = facts.AttributesPending
	case status.TargetVolumeAttributesClassName != has.Asked: // what is said is of another class
	case status.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible:
		has.State, has.Message = facts.AttributesInfeasible, modifyError(claim)
	default:
		has.State, has.Message = facts.AttributesUnderWay, modifyError(claim)
	}
	return has
}

// modifyError is what the driver answered last. Of a class that was tried before it may still stand there: then the
// work on this one began later.
func modifyError(claim *corev1.PersistentVolumeClaim) string {
	var failed, began corev1.PersistentVolumeClaimCondition
	for _, c := range claim.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError:
			failed = c
		case c.Type == corev1.PersistentVolumeClaimVolumeModifyingVolume:
			began = c
		}
	}
	if failed.LastProbeTime.Before(&began.LastProbeTime) {
		return ""
	}
	return strings.TrimRight(failed.Message, ". \n")
}

func valueOf(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}
