package jobs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

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

// ordinary are words of the kubelet for a container that waits and has no trouble.
var ordinary = []string{"", "PodInitializing", "ContainerCreating"}

var imageTrouble = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
	"ImageInspectError", "RegistryUnavailable"}

// troubleOf is what the Pod itself says of why it does not get on.
func troubleOf(pod *corev1.Pod) *backupplan.Trouble {
	if _, message := observe.WhyUnscheduled(pod); message != "" {
		return &backupplan.Trouble{Reason: backupplan.ReasonUnschedulable, Message: message}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := status.State.Waiting
		if waiting == nil || slices.Contains(ordinary, waiting.Reason) {
			continue
		}
		trouble := backupplan.Trouble{Reason: backupplan.ReasonContainerNotStarting, Message: waiting.Reason + ": " +
			waiting.Message}
		if slices.Contains(imageTrouble, waiting.Reason) {
			trouble.Reason = backupplan.ReasonImagePullFailed
		}
		return &trouble
	}
	return nil
}

// startsNothing reports that a Pod has its node, starts nothing, and does not say why.
func startsNothing(pod *corev1.Pod, a *backupplan.Attempt) bool {
	return pod.Spec.NodeName != "" && !a.Ended && a.Trouble == nil &&
		!slices.ContainsFunc(a.Steps, func(s backupplan.Step) bool { return s.State != backupplan.StepWaits })
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

func mountTrouble(reason string) string {
	switch reason {
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
		return backupplan.ReasonVolumeNotMounted
	}
	return backupplan.ReasonContainerNotStarting
}
