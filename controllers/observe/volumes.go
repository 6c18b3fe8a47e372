package observe

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// volumeOf reads a volume of ours. A record that cannot be read is an error: it must not be taken for none.
func volumeOf(claim *corev1.PersistentVolumeClaim) (*plan.Volume, error) {
	record, err := recordOf(claim)
	if err != nil {
		return nil, Unreadable{Kind: resources.KindVolume, Name: claim.Name, Annotation: v1alpha1.AnnotationRecord, Err: err}
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return &plan.Volume{
		UID:         string(claim.UID),
		Created:     claim.CreationTimestamp.Time,
		Phase:       volumePhase(claim.Status.Phase),
		Terminating: claim.DeletionTimestamp != nil,
		Incarnation: claim.Labels[v1alpha1.LabelIncarnation],
		Choices:     choicesOf(claim),
		Bytes:       size.Value(),
		Record:      record,
		Request:     claim.Annotations[v1alpha1.AnnotationRequest],
		Restored:    claim.Annotations[v1alpha1.AnnotationRestored],
		Flushed:     claim.Annotations[v1alpha1.AnnotationFlushed],
		Superseded:  claim.Annotations[v1alpha1.AnnotationSuperseded],
	}, nil
}

func volumePhase(phase corev1.PersistentVolumeClaimPhase) plan.VolumePhase {
	switch phase {
	case corev1.ClaimBound:
		return plan.VolumeBound
	case corev1.ClaimLost:
		return plan.VolumeLost
	case corev1.ClaimPending:
		return plan.VolumePending
	}
	return plan.VolumePending // the status is not written yet
}

func recordOf(object metav1.Object) (plan.Record, error) {
	record, err := resources.DecodeMember(object.GetAnnotations()[v1alpha1.AnnotationRecord])
	if err != nil {
		return plan.Record{}, err
	}
	return plan.Record{ClusterID: record.ClusterID, MemberID: record.MemberID, Version: record.Version}, nil
}

// choicesOf are the choices written on a volume or a Pod. Choices that cannot be read are none: they differ from all that
// can be wanted, and nothing is lost by that.
func choicesOf(object metav1.Object) plan.Choices {
	inputs, version, err := resources.NormalizeInputs(object.GetAnnotations()[v1alpha1.AnnotationInputs])
	if err != nil {
		return plan.Choices{}
	}
	return plan.Choices{Version: version, Inputs: inputs}
}
