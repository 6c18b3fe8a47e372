package observe

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// isRetained says that an object was made for an earlier cluster of this name, and says for which. The object of that
// UID is gone: there is only one of a name, and that is ours.
func (o ownership) isRetained(data metav1.Object) bool {
	labels := data.GetLabels()
	return labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue && v1alpha1.ClusterOf(labels) == o.cluster &&
		labels[v1alpha1.LabelClusterUID] != ""
}

// retained names what an earlier cluster of this name left.
func retained(kind string, object metav1.Object) facts.Retained {
	return facts.Retained{Kind: kind, Name: object.GetName(), UID: string(object.GetUID()),
		Owner: object.GetLabels()[v1alpha1.LabelClusterUID]}
}

// retainedVolume is a volume that an earlier cluster left, with what it says of the member that lived there. A record
// that is damaged says nothing. Where nothing says otherwise, its member had TLS.
func retainedVolume(claim *corev1.PersistentVolumeClaim) facts.Retained {
	r := retained(resources.KindVolume, claim)
	r.Backing, r.Kept = claim.Spec.VolumeName, isKept(claim)
	r.Incarnation = claim.Labels[v1alpha1.LabelIncarnation]
	r.Superseded = claim.Annotations[v1alpha1.AnnotationSuperseded]
	r.GoesBackFrom = claim.Annotations[v1alpha1.AnnotationGoesBack]
	var err error
	if r.Record, err = recordOf(claim); errors.As(err, new(record.TooNew)) {
		r.TooNew = err.Error()
	}
	inputs, _ := resources.DecodeInputs(claim.Annotations[v1alpha1.AnnotationInputs])
	r.TLS = inputs.TLS != string(v1alpha1.TLSDisabled)
	return r
}
