package observe

import (
	"cmp"
	"context"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// LeaseName is what the replicas of each install elect their leader by, in the install's namespace.
const LeaseName = "manager.etcdsteward.dev"

// An install for one namespace may not read the Lease of another.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=manager.etcdsteward.dev,verbs=get

// keepingOf reads the Lease of the install that looks after a cluster, where that is another one. The API server dates
// the last renewal by its own clock: that of the other install's machine may be wrong.
func (o *Observer) keepingOf(ctx context.Context, seen facts.Observation) facts.Lease {
	if !seen.IsAnothers() {
		return facts.Lease{}
	}
	namespace, _, _ := strings.Cut(seen.Keeper(), "/")
	lease, err := Find[coordinationv1.Lease](ctx, cmp.Or(o.Live, o.Reader), namespace, LeaseName)
	switch {
	case err != nil:
		return facts.Lease{Why: err.Error()}
	case lease == nil:
		return facts.Lease{Known: true}
	}
	return facts.Lease{Known: true, Renewed: renewed(lease)}
}

func renewed(lease *coordinationv1.Lease) time.Time {
	written := lastWritten(lease.ManagedFields, "")
	if at := lease.Spec.RenewTime; written.IsZero() && at != nil {
		return at.Time
	}
	return written
}
