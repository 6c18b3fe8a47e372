package restore

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// restoresOfCluster are the EtcdRestores that name a cluster. Where they cannot be listed, each is looked at when it
// changes.
func (r *Reconciler) restoresOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
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

// hasCluster reports whether the cluster that an EtcdRestore names exists.
func (r *Reconciler) hasCluster(ctx context.Context, restore *v1alpha1.EtcdRestore) (bool, error) {
	cluster, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, restore.Namespace, restore.Spec.ClusterRef.Name)
	return cluster != nil, err
}
