package access

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// lookAtQuota reads what the newest proven backup says, for a client that has a quota and may use the cluster. Backups
// are in the cache. What is not found out is told, and holds up nothing.
func (r *Reconciler) lookAtQuota(ctx context.Context, c *v1alpha1.EtcdClient, seen *view) {
	if c.Spec.Quota == nil || seen.isIgnored() {
		return
	}
	quota := &seen.Quota
	quota.Limit, quota.Text, quota.Created = c.Spec.Quota.Value(), c.Spec.Quota.String(), c.CreationTimestamp.Time
	if seen.cluster == nil || !seen.Cluster.Allows || c.DeletionTimestamp != nil {
		return
	}
	weighed, err := r.weighedIn(ctx, seen.cluster)
	switch {
	case err != nil:
		quota.Why = words.Bounded(err.Error())
	case weighed != nil:
		quota.Backup = &accessplan.Backup{Name: weighed.Backup, Time: weighed.Time, Clients: weighed.Clients,
			Others: weighed.Others}
	}
}

// backupsByCluster lists the EtcdBackups of a cluster: their namespace may have thousands of others.
func backupsByCluster(object client.Object) []string {
	b, isBackup := object.(*v1alpha1.EtcdBackup)
	if !isBackup {
		return nil
	}
	return []string{types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.ClusterRef.Name}.String()}
}

func (r *Reconciler) weighedIn(ctx context.Context, cluster *v1alpha1.EtcdCluster) (*observe.Weighed, error) {
	var list v1alpha1.EtcdBackupList
	// Nothing of what is listed is changed.
	err := r.Client.List(ctx, &list, client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{byCluster: client.ObjectKeyFromObject(cluster).String()})
	if err != nil {
		return nil, fmt.Errorf("listing the EtcdBackups of %s: %w", cluster.Name, err)
	}
	return observe.NewestWeighed(ctx, list.Items, r.Secrets, cluster, r.Now())
}
