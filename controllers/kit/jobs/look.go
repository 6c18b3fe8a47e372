// Package jobs reads the Jobs that the agent runs in, as plain values, for the wings of backups and of their schedules.
package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Start takes the image that a member runs, with what it is pulled with, and returns how many members there are.
func Start(ctx context.Context, reader client.Reader, cluster *v1alpha1.EtcdCluster,
	start *resources.BackupStart) (int, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(cluster.Namespace),
		client.MatchingLabels(resources.MemberSelector(cluster.Name)))
	if err != nil {
		return 0, fmt.Errorf("listing the members' Pods of %s: %w", client.ObjectKeyFromObject(cluster), err)
	}
	members := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return !resources.IsControlledBy(&pod, cluster.UID)
	})
	count := startFrom(members, start)
	start.TLS = resources.AllTakeTLS(members)
	start.PullSecrets = start.Images.AddSecrets(start.PullSecrets)
	return count, nil
}

// PodsOf are a Job's Pods, the oldest first, by a label that they have from it.
func PodsOf(ctx context.Context, reader client.Reader, job *batchv1.Job, label string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{label: job.Labels[label]})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	mine := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !resources.IsControlledBy(&pod, job.UID) })
	slices.SortFunc(mine, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return mine, nil
}

// Explain asks for what neither a Job that runs nor its Pods have in their status, since Kubernetes tells it in events
// only: why no Pod is created, which it returns, or why the volumes of the last one are not mounted, which that attempt
// is given.
func Explain(ctx context.Context, live client.Reader, job *batchv1.Job, pods []corev1.Pod,
	attempts []backupplan.Attempt) *backupplan.Trouble {
	if len(pods) == 0 {
		if said := observe.LastWarning(ctx, live, job.Namespace, job.UID); said != nil {
			return refusalOf(said.Message)
		}
		return nil
	}
	pod, latest := &pods[len(pods)-1], &attempts[len(attempts)-1]
	if latest.Trouble != nil || !observe.StartsNothing(pod) {
		return nil
	}
	if said := observe.LastWarning(ctx, live, pod.Namespace, pod.UID); said != nil {
		latest.Trouble = &backupplan.Trouble{Reason: startReason(said.Reason), Message: said.Message}
	}
	return nil
}

// Of is a Job as a plain value; it is foreign unless the owner has it. What came of it is decided before it has ended:
// Kubernetes ends it only once all of its Pods have, and one on a node that died never does
// (kubernetes/kubernetes:pkg/controller/job/job_controller.go).
func Of(job *batchv1.Job, owner client.Object) backupplan.Job {
	out := backupplan.Job{
		Exists: true, Foreign: !resources.IsControlledBy(job, owner.GetUID()), UID: string(job.UID),
		Created: job.CreationTimestamp.Time,
		Kept:    job.Spec.TTLSecondsAfterFinished == nil, Suspended: job.Spec.Suspend != nil && *job.Spec.Suspend,
	}
	if limit := job.Spec.BackoffLimit; limit != nil {
		out.Tries = 1 + int(*limit)
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

// AttemptsOf are a Job's Pods as plain values, in the same order.
func AttemptsOf(pods []corev1.Pod) []backupplan.Attempt {
	attempts := make([]backupplan.Attempt, 0, len(pods))
	for i := range pods {
		attempts = append(attempts, attemptOfPod(&pods[i]))
	}
	return attempts
}

func attemptOfPod(pod *corev1.Pod) backupplan.Attempt {
	phase := resources.TaskPhase(pod)
	a := backupplan.Attempt{
		Name: pod.Name, UID: string(pod.UID), Created: pod.CreationTimestamp.Time, Good: phase == corev1.PodSucceeded,
		Ended: phase == corev1.PodSucceeded || phase == corev1.PodFailed, Pod: podState(pod),
	}
	for _, own := range resources.Steps(pod) {
		step := backupplan.Step{Name: own.Name, State: backupplan.StepWaits, SaysProgress: len(own.Ports) > 0}
		fillStep(&step, own.State)
		a.Steps = append(a.Steps, step)
	}
	switch {
	case a.Ended:
		a.Lost = whyEnded(pod)
	case pod.DeletionTimestamp != nil: // it may take as long as its node is away; the Job does not wait for it
		a.Ended, a.Lost = true, "Deleted: the Pod is being deleted"
	default:
		a.Trouble = troubleOf(pod)
	}
	return a
}

func podState(pod *corev1.Pod) backupplan.PodState {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return backupplan.PodSucceeded
	case pod.Status.Phase == corev1.PodFailed:
		return backupplan.PodFailed
	case pod.DeletionTimestamp != nil:
		return backupplan.PodDeleting
	}
	return backupplan.PodRuns
}

// whyEnded is why a Pod as a whole was ended, or which container of others failed; empty where none of that is so.
func whyEnded(pod *corev1.Pod) string {
	if pod.Status.Phase != corev1.PodFailed {
		return ""
	}
	if pod.Status.Reason != "" {
		return strings.TrimSuffix(pod.Status.Reason+": "+pod.Status.Message, ": ")
	}
	own := resources.Steps(pod)
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		isOwn := slices.ContainsFunc(own, func(s resources.Step) bool { return s.Name == status.Name })
		if ended := status.State.Terminated; !isOwn && ended != nil && ended.ExitCode != 0 {
			return fmt.Sprintf("container %s, which the operator did not ask for, ended with exit code %d", status.Name,
				ended.ExitCode)
		}
	}
	return ""
}

func fillStep(step *backupplan.Step, state corev1.ContainerState) {
	switch {
	case state.Running != nil:
		step.State, step.StartedAt = backupplan.StepRuns, state.Running.StartedAt.Time
	case state.Terminated != nil:
		step.State = backupplan.StepDone
		if state.Terminated.ExitCode != 0 {
			step.State = backupplan.StepBroken
		}
		step.Message = state.Terminated.Message
		if step.Message == "" && state.Terminated.ExitCode != 0 {
			step.Message = fmt.Sprintf("%s, exit code %d", state.Terminated.Reason, state.Terminated.ExitCode)
		}
		step.StartedAt, step.FinishedAt = state.Terminated.StartedAt.Time, state.Terminated.FinishedAt.Time
	}
}

// troubleOf is what the Pod itself says of why it does not get on.
func troubleOf(pod *corev1.Pod) *backupplan.Trouble {
	if _, message := observe.WhyUnscheduled(pod); message != "" {
		return &backupplan.Trouble{Reason: backupplan.ReasonUnschedulable, Message: message}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Message != "" {
			reason, message := observe.WhyWaiting(waiting)
			return &backupplan.Trouble{Reason: startReason(reason), Message: reason + ": " + message}
		}
	}
	return nil
}

func startReason(waiting string) string {
	return cmp.Or(facts.StartReason(waiting), backupplan.ReasonContainerNotStarting)
}

// refusalOf says why no Pod may be made for a Job, from the words in which the job controller repeats the API server's.
func refusalOf(message string) *backupplan.Trouble {
	reason := backupplan.ReasonPodRefused
	switch {
	case strings.Contains(message, "failed quota") && strings.Contains(message, "must specify"):
		return &backupplan.Trouble{
			Reason: backupplan.ReasonQuotaExceeded, Message: message + ". Set spec.tasks.resources",
		}
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "failed quota"):
		reason = backupplan.ReasonQuotaExceeded
	case strings.Contains(message, "violates PodSecurity"):
		reason = backupplan.ReasonPodSecurity
	}
	return &backupplan.Trouble{Reason: reason, Message: message}
}
