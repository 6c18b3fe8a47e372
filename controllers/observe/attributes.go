package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// attributesOf is the VolumeAttributesClass that a claim names, and how far its volume is with it. A state that this
// release does not know is one of work that goes on.
func attributesOf(claim *corev1.PersistentVolumeClaim) facts.Attributes {
	has := facts.Attributes{Asked: valueOf(claim.Spec.VolumeAttributesClassName),
		Has: valueOf(claim.Status.CurrentVolumeAttributesClassName),
		For: claim.Annotations[v1alpha1.AnnotationAttributesClass]}
	status := claim.Status.ModifyVolumeStatus
	if has.Asked == has.Has || status == nil || status.TargetVolumeAttributesClassName != has.Asked {
		return has // what is said is of another class
	}
	switch status.Status {
	case corev1.PersistentVolumeClaimModifyVolumePending:
		has.State = facts.AttributesPending
	case corev1.PersistentVolumeClaimModifyVolumeInfeasible:
		has.State = facts.AttributesInfeasible
	default:
		has.State = facts.AttributesUnderWay
	}
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError && c.Status == corev1.ConditionTrue {
			has.Message = strings.TrimRight(c.Message, ". \n")
		}
	}
	return has
}

func valueOf(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}
