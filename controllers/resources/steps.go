package resources

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ownSteps are the names of the containers that the operator makes for tasks.
var ownSteps = []string{StepSnapshot, StepFetch, StepRestore, StepCompare, StepPrune, StepPreflight, StepActivate,
	StepHold}

// Step is a container of a task, and what its kubelet says of it.
type Step struct {
	corev1.Container
	State corev1.ContainerState // empty: nothing yet
}

// Ended reports whether a step is over, and went well.
func (s Step) Ended() (ended, good bool) {
	return s.State.Terminated != nil, s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
}

// Steps are a task's containers, in the order in which they run. What a webhook put into the Pod beside them is none of
// them: it may never end.
func Steps(pod *corev1.Pod) []Step {
	said := map[string]corev1.ContainerState{}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		said[status.Name] = status.State
	}
	var steps []Step
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if slices.Contains(ownSteps, container.Name) {
			steps = append(steps, Step{Container: container, State: said[container.Name]})
		}
	}
	return steps
}

// TaskPhase is how a task stands by its steps: it has failed with the first that does, and succeeded with the last.
// While they say neither, it is how its Pod stands. The kubelet tells of a container about a second before it tells of
// the Pod, and of a Pod in which something else goes on running not at all.
func TaskPhase(pod *corev1.Pod) corev1.PodPhase {
	steps := Steps(pod)
	isThrough := len(steps) > 0
	for _, step := range steps {
		ended, good := step.Ended()
		if ended && !good {
			return corev1.PodFailed
		}
		isThrough = isThrough && good
	}
	if isThrough {
		return corev1.PodSucceeded
	}
	return pod.Status.Phase
}
