package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// adoptData writes this cluster's UID on what an earlier cluster of its name left, one object after the other: an operator
// that dies in between leaves a set of which some is ours, which the next one goes on with.
func (s step) adoptData(ctx context.Context, c plan.AdoptData) error {
	return each(ctx, c.Items, s.adopt)
}

func (s step) adopt(ctx context.Context, item plan.Retained) error {
	var live ctrlclient.Object = &corev1.PersistentVolumeClaim{}
	if item.Kind == resources.KindSecret {
		live = &corev1.Secret{}
	}
	err := s.Live.Get(ctx, ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: item.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return ErrStale
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", item.Kind, item.Name, err)
	case live.GetUID() != types.UID(item.UID) || live.GetDeletionTimestamp() != nil:
		return ErrStale
	}
	switch live.GetLabels()[v1alpha1.LabelClusterUID] {
	case string(s.cluster.UID):
		return nil
	case item.Owner:
		return s.update(ctx, item.Kind, live, func() { live.GetLabels()[v1alpha1.LabelClusterUID] = string(s.cluster.UID) })
	}
	return ErrStale
}
