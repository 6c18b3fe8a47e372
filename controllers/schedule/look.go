package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit/jobs"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

func (r *Reconciler) look(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (scheduleplan.Observation, error) {
	seen := scheduleplan.Observation{Now: r.Now(), Operator: r.Operator, Schedule: scheduleOf(s)}
	var err error
	if seen.Cluster, err = r.lookAtCluster(ctx, s); err != nil {
		return seen, err
	}
	var backups v1alpha1.EtcdBackupList
	err = r.Client.List(ctx, &backups, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})
	if err != nil {
		return seen, fmt.Errorf("listing its EtcdBackups: %w", err)
	}
	key, err := r.recordKey(ctx, s)
	if err != nil {
		return seen, err
	}
	for i := range backups.Items {
		if isRunOf(s, &backups.Items[i]) {
			seen.Runs = append(seen.Runs, runOf(&backups.Items[i], s.Spec.Store, key))
		}
	}
	return seen, r.lookAtChores(ctx, s, &seen, key)
}

// recordKey is what the records of the backups are signed with; nil where that Secret is not there.
func (r *Reconciler) recordKey(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (backupplan.Key, error) {
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Spec.ClusterRef.Name}
	cluster, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	return observe.RecordKey(ctx, r.Secrets, name, cluster)
}

// isRunOf tells the EtcdBackups of a schedule from those that an earlier one of its name made of another cluster: they
// outlive it.
func isRunOf(s *v1alpha1.EtcdBackupSchedule, b *v1alpha1.EtcdBackup) bool {
	return b.Labels[v1alpha1.LabelSchedule] == s.Name && b.Spec.ClusterRef.Name == s.Spec.ClusterRef.Name
}

func scheduleOf(s *v1alpha1.EtcdBackupSchedule) scheduleplan.Schedule {
	spec := s.Spec.BackupSpec()
	out := scheduleplan.Schedule{
		Name: s.Name, Created: s.CreationTimestamp.Time, Deleting: s.DeletionTimestamp != nil,
		Expression: s.Spec.Schedule,
		Suspended:  s.Spec.IsSuspended(), Cluster: s.Spec.ClusterRef.Name, BackupDeadline: spec.DeadlineOrDefault(),
		Retains: s.Spec.Retention != nil,
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

// runOf reads what came of an EtcdBackup from where its own passes write it down. When it was complete, and proven,
// counts only where that is signed.
func runOf(b *v1alpha1.EtcdBackup, store v1alpha1.BackupStore, key backupplan.Key) scheduleplan.Run {
	run := scheduleplan.Run{
		Name: b.Name, UID: b.UID, State: scheduleplan.RunActive, Deleting: b.DeletionTimestamp != nil,
		SameStore: sameStore(b.Spec.Store, store),
		Created:   b.CreationTimestamp.Time, Deadline: b.Spec.DeadlineOrDefault(),
	}
	_, run.Ahead = b.Annotations[v1alpha1.AnnotationAhead]
	run.SeenAhead, _ = time.Parse(time.RFC3339, b.Annotations[v1alpha1.AnnotationSeenAhead])
	outcome := backupplan.OutcomeOf(b.Status)
	if record, err := backupplan.RecordOf(b); err == nil && record.Outcome != nil {
		outcome = record.Outcome
	}
	switch {
	case outcome == nil:
		if reason, why := backupplan.Waits(b); reason != backupplan.ReasonRetrying {
			run.HeldUp = why
		}
		return run
	case outcome.Complete:
		run.State, run.Doubted = scheduleplan.RunComplete, key.Complete(b) == nil
		if !run.Doubted {
			run.CompletedAt, run.VerifiedAt = outcome.FinishedAt, outcome.VerifiedAt
		}
		run.CalledProven = !outcome.VerifiedAt.IsZero()
		run.Point = scheduleplan.Point{Key: outcome.Facts.Key, Revision: outcome.Facts.Revision,
			StartedAt: outcome.Facts.StartedAt}
	default:
		run.State, run.Message = scheduleplan.RunFailed, outcome.Message
	}
	run.Reason = outcome.Reason
	return run
}

func (r *Reconciler) lookAtCluster(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (scheduleplan.Cluster, error) {
	name := s.Spec.ClusterRef.Name
	cluster, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, s.Namespace, name)
	if cluster == nil || err != nil {
		return scheduleplan.Cluster{}, err
	}
	seen := scheduleplan.Cluster{Exists: true, Deleting: cluster.DeletionTimestamp != nil,
		Needless: cluster.Spec.NeedsNoBackups(), Asleep: cluster.Spec.Size == 0}
	seen.Operator, err = observe.KeeperOf(ctx, r.Client, cluster, r.Operator)
	return seen, err
}

// lookAtChores reads the Jobs of a schedule and what was recorded of those before.
func (r *Reconciler) lookAtChores(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, seen *scheduleplan.Observation,
	key backupplan.Key) error {
	seen.Pruned = scheduleplan.DecodeRecord(s.Annotations[v1alpha1.AnnotationLastPrune]).AsOf(seen.Now)
	seen.Tested = scheduleplan.DecodeRecord(s.Annotations[v1alpha1.AnnotationLastTest]).AsOf(seen.Now).
		Believed(key.CheckTest(s), key != nil)
	var list batchv1.JobList
	err := r.Client.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})
	if err != nil {
		return fmt.Errorf("listing its Jobs: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int {
		return resources.ScheduledAt(b.Name).Compare(resources.ScheduledAt(a.Name))
	})
	told := map[scheduleplan.Chore]time.Time{scheduleplan.Prune: seen.Pruned.At, scheduleplan.Test: seen.Tested.At}
	for i := range list.Items {
		job, err := r.choreOf(ctx, s, &list.Items[i], told)
		if err != nil {
			return err
		}
		if job == nil {
			continue
		}
		seen.Jobs = append(seen.Jobs, *job)
		if job.End != backupplan.JobRuns && job.At.After(told[job.Chore]) && !job.At.After(seen.Now) {
			told[job.Chore] = job.At
		}
	}
	return nil
}

