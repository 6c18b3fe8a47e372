package apply

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// evictPod stops a member on purpose, by an eviction and never by a delete: the API server takes the slot of the
// disruption budget in one step with all others who evict, so that a drain and the operator never stop a member each
// (kubernetes/kubernetes:pkg/registry/core/pod/storage/eviction.go). It goes by its UID alone: the slot is taken before
// preconditions are looked at, and one that fails on a resource version, which moves with each word of the kubelet,
// would hold its slot against everybody for two minutes.
func (s step) evictPod(ctx context.Context, c changes.EvictPod) error {
	live, err := s.find(ctx, resources.KindPod, podNamed(c.Pod.Name))
	switch {
	case err != nil:
		return err
	case live == nil:
		return nil
	case live.GetUID() != types.UID(c.Pod.UID):
		return ErrStale
	case live.GetDeletionTimestamp() != nil:
		return nil
	case c.PastBudget:
		return s.delete(ctx, resources.KindPod, podNamed(c.Pod.Name), c.Pod.UID)
	}
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: new(live.GetUID()),
	}}}
	// While a budget is being worked out, the client would wait and ask again by itself, long after the look that this
	// was confirmed on.
	limited, cancel := context.WithTimeout(ctx, lookLasts)
	defer cancel()
	err = s.Client.SubResource("eviction").Create(limited, live, eviction)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return ErrStale
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return Later{Reason: LaterBusy,
			Message: fmt.Sprintf("evicting Pod %s: no answer within %s", c.Pod.Name, lookLasts)}
	}
	return Answer(err, "evicting Pod "+c.Pod.Name)
}
