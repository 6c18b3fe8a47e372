package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/kit/jobs"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// apply makes one change. What the platform refuses comes as apply.Rejected or apply.Later; apply.ErrStale asks to look
// again.
func (r *Reconciler) apply(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.Change) error {
	switch change := change.(type) {
	case scheduleplan.CreateRun:
		return r.createRun(ctx, s, change)
	case scheduleplan.RecordRun:
		return r.Annotate(ctx, s, map[string]string{v1alpha1.AnnotationLastRun: words.Format(change.At)})
	}
	return fmt.Errorf("the change %T of the schedule %s is unknown", change, client.ObjectKeyFromObject(s))
}

// createRun makes the EtcdBackup of a run, or tells one that the cache does not show yet from another. The schedule
// does not own it: it outlives the schedule, as what is in the store does. It has the labels and annotations that the
// cluster passes on at that moment, and keeps them: it tells of a run that is over.
func (r *Reconciler) createRun(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, run scheduleplan.CreateRun) error {
	cluster, err := r.clusterOf(ctx, s)
	if err != nil {
		return err
	}
	b := &v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: run.Name,
			Labels: map[string]string{
				v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelCluster: s.Spec.ClusterRef.Name,
				v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
				v1alpha1.LabelComponent: v1alpha1.ComponentBackup, v1alpha1.LabelSchedule: s.Name,
			},
			Annotations: v1alpha1.LeftAlone(),
		},
		Spec: s.Spec.BackupSpec(),
	}
	resources.DressingOf(cluster, b).Put(b)
	return r.createOwn(ctx, s, b, func(found client.Object) bool { return isRunOf(s, found.(*v1alpha1.EtcdBackup)) },
		fmt.Sprintf("The EtcdBackup %s, whose name this run needs, exists and is not of this schedule. Delete it, or "+
			"wait for the next run.", b.Name))
}

// createOwn tells an object of this schedule that the cache does not show yet from one that is taken by another.
func (r *Reconciler) createOwn(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, object client.Object,
	isOwn func(client.Object) bool, taken string) error {
	err := r.Create(ctx, s, object)
	if !errors.Is(err, apply.ErrStale) {
		return err
	}
	isTaken, readErr := r.isTaken(ctx, object, isOwn)
	if !isTaken || readErr != nil {
		return cmp.Or(readErr, err)
	}
	return apply.Rejected{Reason: scheduleplan.ReasonNameTaken, Message: taken}
}

func (r *Reconciler) applyChore(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.Change) error {
	switch change := change.(type) {
	case scheduleplan.NoteAhead:
		return r.annotateRun(ctx, s, change.Run, v1alpha1.AnnotationSeenAhead)
	case scheduleplan.MarkAhead:
		return r.annotateRun(ctx, s, change.Run, v1alpha1.AnnotationAhead)
	case scheduleplan.DeleteRuns:
		return r.deleteRuns(ctx, s, change.Runs)
	case scheduleplan.RecordChore:
		return r.recordChore(ctx, s, change)
	case scheduleplan.EndTask:
		return r.Delete(ctx, s, jobs.ToEnd(s.Namespace, change.Job, change.EndTask), types.UID(change.UID))
	case scheduleplan.BeginPrune:
		return r.beginPrune(ctx, s, change)
	case scheduleplan.BeginTest:
		return r.beginTest(ctx, s, change)
	}
	return fmt.Errorf("the chore %T of the schedule %s is unknown", change, client.ObjectKeyFromObject(s))
}

// recordChore writes down what came of a chore. What proves something is signed.
func (r *Reconciler) recordChore(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.RecordChore,
) error {
	text := change.Record.Encode()
	if change.Chore != scheduleplan.Test {
		return r.Annotate(ctx, s, map[string]string{v1alpha1.AnnotationLastPrune: text})
	}
	key, err := r.recordKey(ctx, s)
	if err != nil {
		return err
	}
	return r.Annotate(ctx, s, map[string]string{v1alpha1.AnnotationLastTest: text,
		v1alpha1.AnnotationTestSignature: key.SignTest(s, text)})
}

func (r *Reconciler) annotateRun(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, run scheduleplan.Run, key string,
) error {
	b, err := r.findRun(ctx, s, run)
	if err != nil {
		return err
	}
	return r.Annotate(ctx, b, map[string]string{key: words.Format(r.Now())})
}

