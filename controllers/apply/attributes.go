package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// modifyVolume has a claim name another VolumeAttributesClass, and says on it in the same write what the spec asked
// for. An API server that has them turned off takes the write and leaves the name out.
func (s step) modifyVolume(ctx context.Context, c changes.ModifyVolume) error {
	found, err := s.find(ctx, resources.KindVolume, claimNamed(c.Volume.Name))
	if err != nil {
		return err
	}
	claim, _ := found.(*corev1.PersistentVolumeClaim)
	asked, isAsked := s.attributesOf(c)
	if claim == nil || claim.UID != types.UID(c.Volume.UID) || claim.DeletionTimestamp != nil || !isAsked {
		return ErrStale
	}
	err = s.update(ctx, resources.KindVolume, claim, func() { resources.AskAttributes(claim, c.Class, asked) })
	if got := claim.Spec.VolumeAttributesClassName; err == nil && c.Class != "" && (got == nil || *got != c.Class) {
		return Rejected{Reason: RejectedModifying, Message: fmt.Sprintf("This Kubernetes leaves out the "+
			"VolumeAttributesClass %q that %s %s is to name: its feature VolumeAttributesClass is off. Turn that on, "+
			"or remove volumeAttributesClassName from spec.storage.", c.Class, resources.KindVolume, claim.Name)}
	}
	return err
}

// attributesOf is the class that the spec asks for of such a claim; false where it asks for no such claim.
func (s step) attributesOf(c changes.ModifyVolume) (string, bool) {
	if c.LogOf != "" {
		if wal := s.cluster.Spec.WAL(); wal != nil {
			return wal.VolumeAttributesClassName, true
		}
		return "", false
	}
	return s.cluster.Spec.VolumeAttributesClass(), true
}
