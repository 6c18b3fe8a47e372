package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// dressPods puts the labels and annotations of the spec on Pods that run, and takes off those that left the spec. What
// that is, each Pod says as it is now.
func (s step) dressPods(ctx context.Context, c changes.DressPods) error {
	return each(ctx, c.Pods, func(ctx context.Context, ref facts.PodRef) error {
		found, err := s.find(ctx, resources.KindPod, podNamed(ref.Name))
		if err != nil {
			return err
		}
		if found == nil || found.GetUID() != types.UID(ref.UID) {
			return ErrStale
		}
		dressing := resources.DressingOf(s.cluster, found.(*corev1.Pod))
		if dressing.IsZero() {
			return nil
		}
		return s.patchMetadata(ctx, resources.KindPod, podNamed(ref.Name), ref.UID, metadataPatch(dressing))
	})
}

// restoreInputs writes on a Pod again what it was made from.
func (s step) restoreInputs(ctx context.Context, c changes.RestoreInputs) error {
	patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationInputs: &c.Choices.Inputs}}
	return s.patchMetadata(ctx, resources.KindPod, podNamed(c.Pod.Name), c.Pod.UID, patch)
}
