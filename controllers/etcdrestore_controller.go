package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// EtcdRestoreReconciler tells of EtcdRestores whose cluster does not exist. All else is done and told by the passes over the
// cluster, which alone know how a restore stands: nothing here touches a member.
type EtcdRestoreReconciler struct{ frame }

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdrestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdrestores/status,verbs=patch

// parallelRestores bounds the passes over EtcdRestores, which do next to nothing.
const parallelRestores = 1

// Reconcile is one pass over one EtcdRestore.
func (r *EtcdRestoreReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	restore := &v1alpha1.EtcdRestore{}
	if ready, result, err := r.begin(ctx, request.NamespacedName, restore, func(types.NamespacedName) {}); !ready || err != nil {
		return result, err
	}
	cluster, err := absentAsNil(ctx, r.Client, restore.Namespace, restore.Spec.ClusterRef.Name, &v1alpha1.EtcdCluster{})
	if cluster != nil || err != nil || restore.DeletionTimestamp != nil {
		return ctrl.Result{}, err
	}
	status := report.Orphan(metav1.NewTime(r.Now()), restore)
	if equality.Semantic.DeepEqual(restore.Status, status) {
		return ctrl.Result{}, nil
	}
	updated := restore.DeepCopy()
	updated.Status = status
	_, later, err := r.writeStatus(ctx, restore, updated)
	return ctrl.Result{RequeueAfter: later}, err
}

// addRestores adds the controller of EtcdRestores to a manager.
func addRestores(mgr ctrl.Manager, operator string) error {
	r := &EtcdRestoreReconciler{newFrame(mgr, operator)}
	err := controllerOf(mgr, kind{
		name: "etcdrestore", object: &v1alpha1.EtcdRestore{}, word: "restore", parallel: parallelRestores,
		isTold: func(o client.Object) bool {
			restore, is := o.(*v1alpha1.EtcdRestore)
			return is && len(restore.Status.Conditions) > 0
		},
	}).
		Watches(&v1alpha1.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(r.restoresOfCluster), builder.WithPredicates(comesOrGoes())).
		Complete(r)
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

// restoresOfCluster are the EtcdRestores that name a cluster. Where they cannot be listed, each is looked at when it changes.
func (r *EtcdRestoreReconciler) restoresOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	var list v1alpha1.EtcdRestoreList
	if err := r.Client.List(ctx, &list, client.InNamespace(cluster.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.ClusterRef.Name == cluster.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// clusterOfRestore maps an EtcdRestore to the cluster whose passes carry it out.
func clusterOfRestore(_ context.Context, object client.Object) []reconcile.Request {
	restore, is := object.(*v1alpha1.EtcdRestore)
	if !is {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: restore.Namespace, Name: restore.Spec.ClusterRef.Name}}}
}
