package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// backupView is what a pass over a backup saw: the plain value that is decided on, and what a Job is made from.
type backupView struct {
	backup.Observation
	cluster *v1alpha1.EtcdCluster // nil: there is none
	start   resources.BackupStart
}

// look reads everything that a decision needs.
func (r *EtcdBackupReconciler) look(ctx context.Context, b *v1alpha1.EtcdBackup) (backupView, error) {
	seen := backupView{Observation: backup.Observation{Now: r.Now(), Operator: r.Operator, Backup: backupOf(b)}}
	record, err := backup.DecodeRecord(b.Annotations[v1alpha1.AnnotationBackupRecord], b.Namespace, b.Name)
	if err != nil {
		seen.Backup.RecordErr = err.Error()
	}
	seen.Record = record
	if err := r.lookAtJob(ctx, b, &seen); err != nil {
		return seen, err
	}
	return seen, r.lookAtCluster(ctx, b, &seen)
}

func backupOf(b *v1alpha1.EtcdBackup) backup.Backup {
	out := backup.Backup{
		Cluster: b.Spec.ClusterRef.Name, Created: b.CreationTimestamp.Time, Deadline: b.Spec.DeadlineOrDefault(), Verify: b.Spec.IsVerified(),
		Deleting: b.DeletionTimestamp != nil,
	}
	if b.Status.JobName == "" || b.Status.JobName == resources.BackupJob(b) { // otherwise the status was copied from another one
		out.Ended = backup.OutcomeOf(b.Status)
	}
	for _, c := range b.Status.Conditions {
		if c.Type == v1alpha1.BackupComplete {
			out.Said = c.Message
		}
	}
	return out
}

// lookAtCluster reads whether there is something to back up, and what from.
func (r *EtcdBackupReconciler) lookAtCluster(ctx context.Context, b *v1alpha1.EtcdBackup, seen *backupView) error {
	cluster, err := absentAsNil(ctx, r.Client, b.Namespace, b.Spec.ClusterRef.Name, &v1alpha1.EtcdCluster{})
	if cluster == nil || err != nil {
		return err
	}
	seen.cluster = cluster
	seen.Cluster = backup.Cluster{Exists: true, Deleting: cluster.DeletionTimestamp != nil}
	if seen.Record.Outcome != nil {
		return nil // it has no say any more
	}
	if err := r.lookAtBirth(ctx, cluster, seen); err != nil {
		return err
	}
	if seen.Job.Exists {
		return nil // it is made from the cluster as it was
	}
	return r.lookAtStart(ctx, b, seen)
}

// lookAtStart reads what a Job is made from.
func (r *EtcdBackupReconciler) lookAtStart(ctx context.Context, b *v1alpha1.EtcdBackup, seen *backupView) (err error) {
	if seen.Backup.ClaimOf, err = memberOfClaim(ctx, r.Client, b.Namespace, b.Spec.Store); err != nil {
		return err
	}
	if seen.start.AgentImage, err = r.AgentImage(ctx); err != nil {
		return err
	}
	seen.AgentImage = seen.start.AgentImage
	seen.Cluster.Members, err = r.startOf(ctx, seen.cluster, &seen.start)
	return err
}

// startOf takes the image that a member runs, and returns how many members there are.
func (f *frame) startOf(ctx context.Context, cluster *v1alpha1.EtcdCluster, start *resources.BackupStart) (int, error) {
	var pods corev1.PodList
	err := f.Client.List(ctx, &pods, client.InNamespace(cluster.Namespace), client.MatchingLabels(resources.MemberSelector(cluster.Name)))
	if err != nil {
		return 0, fmt.Errorf("listing the members' Pods of %s: %w", keyOf(cluster), err)
	}
	members := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !resources.IsControlledBy(&pod, cluster.UID) })
	return startFrom(members, start), nil
}

// memberOfClaim is the member whose own volume a store is; empty when it is nobody's.
func memberOfClaim(ctx context.Context, reader client.Reader, namespace string, store v1alpha1.BackupStore) (string, error) {
	if store.Volume == nil {
		return "", nil
	}
	claim, err := absentAsNil(ctx, reader, namespace, store.Volume.ClaimName, &corev1.PersistentVolumeClaim{})
	if claim == nil || err != nil || claim.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue ||
		claim.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentMember {
		return "", err
	}
	return fmt.Sprintf("member %s of EtcdCluster %s", claim.Labels[v1alpha1.LabelMember], claim.Labels[v1alpha1.LabelInstance]), nil
}

