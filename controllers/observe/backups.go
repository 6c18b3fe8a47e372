package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	backup "github.com/etcdsteward/etcd-steward/controllers/backup/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
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
			out = append(out, facts.Schedule{Name: s.Name, UpToDate: scheduleplan.IsUpToDate(s, now),
				New: scheduleplan.IsNew(s, now)})
		}
	}
	slices.SortFunc(out, func(a, b facts.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// provenOf is the newest backup of the cluster that was proven; nil when none is known. Its EtcdBackup says so, and
// once retention has deleted that, its schedule.
func provenOf(ctx context.Context, cache client.Reader, cluster *v1alpha1.EtcdCluster,
	now time.Time) (*facts.Backup, error) {
	var (
		schedules v1alpha1.EtcdBackupScheduleList
		backups   v1alpha1.EtcdBackupList
		proven    []facts.Backup
	)
	// Nothing of what is listed is changed, and a namespace may have thousands.
	scope := []client.ListOption{client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy}
	if err := cache.List(ctx, &schedules, scope...); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackupSchedules of %s: %w", cluster.Namespace, err)
	}
	if err := cache.List(ctx, &backups, scope...); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackups of %s: %w", cluster.Namespace, err)
	}
	for _, s := range schedules.Items {
		if at := s.Status.LastProven; at != nil && s.Spec.ClusterRef.Name == cluster.Name {
			proven = append(proven, facts.Backup{Key: at.Key, Revision: at.Revision, Time: at.Time.Time})
		}
	}
	for _, b := range backups.Items {
		if b.Spec.ClusterRef.Name == cluster.Name && b.Status.VerifiedAt != nil && b.Status.StartedAt != nil {
			proven = append(proven, facts.Backup{Key: b.Status.Key, Revision: b.Status.Revision,
				Time: b.Status.StartedAt.Time})
		}
	}
	return newestOf(proven, cluster.CreationTimestamp.Time, now), nil
}

// backupLeft names a complete EtcdBackup of a cluster of this name while that is not born; "" where there is none. One
// whose record cannot be read may be complete.
func (o *Observer) backupLeft(ctx context.Context, cluster *v1alpha1.EtcdCluster, birth record.Birth) (string, error) {
	if birth.Exists() {
		return "", nil
	}
	var backups v1alpha1.EtcdBackupList
	if err := o.Reader.List(ctx, &backups, client.InNamespace(cluster.Namespace)); err != nil {
		return "", fmt.Errorf("listing the EtcdBackups of %s: %w", cluster.Namespace, err)
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.Spec.ClusterRef.Name == cluster.Name && mayBeComplete(b) {
			return "EtcdBackup " + b.Name, nil
		}
	}
	return "", nil
}

func mayBeComplete(b *v1alpha1.EtcdBackup) bool {
	r, err := backup.DecodeRecord(b.Annotations[v1alpha1.AnnotationBackupRecord], b.Namespace, b.Name)
	return err != nil || r.Outcome != nil && r.Outcome.Complete
}

// newestOf is the newest of backups; nil when there is none. One from before the cluster was created is of an earlier
// cluster of its name. A time that is still to come was said by a wrong clock.
func newestOf(backups []facts.Backup, created, now time.Time) *facts.Backup {
	backups = slices.DeleteFunc(backups, func(b facts.Backup) bool {
		return b.Time.Before(created) || b.Time.After(now)
	})
	if len(backups) == 0 {
		return nil
	}
	newest := slices.MaxFunc(backups, func(a, b facts.Backup) int { return a.Time.Compare(b.Time) })
	return &newest
}
