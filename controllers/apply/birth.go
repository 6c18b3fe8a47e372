package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// beginBirth creates the peer Service with the birth record and this install's claim. Of two that try, one wins and the
// other reads what it wrote. Only a Service of ours that has lost its record is given one.
func (s step) beginBirth(ctx context.Context, c plan.BeginBirth) error {
	record := birthRecord(c)
	made := resources.BuildPeerService(s.cluster, record, s.Operator)
	there, err := s.create(ctx, resources.KindService, made)
	if err != nil || there.GetAnnotations()[v1alpha1.AnnotationBirth] != "" {
		return err
	}
	return s.update(ctx, resources.KindService, there, func() {
		metav1.SetMetaDataAnnotation(objectMeta(there), v1alpha1.AnnotationBirth, resources.EncodeBirth(record))
		if there.GetAnnotations()[v1alpha1.AnnotationOperator] == "" {
			metav1.SetMetaDataAnnotation(objectMeta(there), v1alpha1.AnnotationOperator, s.Operator)
		}
	})
}

func birthRecord(c plan.BeginBirth) resources.BirthRecord {
	record := resources.BirthRecord{
		Incarnation: c.Incarnation, Counter: c.Counter, Token: c.Token, Names: c.Names, ClusterID: c.ClusterID,
		Origin: resources.OriginFresh, Restore: c.Restore,
	}
	if !c.Origin.IsZero() {
		backup := resources.BackupOrigin(c.Origin)
		record.Origin, record.Backup = resources.OriginBackup, &backup
	}
	return record
}

// voidBirth gives a birth up, once and for all: from here on its Pods and volumes may go.
func (s step) voidBirth(ctx context.Context, c plan.VoidBirth) error {
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		if r.Incarnation != c.Incarnation || r.ClusterID != 0 {
			return ErrStale
		}
		r.Void = true
		return nil
	})
}

// nextBirth begins the next incarnation in the place of one that was given up.
func (s step) nextBirth(ctx context.Context, c plan.NextBirth) error {
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		switch {
		case r.Incarnation == c.Incarnation:
			return nil // begun already
		case r.Incarnation != c.Voided || !r.Void || r.ClusterID != 0:
			return ErrStale
		}
		next := birthRecord(c.BeginBirth)
		next.Next, next.Laid = r.Next, r.Laid
		*r = next
		return nil
	})
}

// recordBirth writes down which cluster came of the birth. From here on nothing of it is ever born again. It is the birth that
// was looked at: whoever was held up since may find that another life has begun, of which that cluster did not come.
func (s step) recordBirth(ctx context.Context, c plan.RecordBirth) error {
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		if r.Incarnation != s.view.Birth.Incarnation || r.Void || r.ClusterID != 0 && r.ClusterID != c.ClusterID {
			return ErrStale
		}
		r.ClusterID = c.ClusterID
		return nil
	})
}

// editBirth changes the birth record as it is now, and writes only when something changed and nobody else wrote meanwhile.
func (s step) editBirth(ctx context.Context, edit func(*resources.BirthRecord) error) error {
	name := resources.PeerService(s.cluster.Name)
	service, err := s.find(ctx, resources.KindService, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}})
	switch {
	case err != nil:
		return err
	case service == nil:
		return ErrStale
	}
	before := service.GetAnnotations()[v1alpha1.AnnotationBirth]
	record, err := resources.DecodeBirth(before)
	if err != nil {
		return Rejected{Reason: RejectedUnreadable, Message: fmt.Sprintf("Service %s: %v", name, err)}
	}
	if err := edit(&record); err != nil {
		return err
	}
	after := resources.EncodeBirth(record)
	if after == before {
		return nil
	}
	return s.update(ctx, resources.KindService, service, func() {
		metav1.SetMetaDataAnnotation(objectMeta(service), v1alpha1.AnnotationBirth, after)
	})
}

func objectMeta(object metav1.Object) *metav1.ObjectMeta {
	service, ok := object.(*corev1.Service)
	if !ok {
		return &metav1.ObjectMeta{}
	}
	return &service.ObjectMeta
}
