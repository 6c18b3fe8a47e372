package access

import (
	"context"

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
	weighed, err := observe.NewestWeighed(ctx, r.Client, r.Secrets, seen.cluster, r.Now())
	switch {
	case err != nil:
		quota.Why = words.Bounded(err.Error())
	case weighed != nil:
		quota.Backup = &accessplan.Backup{Name: weighed.Backup, Time: weighed.Time, Clients: weighed.Clients,
			Others: weighed.Others}
	}
}
