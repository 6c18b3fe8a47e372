package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// birthOf reads the birth record. A Service of ours without one has lost it. A record that cannot be read is an error,
// and never a cluster that was not born.
func birthOf(service *corev1.Service) (record.Birth, error) {
	text, ok := service.Annotations[v1alpha1.AnnotationBirth]
	if !ok {
		return record.Birth{}, nil
	}
	birth, err := record.DecodeBirth(text)
	if err != nil {
		return record.Birth{}, Unreadable{Kind: resources.KindService, Name: service.Name,
			Annotation: v1alpha1.AnnotationBirth, Err: err}
	}
	return birth, nil
}
