package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
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

// provenOf is the newest backup of the cluster that was proven; nil when none is known. The signed record of its
// EtcdBackup says so, or that of the last test restore on its schedule. What a status says counts for nothing.
func (o *Observer) provenOf(ctx context.Context, cluster *v1alpha1.EtcdCluster) (*facts.Backup, error) {
	var (
		schedules v1alpha1.EtcdBackupScheduleList
		backups   v1alpha1.EtcdBackupList
		newest    = newestProven{created: cluster.CreationTimestamp.Time, now: o.Now()}
	)
	// Nothing of what is listed is changed, and a namespace may have thousands.
	scope := []client.ListOption{client.InNamespace(cluster.Namespace), client.UnsafeDisableDeepCopy}
	if err := o.Backups.List(ctx, &schedules, scope...); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackupSchedules of %s: %w", cluster.Namespace, err)
	}
	if err := o.Backups.List(ctx, &backups, scope...); err != nil {
		return nil, fmt.Errorf("listing the EtcdBackups of %s: %w", cluster.Namespace, err)
	}
	tests := those(schedules.Items, func(s *v1alpha1.EtcdBackupSchedule) bool {
		return s.Spec.ClusterRef.Name == cluster.Name && s.Annotations[v1alpha1.AnnotationTestSignature] != ""
	})
	signed := those(backups.Items, func(b *v1alpha1.EtcdBackup) bool {
		return b.Spec.ClusterRef.Name == cluster.Name && b.Annotations[v1alpha1.AnnotationBackupSignature] != ""
	})
	if len(tests)+len(signed) == 0 {
		return nil, nil
	}
	key, err := RecordKey(ctx, o.Secrets, client.ObjectKeyFromObject(cluster), cluster)
	if err != nil {
		return nil, err
	}
	for _, s := range tests {
		if at := scheduleplan.ProvenBy(s, key); at != nil {
			newest.add(facts.Backup{Key: at.Key, Revision: at.Revision, Time: at.StartedAt})
		}
	}
	newest.addSigned(signed, key)
	return newest.backup, nil
}

// those are the items that are so, where they lie.
func those[T any](items []T, are func(*T) bool) []*T {
	var out []*T
	for i := range items {
		if are(&items[i]) {
			out = append(out, &items[i])
		}
	}
	return out
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
	r, err := backupplan.RecordOf(b)
	return err != nil || r.Outcome != nil && r.Outcome.Complete
}

// newestProven is the newest of backups; nil when there is none. One from before the cluster was created is of an
// earlier cluster of its name. A time that is still to come was said by a wrong clock.
type newestProven struct {
	created, now time.Time
	backup       *facts.Backup
}

func (n *newestProven) add(b facts.Backup) {
	if !b.Time.Before(n.created) && !b.Time.After(n.now) && n.isBefore(b.Time) {
		n.backup = &b
	}
}

// addSigned adds what signed records call proven. The newest EtcdBackups come first, so that of thousands only those
// are checked that could be newer.
func (n *newestProven) addSigned(backups []*v1alpha1.EtcdBackup, key backupplan.Key) {
	slices.SortFunc(backups, func(a, b *v1alpha1.EtcdBackup) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for _, b := range backups {
		if !n.isBefore(b.CreationTimestamp.Add(b.Spec.DeadlineOrDefault())) {
			continue // it began within its deadline
		}
		if outcome := key.Proven(b); outcome != nil {
			n.add(facts.Backup{Key: outcome.Facts.Key, Revision: outcome.Facts.Revision,
				Time: outcome.Facts.StartedAt})
		}
	}
}

// isBefore reports whether a backup of that time would be newer.
func (n *newestProven) isBefore(at time.Time) bool {
	return n.backup == nil || n.backup.Time.Before(at)
}
