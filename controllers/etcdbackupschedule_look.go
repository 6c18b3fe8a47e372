package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
)

// look reads everything that a decision needs.
func (r *EtcdBackupScheduleReconciler) look(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (schedule.Observation, error) {
	seen := schedule.Observation{Now: r.Now(), Operator: r.Operator, Schedule: scheduleOf(s)}
	var err error
	if seen.Cluster, err = r.lookAtCluster(ctx, s); err != nil {
		return seen, err
	}
	var backups v1alpha1.EtcdBackupList
	err = r.Client.List(ctx, &backups, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})
	if err != nil {
		return seen, fmt.Errorf("listing its EtcdBackups: %w", err)
	}
	for i := range backups.Items {
		if isRunOf(s, &backups.Items[i]) {
			seen.Runs = append(seen.Runs, runOf(&backups.Items[i], s.Spec.Store))
		}
	}
	return seen, r.lookAtChores(ctx, s, &seen)
}

// isRunOf tells the EtcdBackups of a schedule from those that an earlier one of its name made of another cluster: they outlive it.
func isRunOf(s *v1alpha1.EtcdBackupSchedule, b *v1alpha1.EtcdBackup) bool {
	return b.Labels[v1alpha1.LabelSchedule] == s.Name && b.Spec.ClusterRef.Name == s.Spec.ClusterRef.Name
}

func scheduleOf(s *v1alpha1.EtcdBackupSchedule) schedule.Schedule {
	spec := s.Spec.BackupSpec()
	out := schedule.Schedule{
		Name: s.Name, Created: s.CreationTimestamp.Time, Deleting: s.DeletionTimestamp != nil, Expression: s.Spec.Schedule,
		Suspended: s.Spec.IsSuspended(), Cluster: s.Spec.ClusterRef.Name, BackupDeadline: spec.DeadlineOrDefault(), Retains: s.Spec.Retention != nil,
	}
	if s.Spec.TimeZone != nil {
		out.TimeZone = *s.Spec.TimeZone
	}
	if s.Spec.StartingDeadline != nil {
		out.StartingDeadline = s.Spec.StartingDeadline.Duration
	}
	if s.Spec.TestRestore != nil {
		out.TestExpression = s.Spec.TestRestore.Schedule
	}
	// One that cannot be read is as one that is not there: the EtcdBackups tell of the last run too.
	if at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationLastRun]); err == nil {
		out.Recorded = at
	}
	return out
}

// runOf reads what came of an EtcdBackup from where its own passes write it down.
func runOf(b *v1alpha1.EtcdBackup, store v1alpha1.BackupStore) schedule.Run {
	run := schedule.Run{
		Name: b.Name, UID: b.UID, State: schedule.RunActive, Deleting: b.DeletionTimestamp != nil, SameStore: sameStore(b.Spec.Store, store),
		Created: b.CreationTimestamp.Time, Deadline: b.Spec.DeadlineOrDefault(),
	}
	outcome := backup.OutcomeOf(b.Status)
	if record, err := backup.DecodeRecord(b.Annotations[v1alpha1.AnnotationBackupRecord], b.Namespace, b.Name); err == nil && record.Outcome != nil {
		outcome = record.Outcome
	}
	switch {
	case outcome == nil:
		return run
	case outcome.Complete:
		run.State, run.CompletedAt, run.VerifiedAt = schedule.RunComplete, outcome.FinishedAt, outcome.VerifiedAt
		run.Point = schedule.Point{Key: outcome.Facts.Key, Revision: outcome.Facts.Revision, StartedAt: outcome.Facts.StartedAt}
	default:
		run.State = schedule.RunFailed
	}
	run.Reason = outcome.Reason
	return run
}

func (r *EtcdBackupScheduleReconciler) lookAtCluster(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (schedule.Cluster, error) {
	name := s.Spec.ClusterRef.Name
	cluster, err := absentAsNil(ctx, r.Client, s.Namespace, name, &v1alpha1.EtcdCluster{})
	if cluster == nil || err != nil {
		return schedule.Cluster{}, err
	}
	seen := schedule.Cluster{Exists: true, Deleting: cluster.DeletionTimestamp != nil}
	service, err := absentAsNil(ctx, r.Client, s.Namespace, resources.PeerService(name), &corev1.Service{})
	if service == nil || err != nil || !resources.IsControlledBy(service, cluster.UID) {
		return seen, err
	}
	seen.Operator = service.Annotations[v1alpha1.AnnotationOperator]
	return seen, nil
}
