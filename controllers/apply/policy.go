package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// followPolicy puts the ownership of volumes and authorities as deletionPolicy says. What follows it already is not
// written; other owners are left as they are.
func (s step) followPolicy(ctx context.Context, c plan.FollowPolicy) error {
	data, err := s.readData(ctx)
	if err != nil {
		return err
	}
	return each(ctx, data, func(ctx context.Context, object ctrlclient.Object) error {
		if object.GetDeletionTimestamp() != nil || resources.FollowsPolicy(object, s.cluster.UID, c.Retain) {
			return nil
		}
		return s.update(ctx, kindOfData(object), object, func() { object.SetOwnerReferences(s.owners(object, c.Retain)) })
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

// readData reads everything that outlives the cluster under Retain.
func (s step) readData(ctx context.Context) ([]ctrlclient.Object, error) {
	var claims corev1.PersistentVolumeClaimList
	err := s.Live.List(ctx, &claims, ctrlclient.InNamespace(s.cluster.Namespace),
		ctrlclient.MatchingLabels{v1alpha1.LabelClusterUID: string(s.cluster.UID)})
	if err != nil {
		return nil, fmt.Errorf("listing the volumes of %s: %w", s.cluster.Name, err)
	}
	var data []ctrlclient.Object
	for i := range claims.Items {
		data = append(data, &claims.Items[i])
	}
	if !s.cluster.Spec.IsTLS() {
		return data, nil
	}
	for _, name := range []string{resources.CASecret(s.cluster.Name), resources.PeerCASecret(s.cluster.Name)} {
		authority, err := s.find(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if errors.As(err, new(NameTaken)) {
			continue // another's authority keeps nothing of ours from being released
		}
		if err != nil {
			return nil, err
		}
		if authority != nil {
			data = append(data, authority)
		}
	}
	return data, nil
}

func kindOfData(object ctrlclient.Object) string {
	if _, ok := object.(*corev1.Secret); ok {
		return resources.KindSecret
	}
	return resources.KindVolume
}