// lookAtBirth reads who looks after the cluster and whether it has served, from where the cluster's own passes write it down.
func (r *EtcdBackupReconciler) lookAtBirth(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen *backupView) error {
	service, err := absentAsNil(ctx, r.Client, cluster.Namespace, resources.PeerService(cluster.Name), &corev1.Service{})
	if service == nil || err != nil || !resources.IsControlledBy(service, cluster.UID) {
		return err
	}
	seen.Cluster.Operator = service.Annotations[v1alpha1.AnnotationOperator]
	text, is := service.Annotations[v1alpha1.AnnotationBirth]
	if !is {
		return nil
	}
	birth, err := resources.DecodeBirth(text)
	if err != nil {
		return nil //nolint:nilerr // the cluster's own passes say so, and until it is put right nobody knows which cluster this is
	}
	seen.Cluster.Born = birth.ClusterID != 0 && !birth.Void
	seen.start.ClusterID, seen.start.Incarnation = birth.ClusterID, birth.Counter
	return nil
}

// startFrom takes the image that a member runs: it is on a node already, and its etcdutl reads what that member wrote. It
// returns how many members there are.
func startFrom(pods []corev1.Pod, start *resources.BackupStart) int {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	isChosen := false
	for _, pod := range pods {
		start.Members = append(start.Members, pod.Name)
		_, _, err := resources.NormalizeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
		etcd := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == resources.Container })
		if err != nil || etcd < 0 || isChosen {
			continue
		}
		start.EtcdImage, start.PullPolicy = pod.Spec.Containers[etcd].Image, pod.Spec.Containers[etcd].ImagePullPolicy
		start.PullSecrets = pod.Spec.ImagePullSecrets
		isChosen = isReady(&pod) // one that serves is preferred
	}
	if start.EtcdImage == "" {
		return 0
	}
	return len(pods)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// lookAtJob reads the Job and its Pods. That there is none is believed of the API server alone: a Job that was recorded and
// is gone is the end of the backup.
func (r *EtcdBackupReconciler) lookAtJob(ctx context.Context, b *v1alpha1.EtcdBackup, seen *backupView) error {
	job, err := absentAsNil(ctx, r.Client, b.Namespace, resources.BackupJob(b), &batchv1.Job{})
	if job == nil && err == nil && seen.Record.Outcome == nil {
		job, err = absentAsNil(ctx, r.Live, b.Namespace, resources.BackupJob(b), &batchv1.Job{})
	}
	if job == nil || err != nil {
		return err
	}
	seen.Job = jobOf(job, b)
	if seen.Job.Foreign || seen.Record.Outcome != nil {
		return nil
	}
	pods, err := r.lookAtPods(ctx, job, seen)
	if err == nil && seen.Job.End == backup.JobRuns {
		r.lookAtEvents(ctx, job, pods, &seen.Job, seen.Attempts)
		r.lookAtProgress(ctx, pods, seen)
	}
	return err
}

// lookAtPods reads the attempts from the cache, unless what it has does not tell how the Job ended.
func (r *EtcdBackupReconciler) lookAtPods(ctx context.Context, job *batchv1.Job, seen *backupView) ([]corev1.Pod, error) {
	pods, err := podsOfJob(ctx, r.Client, job, v1alpha1.LabelBackup)
	if err != nil {
		return nil, err
	}
	if seen.Attempts = attemptsOf(pods); seen.Job.End == backup.JobRuns || isTold(seen.Observation) {
		return pods, nil
	}
	pods, err = podsOfJob(ctx, r.Live, job, v1alpha1.LabelBackup)
	seen.Attempts = attemptsOf(pods)
	return pods, err
}

// isTold reports whether the Pods as the cache has them tell how the Job ended.
func isTold(o backup.Observation) bool {
	return slices.ContainsFunc(o.Attempts, func(a backup.Attempt) bool { return a.Ended && a.Good == (o.Job.End == backup.JobComplete) })
}

// jobOf is a Job as a plain value; it is somebody else's unless the owner has it. What came of it is decided before it has ended: Kubernetes
// ends it only once all of its Pods have, and one on a node that died never does (kubernetes/kubernetes:pkg/controller/job/job_controller.go).
func jobOf(job *batchv1.Job, owner client.Object) backup.Job {
	out := backup.Job{
		Exists: true, Foreign: !resources.IsControlledBy(job, owner.GetUID()), UID: string(job.UID), Created: job.CreationTimestamp.Time,
		Kept: job.Spec.TTLSecondsAfterFinished == nil, Suspended: job.Spec.Suspend != nil && *job.Spec.Suspend,
	}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type { //nolint:exhaustive // the other one is that it is suspended
		case batchv1.JobComplete, batchv1.JobSuccessCriteriaMet:
			out.End, out.EndedAt = backup.JobComplete, c.LastTransitionTime.Time
		case batchv1.JobFailed, batchv1.JobFailureTarget:
			out.End, out.EndedAt, out.Reason, out.Message = backup.JobFailed, c.LastTransitionTime.Time, c.Reason, c.Message
		}
	}
	return out
}

// podsOfJob are a Job's Pods, the oldest first, by a label that they have from it.
func podsOfJob(ctx context.Context, reader client.Reader, job *batchv1.Job, label string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{label: job.Labels[label]})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	mine := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !resources.IsControlledBy(&pod, job.UID) })
	slices.SortFunc(mine, func(a, b corev1.Pod) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return mine, nil
}
