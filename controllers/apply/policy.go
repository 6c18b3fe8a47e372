package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// followPolicy puts the ownership of volumes and authorities as deletionPolicy says. Each is named as it was seen: a
// list by labels would not show what lost its own. What follows the policy already is not written; other owners are
// left as they are.
func (s step) followPolicy(ctx context.Context, c changes.FollowPolicy) error {
	return each(ctx, c.Items, func(ctx context.Context, ref facts.DataRef) error {
		object, err := s.dataOf(ctx, ref.Kind, ref.Name, ref.UID)
		if err != nil || object == nil || object.GetDeletionTimestamp() != nil ||
			resources.FollowsPolicy(object, s.cluster.UID, c.Retain) {
			return err
		}
		return s.update(ctx, ref.Kind, object, func() { object.SetOwnerReferences(s.owners(object, c.Retain)) })
	})
}

func (s step) owners(object ctrlclient.Object, retain bool) []metav1.OwnerReference {
	owners := slices.DeleteFunc(slices.Clone(object.GetOwnerReferences()), func(ref metav1.OwnerReference) bool {
		return ref.UID == s.cluster.UID
	})
	if retain {
		return owners
	}
	return append(owners, resources.DataOwnerReference(s.cluster))
}

// dataOf reads what a change names, whoever it belongs to; what is another object by now, or is gone, is nil.
func (s step) dataOf(ctx context.Context, kind, name, uid string) (ctrlclient.Object, error) {
	var object ctrlclient.Object = &corev1.PersistentVolumeClaim{}
	if kind == resources.KindSecret {
		object = &corev1.Secret{}
	}
	err := s.Live.Get(ctx, ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(object.GetUID()) != uid:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return object, nil
}
