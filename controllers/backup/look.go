package backup

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit/jobs"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// view is what a pass over a backup saw: the plain value that is decided on, and what a Job is made from.
type view struct {
	backupplan.Observation
	cluster *v1alpha1.EtcdCluster // nil: there is none
	start   resources.BackupStart
}

func (r *Reconciler) look(ctx context.Context, b *v1alpha1.EtcdBackup) (view, error) {
	seen := view{Observation: backupplan.Observation{Now: r.Now(), Operator: r.Operator, Backup: backupOf(b)}}
	record, err := backupplan.RecordOf(b)
	if err != nil {
		seen.Backup.RecordErr = err.Error()
	}
	seen.Record = record
	if err := r.lookAtJob(ctx, b, &seen); err != nil {
		return seen, err
	}
	if err := r.lookAtCluster(ctx, b, &seen); err != nil {
		return seen, err
	}
	return seen, r.lookAtSignature(ctx, b, &seen)
}

// lookAtSignature says whether the operator wrote the outcome that is recorded. The key is read only where there is a
// signature to check.
func (r *Reconciler) lookAtSignature(ctx context.Context, b *v1alpha1.EtcdBackup, seen *view) error {
	var key backupplan.Key
	seen.KeySecret = resources.RecordKeySecret(b.Spec.ClusterRef.Name, seen.cluster)
	if seen.Record.Outcome != nil && key.Check(b) != backupplan.SignatureMissing {
		var err error
		if key, err = r.recordKey(ctx, b, seen.cluster); err != nil {
			return err
		}
	}
	seen.Signature = key.Check(b)
	return nil
}

// recordKey is the key of the cluster that a backup is of; nil where there is none.
func (r *Reconciler) recordKey(ctx context.Context, b *v1alpha1.EtcdBackup,
	cluster *v1alpha1.EtcdCluster) (backupplan.Key, error) {
	return observe.RecordKey(ctx, r.Secrets, types.NamespacedName{Namespace: b.Namespace,
		Name: b.Spec.ClusterRef.Name}, cluster)
}

func backupOf(b *v1alpha1.EtcdBackup) backupplan.Backup {
	out := backupplan.Backup{
		Cluster: b.Spec.ClusterRef.Name, Schedule: b.Labels[v1alpha1.LabelSchedule],
		Created: b.CreationTimestamp.Time, Deadline: b.Spec.DeadlineOrDefault(),
		Verify: b.Spec.IsVerified(), Secrets: secretsOf(b.Spec.Store),
		Deleting: b.DeletionTimestamp != nil,
		Marked: b.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue &&
			b.Labels[v1alpha1.LabelInstance] == b.Spec.ClusterRef.Name,
	}
	// otherwise the status was copied from another one
	if b.Status.JobName == "" || b.Status.JobName == resources.BackupJob(b) {
		out.Ended = backupplan.OutcomeOf(b.Status)
	}
	for _, c := range b.Status.Conditions {
		if c.Type == v1alpha1.BackupComplete {
			out.Said = c.Message
		}
	}
	return out
}

// secretsOf are the Secrets that a store is reached with, and the keys that they have to have.
func secretsOf(store v1alpha1.BackupStore) []backupplan.Secret {
	credentials, cas := resources.StoreSecrets(store)
	keys := "the key manifest-key"
	switch {
	case store.S3 != nil:
		keys = "the keys access-key-id and secret-access-key"
	case store.GCS != nil:
		keys = "the key service-account.json"
	case store.Azure != nil:
		keys = "the keys account-name and account-key"
	}
	secrets := []backupplan.Secret{{Name: credentials, Keys: keys}, {Name: cas, Keys: "the key " + resources.KeyCA}}
	return slices.DeleteFunc(secrets, func(s backupplan.Secret) bool { return s.Name == "" })
}

// recordKeyNow is that key as it is, and not as it is remembered.
func (r *Reconciler) recordKeyNow(ctx context.Context, b *v1alpha1.EtcdBackup,
	cluster *v1alpha1.EtcdCluster) (backupplan.Key, error) {
	r.Secrets.Forget(types.NamespacedName{Namespace: b.Namespace,
		Name: resources.RecordKeySecret(b.Spec.ClusterRef.Name, cluster)})
	return r.recordKey(ctx, b, cluster)
}

// lookAtCluster reads whether there is something to back up, and what from.
func (r *Reconciler) lookAtCluster(ctx context.Context, b *v1alpha1.EtcdBackup, seen *view) error {
	cluster, err := observe.Find[v1alpha1.EtcdCluster](ctx, r.Client, b.Namespace, b.Spec.ClusterRef.Name)
	if cluster == nil || err != nil {
		return err
	}
	seen.cluster = cluster
	seen.Cluster = backupplan.Cluster{Exists: true, Deleting: cluster.DeletionTimestamp != nil,
		Asleep: cluster.Spec.Size == 0}
	if seen.Record.Outcome != nil {
		return nil // it has no say any more
	}
	if err := r.lookAtBootstrap(ctx, cluster, seen); err != nil {
		return err
	}
	if seen.Job.Exists {
		return nil // it is made from the cluster as it was
	}
	return r.lookAtStart(ctx, b, seen)
}

