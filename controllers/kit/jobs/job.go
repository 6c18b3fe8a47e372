// Package jobs reads the Jobs that the agent runs in, as plain values, for the wings of backups and of their schedules.
package jobs

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Of is a Job as a plain value; it is foreign unless the owner has it. What came of it is decided before it has ended:
// Kubernetes ends it only once all of its Pods have, and one on a node that died never does
// (kubernetes/kubernetes:pkg/controller/job/job_controller.go).
func Of(job *batchv1.Job, owner client.Object) backupplan.Job {
	out := backupplan.Job{
		Exists: true, Foreign: !resources.IsControlledBy(job, owner.GetUID()), UID: string(job.UID),
		Created: job.CreationTimestamp.Time,
		Kept:    job.Spec.TTLSecondsAfterFinished == nil, Suspended: job.Spec.Suspend != nil && *job.Spec.Suspend,
	}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type { //nolint:exhaustive // the other one is that it is suspended
		case batchv1.JobComplete, batchv1.JobSuccessCriteriaMet:
			out.End, out.EndedAt = backupplan.JobComplete, c.LastTransitionTime.Time
		case batchv1.JobFailed, batchv1.JobFailureTarget:
			out.End, out.EndedAt, out.Reason, out.Message = backupplan.JobFailed, c.LastTransitionTime.Time, c.Reason,
				c.Message
		}
	}
	return out
}

// ByAttempts is a Job by what its Pods' steps say. Kubernetes waits for everything that runs in them, and calls a Job
// failed for what others put there.
func ByAttempts(job backupplan.Job, attempts []backupplan.Attempt) backupplan.Job {
	for _, a := range attempts {
		if job.End != backupplan.JobComplete && a.Good {
			job.Open = job.End == backupplan.JobRuns
			job.End, job.EndedAt = backupplan.JobComplete, a.Over()
		}
	}
	return job
}

// startFrom takes the image that a member runs: it is on a node already, and its etcdutl reads what that member wrote.
// It returns how many members there are.
func startFrom(pods []corev1.Pod, start *resources.BackupStart) int {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	isChosen := false
	for _, pod := range pods {
		start.Members = append(start.Members, pod.Name)
		_, _, err := resources.NormalizeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
		etcd := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool {
			return c.Name == resources.Container
		})
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

// ToEnd is what ends a task: its Job, or one of the Job's Pods.
func ToEnd(namespace, job string, change backupplan.EndTask) client.Object {
	if change.Pod != "" {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: change.Pod}}
	}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: job}}
}
