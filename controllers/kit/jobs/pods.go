package jobs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	backup "github.com/etcdsteward/etcd-steward/controllers/backup/plan"
)

// AttemptsOf are a Job's Pods as plain values, in the same order.
func AttemptsOf(pods []corev1.Pod) []backup.Attempt {
	attempts := make([]backup.Attempt, 0, len(pods))
	for i := range pods {
		attempts = append(attempts, attemptOfPod(&pods[i]))
	}
	return attempts
}

func attemptOfPod(pod *corev1.Pod) backup.Attempt {
	a := backup.Attempt{
		Name: pod.Name, Created: pod.CreationTimestamp.Time, Good: pod.Status.Phase == corev1.PodSucceeded,
		Ended: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
	}
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" {
		a.Lost = strings.TrimSuffix(pod.Status.Reason+": "+pod.Status.Message, ": ")
	}
	// it may take as long as its node is away; the Job does not wait for it
	if pod.DeletionTimestamp != nil && !a.Ended {
		a.Ended, a.Lost = true, "Deleted: the Pod is being deleted"
	}
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		step := backup.Step{Name: container.Name, State: backup.StepWaits}
		for _, status := range statuses {
			if status.Name == container.Name {
				fillStep(&step, status.State)
			}
		}
		a.Steps = append(a.Steps, step)
	}
	if !a.Ended {
		a.Trouble = troubleOf(pod, statuses)
	}
	return a
}

func fillStep(step *backup.Step, state corev1.ContainerState) {
	switch {
	case state.Running != nil:
		step.State, step.StartedAt = backup.StepRuns, state.Running.StartedAt.Time
	case state.Terminated != nil:
		step.State = backup.StepDone
		if state.Terminated.ExitCode != 0 {
			step.State = backup.StepBroken
		}
		step.Message = state.Terminated.Message
		if step.Message == "" && state.Terminated.ExitCode != 0 {
			step.Message = fmt.Sprintf("%s, exit code %d", state.Terminated.Reason, state.Terminated.ExitCode)
		}
		step.StartedAt, step.FinishedAt = state.Terminated.StartedAt.Time, state.Terminated.FinishedAt.Time
	}
}

// ordinary are words of the kubelet for a container that waits and has no trouble.
var ordinary = []string{"", "PodInitializing", "ContainerCreating"}

var imageTrouble = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
	"ImageInspectError", "RegistryUnavailable"}

// troubleOf is what the Pod itself says of why it does not get on.
func troubleOf(pod *corev1.Pod, statuses []corev1.ContainerStatus) *backup.Trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return &backup.Trouble{Reason: backup.ReasonUnschedulable, Message: c.Message}
		}
	}
	for _, status := range statuses {
		waiting := status.State.Waiting
		if waiting == nil || slices.Contains(ordinary, waiting.Reason) {
			continue
		}
		trouble := backup.Trouble{Reason: backup.ReasonContainerNotStarting, Message: waiting.Reason + ": " +
			waiting.Message}
		if slices.Contains(imageTrouble, waiting.Reason) {
			trouble.Reason = backup.ReasonImagePullFailed
		}
		return &trouble
	}
	return nil
}

// startsNothing reports that a Pod has its node, starts nothing, and does not say why.
func startsNothing(pod *corev1.Pod, a *backup.Attempt) bool {
	return pod.Spec.NodeName != "" && !a.Ended && a.Trouble == nil &&
		!slices.ContainsFunc(a.Steps, func(s backup.Step) bool { return s.State != backup.StepWaits })
}

// refusalOf says why no Pod may be made for a Job, from the words in which the job controller repeats the API server's.
func refusalOf(message string) string {
	switch {
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "failed quota"):
		return backup.ReasonQuotaExceeded
	case strings.Contains(message, "violates PodSecurity"):
		return backup.ReasonPodSecurity
	}
	return backup.ReasonPodRefused
}

func mountTrouble(reason string) string {
	switch reason {
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
		return backup.ReasonVolumeNotMounted
	}
	return backup.ReasonContainerNotStarting
}
