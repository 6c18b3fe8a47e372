// Package restore tells of EtcdRestores without a cluster; all others are carried out, and told of, by the wing of
// clusters.
package restore

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

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

// parallelPasses bounds the passes over EtcdRestores, which do next to nothing.
const parallelPasses = 1

// Add adds the controller of EtcdRestores to a manager.
func Add(mgr ctrl.Manager, install kit.Install) error {
	r := &Reconciler{kit.NewFrame(mgr, install)}
	if err := kit.ServeAdmission(mgr, install, r.admit); err != nil {
		return err
	}
	err := kit.ControllerOf(mgr, kit.Kind{
		Name: "etcdrestore", Object: &v1alpha1.EtcdRestore{}, Word: "restore", Parallel: parallelPasses,
		IsTold: func(o client.Object) bool {
			restore, ok := o.(*v1alpha1.EtcdRestore)
			return ok && len(restore.Status.Conditions) > 0
		},
	}).
		Watches(&v1alpha1.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.restoresOfCluster),
			builder.WithPredicates(comesOrGoes())).
		Complete(r.Traced(&v1alpha1.EtcdRestore{}, r))
	if err != nil {
		return fmt.Errorf("setting up the controller of restores: %w", err)
	}
	return nil
}

// comesOrGoes lets through that an object is there, or is not any more.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
