package cluster

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// leave ends a pass over a cluster that another install looks after. Its status is that one's to write, for as long as
// that one may run. Where it certainly does not, this one tells how the cluster is. What this one was asked for and
// cannot do, it tells by an event, which no other install overwrites.
func (r *Reconciler) leave(ctx context.Context, in report.Input, recheck time.Duration) (ctrl.Result, error) {
	key, o := client.ObjectKeyFromObject(in.Cluster), in.Observation
	r.Metrics.Keep(key, o.Keeper(), o.IsKeeperUp())
	if o.IsKeeperGone() {
		_, err := r.publish(ctx, in)
		return ctrl.Result{RequeueAfter: recheck}, errors.Join(in.Outcome.Err, err)
	}
	r.Metrics.Forget(key)
	r.Tell(in.Cluster, report.NotTakenOver(in))
	return ctrl.Result{RequeueAfter: recheck}, in.Outcome.Err
}
