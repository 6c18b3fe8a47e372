package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	scheduleplan "github.com/etcdsteward/etcd-steward/controllers/schedule/plan"
)

// schedulesOf are the EtcdBackupSchedules that back the cluster up, by name. One that is suspended, or on its way out,
// promises nothing.
func schedulesOf(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster,
	now time.Time) ([]facts.Schedule, error) {
	var list v1alpha1.EtcdBackupScheduleList
	if err := reader.List(ctx, &list, client.InNamespace(cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackupSchedules of %s: %w", cluster.Namespace, err)
	}
	var out []facts.Schedule
	for i := range list.Items {
		s := &list.Items[i]
		if s.Spec.ClusterRef.Name == cluster.Name && !s.Spec.IsSuspended() && s.DeletionTimestamp == nil {
			out = append(out, facts.Schedule{Name: s.Name, UpToDate: scheduleplan.IsUpToDate(s, now)})
		}
	}
	slices.SortFunc(out, func(a, b facts.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