func (r *Reconciler) lookAtStart(ctx context.Context, b *v1alpha1.EtcdBackup, seen *view) (err error) {
	if seen.Backup.ClaimOf, err = observe.MemberOfClaim(ctx, r.Client, b.Namespace, b.Spec.Store); err != nil {
		return err
	}
	if seen.start.Platform, err = r.ForTasks(ctx); err != nil {
		return err
	}
	seen.AgentImage = seen.start.AgentImage
	seen.Cluster.Members, err = jobs.Start(ctx, r.Client, seen.cluster, &seen.start)
	return err
}

// lookAtBootstrap reads who looks after the cluster and whether it has served, from where the cluster's own passes
// write it down.
func (r *Reconciler) lookAtBootstrap(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen *view) error {
	var err error
	if seen.Cluster.Operator, err = observe.KeeperOf(ctx, r.Client, cluster, r.Operator); err != nil {
		return err
	}
	service, err := observe.Find[corev1.Service](ctx, r.Client, cluster.Namespace, resources.PeerService(cluster.Name))
	if service == nil || err != nil || !resources.IsControlledBy(service, cluster.UID) {
		return err
	}
	text, ok := service.Annotations[v1alpha1.AnnotationBootstrap]
	if !ok {
		return nil
	}
	bootstrap, err := record.DecodeBootstrap(text)
	if err != nil {
		//nolint:nilerr // the cluster's own passes say so, and until it is put right nobody knows which cluster this is
		return nil
	}
	seen.Cluster.Bootstrapped = bootstrap.ClusterID != 0 && !bootstrap.Void
	seen.start.ClusterID, seen.start.Incarnation = bootstrap.ClusterID, bootstrap.Counter
	return nil
}

// findJob reads the Job. That there is none is believed of the API server alone: a Job that was recorded and is gone is
// the end of the backup.
func (r *Reconciler) findJob(ctx context.Context, b *v1alpha1.EtcdBackup, isOver bool) (*batchv1.Job, error) {
	job, err := observe.Find[batchv1.Job](ctx, r.Client, b.Namespace, resources.BackupJob(b))
	if job == nil && err == nil && !isOver {
		job, err = observe.Find[batchv1.Job](ctx, r.Live, b.Namespace, resources.BackupJob(b))
	}
	return job, err
}

// lookAtJob reads the Job and its Pods. Once the outcome is recorded, they only tell what keeps it from ending.
func (r *Reconciler) lookAtJob(ctx context.Context, b *v1alpha1.EtcdBackup, seen *view) error {
	isOver := seen.Record.Outcome != nil
	job, err := r.findJob(ctx, b, isOver)
	if job == nil || err != nil {
		return err
	}
	seen.Job = jobs.Of(job, b)
	if seen.Job.Foreign || isOver && seen.Job.End != backupplan.JobRuns {
		return nil
	}
	pods, err := r.lookAtPods(ctx, job, seen)
	if err == nil && seen.Job.End == backupplan.JobRuns && !isOver {
		seen.Job.Trouble = jobs.Explain(ctx, r.Live, job, pods, seen.Attempts)
		r.lookAtProgress(ctx, pods, seen)
	}
	return err
}

// lookAtPods reads the attempts from the cache, unless what it has does not tell how the Job ended.
func (r *Reconciler) lookAtPods(ctx context.Context, job *batchv1.Job, seen *view) ([]corev1.Pod, error) {
	pods, err := jobs.PodsOf(ctx, r.Client, job, v1alpha1.LabelBackup)
	if err != nil {
		return nil, err
	}
	seen.Attempts = jobs.AttemptsOf(pods)
	seen.Job = jobs.ByAttempts(seen.Job, seen.Attempts)
	if seen.Job.End == backupplan.JobRuns || isTold(seen.Observation) {
		return pods, nil
	}
	pods, err = jobs.PodsOf(ctx, r.Live, job, v1alpha1.LabelBackup)
	seen.Attempts = jobs.AttemptsOf(pods)
	return pods, err
}

// isTold reports whether the Pods as the cache has them tell how the Job ended.
func isTold(o backupplan.Observation) bool {
	return slices.ContainsFunc(o.Attempts, func(a backupplan.Attempt) bool {
		return a.Ended && a.Good == (o.Job.End == backupplan.JobComplete)
	})
}

func (r *Reconciler) lookAtProgress(ctx context.Context, pods []corev1.Pod, seen *view) {
	if len(pods) == 0 {
		return
	}
	pod, latest := &pods[len(pods)-1], &seen.Attempts[len(seen.Attempts)-1]
	for _, step := range latest.Steps {
		if step.State == backupplan.StepRuns && step.SaysProgress {
			latest.Progress = r.Progress(ctx, pod.Status.PodIP)
		}
	}
}
