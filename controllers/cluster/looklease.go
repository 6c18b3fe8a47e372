package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// leaseMargin is how much of the Lease must be left before a call that changes etcd. The call ends with the Lease.
const leaseMargin = 3 * time.Second

// leadsBy returns what asks the API server whether this process holds the Lease, and until when; nil where no leader is
// elected.
func leadsBy(live client.Reader, lease *kit.Lease) func(context.Context) (time.Time, error) {
	if lease == nil {
		return nil
	}
	return func(ctx context.Context) (time.Time, error) {
		held := &coordinationv1.Lease{}
		if err := live.Get(ctx, lease.NamespacedName, held); err != nil {
			return time.Time{}, fmt.Errorf("reading the Lease %s: %w", lease.NamespacedName, err)
		}
		spec := held.Spec
		if spec.HolderIdentity == nil || *spec.HolderIdentity != lease.Identity {
			return time.Time{}, fmt.Errorf("another process of the operator may hold the Lease %s",
				lease.NamespacedName)
		}
		if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
			return time.Time{}, fmt.Errorf("the Lease %s does not say how long it lasts", lease.NamespacedName)
		}
		end := spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second)
		if lease.Now().Add(leaseMargin).After(end) {
			return time.Time{}, fmt.Errorf("the Lease %s was not renewed in time", lease.NamespacedName)
		}
		return end, nil
	}
}
