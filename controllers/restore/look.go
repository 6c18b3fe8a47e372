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

// clusterOf is the cluster that an EtcdRestore names; nil when there is none.
func (r *Reconciler) clusterOf(ctx context.Context, restore *v1alpha1.EtcdRestore) (*v1alpha1.EtcdCluster, error) {
	return observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, restore.Namespace, restore.Spec.ClusterRef.Name)
}
