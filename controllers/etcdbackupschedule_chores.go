package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
)

const (
	// pruneWindow is how long the list of what is held is believed, from when it was made: what a restore that begins later is to
	// read is in no danger. It is time enough for an image to be pulled, and for the store to be looked through.
	pruneWindow = 5 * time.Minute
	// pruneDeadline is how long a Job that looks after retention may take; a little longer, so that its Pod says why it gave up.
	pruneDeadline = pruneWindow + time.Minute
)

// lookAtChores reads the Jobs of a schedule and what was recorded of those before.
func (r *EtcdBackupScheduleReconciler) lookAtChores(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, seen *schedule.Observation) error {
	seen.Pruned = schedule.DecodeRecord(s.Annotations[v1alpha1.AnnotationLastPrune]).AsOf(seen.Now)
	seen.Tested = schedule.DecodeRecord(s.Annotations[v1alpha1.AnnotationLastTest]).AsOf(seen.Now)
	var jobs batchv1.JobList
	err := r.Client.List(ctx, &jobs, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: s.Name})
	if err != nil {
		return fmt.Errorf("listing its Jobs: %w", err)
	}
	slices.SortFunc(jobs.Items, func(a, b batchv1.Job) int {
		return resources.ScheduledAt(b.Name).Compare(resources.ScheduledAt(a.Name))
	})
	told := map[schedule.Chore]time.Time{schedule.Prune: seen.Pruned.At, schedule.Test: seen.Tested.At}
	for i := range jobs.Items {
		job, err := r.choreOf(ctx, s, &jobs.Items[i], told)
		if err != nil {
			return err
		}
		if job == nil {
			continue
		}
		seen.Jobs = append(seen.Jobs, *job)
		if job.End != backup.JobRuns && job.At.After(told[job.Chore]) && !job.At.After(seen.Now) {
			told[job.Chore] = job.At
		}
	}
	return nil
}

// choreOf is a Job as a plain value; nil when it is not the schedule's. The Pods of one that ended no later than what is told of
// its chore, by the record or by a newer Job, are not asked any more.
func (r *EtcdBackupScheduleReconciler) choreOf(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, job *batchv1.Job, told map[schedule.Chore]time.Time,
) (*schedule.Job, error) {
	at, chore := resources.ScheduledAt(job.Name), schedule.Chore(job.Labels[v1alpha1.LabelComponent])
	out := schedule.Job{Name: job.Name, Chore: chore, At: at, Job: jobOf(job, s)}
	last, is := told[chore]
	if out.Foreign || !is || at.IsZero() {
		return nil, nil
	}
	if out.End != backup.JobRuns && !at.After(last) {
		return &out, nil
	}
	reader := client.Reader(r.Client)
	if out.End != backup.JobRuns { // its last words count, and the cache may not have them yet
		reader = r.Live
	}
	pods, err := podsOfJob(ctx, reader, job, v1alpha1.LabelSchedule)
	if out.Pods = attemptsOf(pods); err == nil && out.End == backup.JobRuns {
		r.lookAtEvents(ctx, job, pods, &out.Job, out.Pods)
	}
	return &out, err
}

// doChores makes each change of the chores. One that the platform refuses keeps no other from being made.
func (r *EtcdBackupScheduleReconciler) doChores(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, d schedule.Decision,
) (decided schedule.Decision, isDone bool, err error) {
	for _, change := range d.Chores {
		log.FromContext(ctx).Info("schedule", "cluster", s.Spec.ClusterRef.Name, "change", fmt.Sprintf("%T", change))
		err := r.applyChore(ctx, s, change)
		if err == nil {
			r.tell(s, schedule.Made(change))
		}
		refused, err := answerOf(err)
		switch {
		case err != nil:
			return d, false, err
		case refused != nil:
			d = d.ChoreRefused(change, refused.reason, refused.message, afterRejected)
		default:
			return d, true, nil // what was seen is not so any more
		}
	}
	return d, false, nil
}

func (r *EtcdBackupScheduleReconciler) applyChore(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change schedule.Change) error {
	switch change := change.(type) {
	case schedule.DeleteRuns:
		return r.deleteRuns(ctx, s, change.Runs)
	case schedule.RecordChore:
		annotation := v1alpha1.AnnotationLastPrune
		if change.Chore == schedule.Test {
			annotation = v1alpha1.AnnotationLastTest
		}
		return r.annotate(ctx, s, annotation, change.Record.Encode())
	case schedule.BeginPrune:
		return r.beginPrune(ctx, s, change)
	case schedule.BeginTest:
		return r.beginTest(ctx, s, change)
	}
	return fmt.Errorf("the chore %T of the schedule %s is unknown", change, client.ObjectKeyFromObject(s))
}

// deleteRuns deletes EtcdBackups as they were seen, and no other ones of their names.
func (r *EtcdBackupScheduleReconciler) deleteRuns(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, runs []schedule.Run) error {
	for _, run := range runs {
		b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: run.Name}}
		options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
		uid := run.UID
		err := r.Client.Delete(ctx, b, append(options, client.Preconditions{UID: &uid})...)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return apply.Answer(err, "deleting the EtcdBackup "+run.Name)
		}
		r.unseen.deleted(client.ObjectKeyFromObject(s), b, run.UID)
	}
	return nil
}

