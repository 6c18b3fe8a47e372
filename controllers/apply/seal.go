package apply

import (
	"context"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// sealPods patches Pods so that their next containers start from their data or not at all. The role goes along in the
// same patch: a Pod that clients reach is a sealed one.
func (s step) sealPods(ctx context.Context, c changes.SealPods) error {
	return each(ctx, c.Pods, func(ctx context.Context, seal changes.Seal) error {
		patch := metadataPatch{Annotations: map[string]*string{}}
		for key, value := range resources.InitialAnnotations(s.cluster, seal.Pod.Name, resources.StartSealed, nil) {
			patch.Annotations[key] = &value
		}
		if seal.Process != "" {
			patch.Annotations[v1alpha1.AnnotationCompared] = &seal.Process
		}
		if seal.LeadAway {
			patch.Labels = map[string]*string{v1alpha1.LabelRole: nil}
		}
		if seal.Role != "" {
			patch.Labels = map[string]*string{v1alpha1.LabelRole: &seal.Role}
		}
		return s.patchMetadata(ctx, resources.KindPod, podNamed(seal.Pod.Name), seal.Pod.UID, patch)
	})
}

// labelRole sets the role by which the client Service and the budget select, or takes it away.
func (s step) labelRole(ctx context.Context, c changes.LabelRole) error {
	patch := metadataPatch{Labels: map[string]*string{v1alpha1.LabelRole: nil}}
	if c.Role != "" {
		patch.Labels[v1alpha1.LabelRole] = &c.Role
	}
	return s.patchMetadata(ctx, resources.KindPod, podNamed(c.Pod.Name), c.Pod.UID, patch)
}
