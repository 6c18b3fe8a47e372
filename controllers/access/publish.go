package access

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
)

// publish writes the status if it differs, and only when it is stored says what became different.
func (r *Reconciler) publish(
	ctx context.Context, c *v1alpha1.EtcdClient, o accessplan.Observation, d accessplan.Decision,
) (later time.Duration, err error) {
	old, status := c.Status, accessplan.Status(o, d, c.Generation, c.Status)
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	updated := c.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, c, updated)
	if stored {
		r.Tell(c, accessplan.Events(d, old))
	}
	return later, err
}
