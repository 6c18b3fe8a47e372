package restore

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// publish tells that the cluster of an EtcdRestore does not exist.
func (r *Reconciler) publish(ctx context.Context, restore *v1alpha1.EtcdRestore) (ctrl.Result, error) {
	status := report.Orphan(r.Now(), restore)
	if equality.Semantic.DeepEqual(restore.Status, status) {
		return ctrl.Result{}, nil
	}
	updated := restore.DeepCopy()
	updated.Status = status
	_, later, err := r.WriteStatus(ctx, restore, updated)
	return ctrl.Result{RequeueAfter: later}, err
}