func (r *EtcdBackupScheduleReconciler) beginPrune(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change schedule.BeginPrune) error {
	cluster, start, err := r.startChore(ctx, s)
	if err != nil {
		return err
	}
	until := r.Now().Add(pruneWindow)
	held, err := r.held(ctx, cluster)
	if err != nil {
		return err
	}
	return r.createChore(ctx, s, resources.BuildPruneJob(s, cluster, resources.PruneStart{
		AgentImage: start.AgentImage, PullSecrets: start.PullSecrets, At: change.At, Retention: retentionOf(s), Held: held, NotAfter: until, Ask: change.Ask,
		Deadline: pruneDeadline,
	}))
}

func retentionOf(s *v1alpha1.EtcdBackupSchedule) resources.Retention {
	spec, out := s.Spec.Retention, resources.Retention{}
	for from, to := range map[*int32]*int32{spec.KeepLast: &out.KeepLast, spec.KeepDaily: &out.KeepDaily, spec.KeepWeekly: &out.KeepWeekly} {
		if from != nil {
			*to = *from
		}
	}
	if spec.KeepWithin != nil {
		out.KeepWithin = spec.KeepWithin.Duration
	}
	if s.Spec.TimeZone != nil {
		out.TimeZone = *s.Spec.TimeZone
	}
	return out
}

func (r *EtcdBackupScheduleReconciler) beginTest(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change schedule.BeginTest) error {
	cluster, start, err := r.startChore(ctx, s)
	if err != nil {
		return err
	}
	if start.EtcdImage == "" {
		return apply.Later{Reason: backup.ReasonNoMembers, Message: fmt.Sprintf(
			"EtcdCluster %s has no member's Pod, whose image restores the backup.", cluster.Name)}
	}
	spec := s.Spec.BackupSpec()
	return r.createChore(ctx, s, resources.BuildTestRestoreJob(s, cluster, resources.TestRestoreStart{
		AgentImage: start.AgentImage, EtcdImage: start.EtcdImage, PullPolicy: start.PullPolicy, PullSecrets: start.PullSecrets,
		At: change.At, Deadline: spec.DeadlineOrDefault(),
	}))
}

// startChore reads what the Job of a chore is made from.
func (r *EtcdBackupScheduleReconciler) startChore(ctx context.Context, s *v1alpha1.EtcdBackupSchedule) (*v1alpha1.EtcdCluster, resources.BackupStart, error) {
	var start resources.BackupStart
	cluster, err := absentAsNil(ctx, r.Client, s.Namespace, s.Spec.ClusterRef.Name, &v1alpha1.EtcdCluster{})
	if err != nil {
		return nil, start, err
	}
	if cluster == nil {
		return nil, start, apply.ErrStale
	}
	if start.AgentImage, err = r.AgentImage(ctx); err != nil {
		return nil, start, err
	}
	if start.AgentImage == "" {
		return nil, start, apply.Rejected{Reason: backup.ReasonAgentImageUnknown, Message: "The operator does not know which image it runs from: start it with --agent-image."}
	}
	_, err = r.startOf(ctx, cluster, &start)
	return cluster, start, err
}

// createChore tells a Job of this schedule that the cache does not show yet from somebody else's.
func (r *EtcdBackupScheduleReconciler) createChore(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, job *batchv1.Job) error {
	err := r.create(ctx, s, job)
	if !errors.Is(err, apply.ErrStale) {
		return err
	}
	is, readErr := absentAsNil(ctx, r.Live, job.Namespace, job.Name, &batchv1.Job{})
	if readErr != nil || is == nil || resources.IsControlledBy(is, s.UID) {
		return errors.Join(readErr, err)
	}
	return apply.Rejected{Reason: schedule.ReasonNameTaken, Message: fmt.Sprintf("The Job %s, whose name is needed, is there and is not of this schedule. Delete it.", job.Name)}
}

// sameStore reports whether backups lie in the same place, whatever they are reached with.
func sameStore(a, b v1alpha1.BackupStore) bool {
	return placeOf(a) == placeOf(b)
}

func placeOf(store v1alpha1.BackupStore) string {
	var parts []string
	switch {
	case store.S3 != nil:
		parts = []string{"s3", store.S3.Endpoint, store.S3.Bucket, store.S3.Prefix}
	case store.GCS != nil:
		parts = []string{"gcs", store.GCS.Endpoint, store.GCS.Bucket, store.GCS.Prefix}
	case store.Azure != nil:
		parts = []string{"azure", store.Azure.Endpoint, store.Azure.Container, store.Azure.Prefix}
	case store.Volume != nil:
		parts = []string{"volume", store.Volume.ClaimName, store.Volume.Path}
	}
	for i := range parts {
		parts[i] = strconv.Quote(parts[i])
	}
	return strings.Join(parts, " ")
}
