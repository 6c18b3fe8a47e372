// Package restore tells of EtcdRestores without a cluster; all others are carried out, and told of, by the wing of
// clusters.
package restore

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// Reconciler tells of EtcdRestores whose cluster does not exist. All else is done and told by the passes over the
// cluster, which alone know how a restore stands: nothing here touches a member.
type Reconciler struct{ kit.Frame }

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdrestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdrestores/status,verbs=patch

// Reconcile is one pass over one EtcdRestore.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	restore := &v1alpha1.EtcdRestore{}
	if ready, result, err := r.Begin(ctx, request.NamespacedName, restore, func(types.NamespacedName) {}); !ready ||
		err != nil {
		return result, err
	}
	cluster, err := r.clusterOf(ctx, restore)
	if cluster != nil || err != nil || restore.DeletionTimestamp != nil {
		return ctrl.Result{}, err
	}
	return r.publish(ctx, restore)
}