// choreOf is a Job as a plain value; nil when it is not the schedule's. The Pods of one that ended no later than what
// is told of its chore, by the record or by a newer Job, are not asked any more.
func (r *Reconciler) choreOf(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, job *batchv1.Job, told map[scheduleplan.Chore]time.Time,
) (*scheduleplan.Job, error) {
	at, chore := resources.ScheduledAt(job.Name), scheduleplan.Chore(job.Labels[v1alpha1.LabelComponent])
	out := scheduleplan.Job{Name: job.Name, Chore: chore, At: at, Job: jobs.Of(job, s)}
	last, ok := told[chore]
	if out.Foreign || !ok || at.IsZero() {
		return nil, nil
	}
	if out.End != backupplan.JobRuns && !at.After(last) {
		return &out, nil
	}
	reader := client.Reader(r.Client)
	if out.End != backupplan.JobRuns { // its last words count, and the cache may not have them yet
		reader = r.Live
	}
	pods, err := jobs.PodsOf(ctx, reader, job, v1alpha1.LabelSchedule)
	out.Pods = jobs.AttemptsOf(pods)
	out.Job = jobs.ByAttempts(out.Job, out.Pods)
	if err == nil && out.End == backupplan.JobRuns {
		out.Trouble = jobs.Explain(ctx, r.Live, job, pods, out.Pods)
	}
	return &out, err
}

// clusterOf is the cluster that is backed up. One that is gone by now makes a decision stale.
func (r *Reconciler) clusterOf(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (*v1alpha1.EtcdCluster, error) {
	cluster, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, s.Namespace, s.Spec.ClusterRef.Name)
	if cluster == nil && err == nil {
		err = apply.ErrStale
	}
	return cluster, err
}

func (r *Reconciler) startChore(ctx context.Context,
	s *v1alpha1.EtcdBackupSchedule) (*v1alpha1.EtcdCluster, resources.BackupStart, error) {
	var start resources.BackupStart
	cluster, err := r.clusterOf(ctx, s)
	if err != nil {
		return nil, start, err
	}
	if start.Platform, err = r.ForTasks(ctx); err != nil {
		return nil, start, err
	}
	if start.AgentImage == "" {
		return nil, start, apply.Rejected{Reason: backupplan.ReasonAgentImageUnknown,
			Message: "The operator does not know which image it runs from: start it with --agent-image."}
	}
	_, err = jobs.Start(ctx, r.Client, cluster, &start)
	return cluster, start, err
}

// findRun is the EtcdBackup of a run, as it was seen and no other one of its name.
func (r *Reconciler) findRun(ctx context.Context, s *v1alpha1.EtcdBackupSchedule,
	run scheduleplan.Run) (*v1alpha1.EtcdBackup, error) {
	b, err := observe.Find[v1alpha1.EtcdBackup](ctx, r.Client, s.Namespace, run.Name)
	if err == nil && (b == nil || b.UID != run.UID) {
		err = apply.ErrStale
	}
	return b, err
}

// isTaken reports whether an object of that name is there which is not the schedule's own.
func (r *Reconciler) isTaken(ctx context.Context, object client.Object, isOwn func(client.Object) bool) (bool, error) {
	found := object.DeepCopyObject().(client.Object)
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), found)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return !isOwn(found), nil
}
