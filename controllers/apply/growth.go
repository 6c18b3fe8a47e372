package apply

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// expandVolume has a claim ask for another size, and says on it in the same write what the spec asked for. Kubernetes
// refuses what its class cannot do, before anything is changed.
func (s step) expandVolume(ctx context.Context, c changes.ExpandVolume) error {
	found, err := s.find(ctx, resources.KindVolume, claimNamed(c.Volume.Name))
	if err != nil {
		return err
	}
	claim, _ := found.(*corev1.PersistentVolumeClaim)
	asked, isAsked := s.askedOf(c)
	if claim == nil || claim.UID != types.UID(c.Volume.UID) || claim.DeletionTimestamp != nil || !isAsked {
		return ErrStale
	}
	if has := claim.Status.Capacity.Storage(); c.Bytes < has.Value() {
		return ErrStale // it grew meanwhile, and no volume shrinks
	}
	err = s.update(ctx, resources.KindVolume, claim, func() {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[v1alpha1.AnnotationStorageSize] = asked.String()
		claim.Spec.Resources.Requests = corev1.ResourceList{
			corev1.ResourceStorage: *resource.NewQuantity(c.Bytes, resource.BinarySI)}
	})
	var refused Rejected
	if class := claim.Spec.StorageClassName; class != nil && errors.As(err, &refused) {
		return refused.and(fmt.Sprintf("It is of StorageClass %q.", *class))
	}
	return err
}

// askedOf is the size that the spec asks for of such a claim; false where it asks for none.
func (s step) askedOf(c changes.ExpandVolume) (resource.Quantity, bool) {
	if c.LogOf == "" {
		return s.cluster.Spec.StorageSizeOrDefault(), true
	}
	wal := s.cluster.Spec.WAL()
	if wal == nil {
		return resource.Quantity{}, false
	}
	return wal.Size, true
}
