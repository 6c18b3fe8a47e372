package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit/jobs"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
)

// keepFinishedJobs is how long a Job, its Pods and their logs stay after the outcome was recorded.
const keepFinishedJobs = 3600 // seconds

// apply makes one change. What the platform refuses comes as apply.Rejected or apply.Later; apply.ErrStale asks to look
// again.
func (r *Reconciler) apply(ctx context.Context, b *v1alpha1.EtcdBackup, seen view, change backupplan.Change) error {
	switch change := change.(type) {
	case backupplan.CreateJob:
		start := seen.start
		start.Deadline, start.Schedule = change.Deadline, scheduleplan.Of(b.Name, b.Labels[v1alpha1.LabelSchedule])
		return r.Create(ctx, b, resources.BuildBackupJob(b, seen.cluster, start))
	case backupplan.RecordJob:
		record := seen.Record
		record.JobUID = change.UID
		return r.record(ctx, b, record, nil)
	case backupplan.RecordOutcome:
		return r.recordOutcome(ctx, b, seen, change)
	case backupplan.EndTask:
		return r.Delete(ctx, b, jobs.ToEnd(b.Namespace, resources.BackupJob(b), change), types.UID(change.UID))
	case backupplan.LeaveAlone:
		dressing := resources.LeftAlone(b, map[string]string{v1alpha1.LabelCluster: b.Spec.ClusterRef.Name})
		return r.Edit(ctx, b, func(updated client.Object) { dressing.Put(updated) })
	case backupplan.ReleaseJob:
		return r.releaseJob(ctx, b, change.UID)
	}
	return fmt.Errorf("the change %T of the backup %s is unknown", change, client.ObjectKeyFromObject(b))
}

// recordOutcome writes down what came of a backup. One that cannot be signed is recorded all the same: a backup that
// does not count as proven is better than one whose place in the store is lost.
func (r *Reconciler) recordOutcome(ctx context.Context, b *v1alpha1.EtcdBackup, seen view,
	change backupplan.RecordOutcome) error {
	var key backupplan.Key
	if change.Signed {
		var (
			err      error
			rejected apply.Rejected
		)
		if key, err = r.keyToSign(ctx, b, seen.cluster); errors.As(err, &rejected) {
			log.FromContext(ctx).Info("a complete backup is not signed", "reason", rejected.Reason, "message",
				rejected.Message)
		} else if err != nil {
			return err
		}
	}
	record := seen.Record
	record.Outcome = &change.Outcome
	return r.record(ctx, b, record, key)
}

// record writes a record, with its signature where there is a key. The signature of what was there before goes.
func (r *Reconciler) record(
	ctx context.Context, b *v1alpha1.EtcdBackup, record backupplan.Record, key backupplan.Key,
) error {
	text := record.Encode()
	return r.Annotate(ctx, b, map[string]string{v1alpha1.AnnotationBackupRecord: text,
		v1alpha1.AnnotationBackupSignature: key.Sign(b, text)})
}

// keyToSign is the key as it is now. A cluster without a CA gets one of its own.
func (r *Reconciler) keyToSign(ctx context.Context, b *v1alpha1.EtcdBackup,
	cluster *v1alpha1.EtcdCluster) (backupplan.Key, error) {
	key, err := r.recordKeyNow(ctx, b, cluster)
	if key != nil || err != nil || cluster == nil || cluster.Spec.IsTLS() {
		return key, err
	}
	err = r.Create(ctx, b, resources.BuildRecordsSecret(cluster, []byte(rand.Text())))
	if err != nil && !errors.Is(err, apply.ErrStale) { // stale: there is one, of another backup's pass or without a key
		return nil, err
	}
	return r.recordKeyNow(ctx, b, cluster)
}

// releaseJob lets Kubernetes delete the Job after a while.
func (r *Reconciler) releaseJob(ctx context.Context, b *v1alpha1.EtcdBackup, uid string) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: resources.BackupJob(b)}}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"ttlSecondsAfterFinished":%d}}`, uid, keepFinishedJobs)
	err := r.Client.Patch(ctx, job, client.RawPatch(types.MergePatchType, patch), apply.FieldOwner)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), isOfAnother(err): // gone, or another one of that name
		return apply.ErrStale
	case err != nil:
		return apply.Answer(err, "giving the Job "+job.Name+" a time to live")
	}
	r.Unseen.Wrote(client.ObjectKeyFromObject(b), job)
	return nil
}

// isOfAnother reports that a patch was refused since it named the UID of an object that is gone. Anything else that is
// invalid was refused by a webhook or a policy.
func isOfAnother(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
