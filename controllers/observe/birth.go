package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// birthOf reads the birth record and the claim of the install that wrote it. A Service of ours without a record has lost
// it; a record that cannot be read is an error, and never a cluster that was not born.
func birthOf(service *corev1.Service) (plan.Birth, error) {
	text, ok := service.Annotations[v1alpha1.AnnotationBirth]
	if !ok {
		return plan.Birth{Operator: service.Annotations[v1alpha1.AnnotationOperator]}, nil
	}
	record, err := resources.DecodeBirth(text)
	if err != nil {
		return plan.Birth{Operator: service.Annotations[v1alpha1.AnnotationOperator]},
			Unreadable{Kind: resources.KindService, Name: service.Name, Annotation: v1alpha1.AnnotationBirth, Err: err}
	}
	birth := plan.Birth{
		Exists:      true,
		Operator:    service.Annotations[v1alpha1.AnnotationOperator],
		Incarnation: record.Incarnation,
		Counter:     record.Counter,
		Token:       record.Token,
		Names:       record.Names,
		ClusterID:   record.ClusterID,
		Void:        record.Void,
		Begun:       record.Begun,
		Volumes:     record.Volumes,
		Promised:    record.Promised,
		Next:        record.Next,
		Restore:     record.Restore,
		Laid:        record.Laid,
		Coming:      lifeOf(record.Coming),
	}
	for _, past := range record.Past {
		birth.Past = append(birth.Past, plan.Past(past))
	}
	if record.Backup != nil {
		birth.Origin = plan.Origin(*record.Backup)
	}
	return birth, nil
}

// lifeOf is the life that is laid; zero when none is.
func lifeOf(record *resources.LifeRecord) plan.Life {
	if record == nil {
		return plan.Life{}
	}
	life := plan.Life{
		Incarnation: record.Incarnation,
		Counter:     record.Counter,
		Token:       record.Token,
		Names:       record.Names,
		Source:      plan.SourceKind(record.Source),
		Survivor:    record.Survivor,
		Bump:        record.Bump,
		Restore:     record.Restore,
	}
	if record.Backup != nil {
		life.Origin = plan.Origin(*record.Backup)
	}
	return life
}