// deleteRuns deletes EtcdBackups as they were seen, and no other ones of their names.
func (r *Reconciler) deleteRuns(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, runs []scheduleplan.Run) error {
	for _, run := range runs {
		b := &v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: run.Name}}
		if err := r.Delete(ctx, s, b, run.UID); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) createChore(ctx context.Context, s *v1alpha1.EtcdBackupSchedule, job *batchv1.Job) error {
	return r.createOwn(ctx, s, job, func(found client.Object) bool { return resources.IsControlledBy(found, s.UID) },
		fmt.Sprintf("The Job %s, whose name is needed, exists and is not of this schedule. Delete it.", job.Name))
}

const (
	// pruneWindow is how long the list of what is held is believed, from when it was made: what a restore that begins
	// later is to read is in no danger. It is time enough for an image to be pulled, and for the store to be looked
	// through. As far may the clock of the Job's node be behind.
	pruneWindow = 5 * time.Minute
	// pruneDeadline is how long a Job that looks after retention may take; a little longer, so that its Pod says why it
	// gave up.
	pruneDeadline = pruneWindow + time.Minute
)

// doChores makes each change of the chores. One that the platform refuses keeps no other from being made.
func (r *Reconciler) doChores(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, d scheduleplan.Decision,
) (decided scheduleplan.Decision, isDone bool, err error) {
	for _, change := range d.Chores {
		log.FromContext(ctx).Info("schedule", "cluster", s.Spec.ClusterRef.Name, "change", fmt.Sprintf("%T", change))
		err := r.applyChore(ctx, s, change)
		if err == nil {
			r.Tell(s, scheduleplan.Made(change))
		}
		refused, err := kit.Answered(ctx, change, err)
		switch {
		case err != nil:
			return d, false, err
		case refused != nil:
			d = d.ChoreRefused(change, refused.Reason, refused.Message, kit.AfterRejected)
		default:
			return d, true, nil // what was seen is not so any more
		}
	}
	return d, false, nil
}

func (r *Reconciler) beginPrune(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.BeginPrune,
) error {
	cluster, start, err := r.startChore(ctx, s)
	if err != nil {
		return err
	}
	now := r.Now()
	held, err := r.held(ctx, cluster)
	if err != nil {
		return err
	}
	start.Deadline = pruneDeadline
	return r.createChore(ctx, s, resources.BuildPruneJob(s, cluster, resources.PruneStart{
		BackupStart: start, At: change.At, Held: append(held, change.Held...), KeepAll: change.KeepAll,
		Ask: change.Ask, NotBefore: now.Add(-pruneWindow), NotAfter: now.Add(pruneWindow),
	}))
}

func (r *Reconciler) beginTest(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, change scheduleplan.BeginTest,
) error {
	cluster, start, err := r.startChore(ctx, s)
	if err != nil {
		return err
	}
	if start.EtcdImage == "" {
		return apply.Later{Reason: backupplan.ReasonNoMembers, Message: fmt.Sprintf(
			"EtcdCluster %s has no member's Pod, whose image restores the backup.", cluster.Name)}
	}
	spec := s.Spec.BackupSpec()
	start.Deadline = spec.DeadlineOrDefault()
	return r.createChore(ctx, s,
		resources.BuildTestRestoreJob(s, cluster, start, change.At))
}

// sameStore reports whether backups lie in the same place, with the same or other credentials.
func sameStore(a, b v1alpha1.BackupStore) bool {
	return placeOf(a) == placeOf(b)
}

// placeOf is the kind of a store, and what in it tells one place from another.
func placeOf(store v1alpha1.BackupStore) [4]string {
	switch {
	case store.S3 != nil:
		return [4]string{"s3", store.S3.Endpoint, store.S3.Bucket, store.S3.Prefix}
	case store.GCS != nil:
		return [4]string{"gcs", store.GCS.Endpoint, store.GCS.Bucket, store.GCS.Prefix}
	case store.Azure != nil:
		return [4]string{"azure", store.Azure.Endpoint, store.Azure.Container, store.Azure.Prefix}
	case store.Volume != nil:
		return [4]string{"volume", store.Volume.ClaimName, store.Volume.Path}
	}
	return [4]string{}
}
