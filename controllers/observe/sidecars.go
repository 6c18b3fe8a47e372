package observe

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// nativeSidecars are the init containers that are restarted always, ours and those of others. The kubelet counts them
// when it says whether a Pod is ready.
func nativeSidecars(pod *corev1.Pod) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		status := found(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == c.Name
		})
		if status == nil {
			status = &corev1.ContainerStatus{Name: c.Name}
		}
		all = append(all, *status)
	}
	return all
}

// sidecarsOf are those that the Pod was made with.
func sidecarsOf(pod *corev1.Pod) []facts.Sidecar {
	in, err := resources.DecodeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
	if err != nil {
		return nil
	}
	names := in.SidecarNames()
	var all []facts.Sidecar
	for _, c := range nativeSidecars(pod) {
		if slices.Contains(names, c.Name) {
			all = append(all, sidecarOf(c))
		}
	}
	return all
}

func sidecarOf(c corev1.ContainerStatus) facts.Sidecar {
	s := facts.Sidecar{Name: c.Name, Ready: c.Ready}
	if running := c.State.Running; running != nil && lastEnd(c) != nil {
		s.Since = running.StartedAt.Time
	}
	if waiting := c.State.Waiting; waiting != nil {
		s.Waiting, s.Says = waiting.Reason, waiting.Message
	}
	if ended := lastEnd(c); ended != nil {
		s.Says = lastWordsOf(ended)
	}
	return s
}

// fillStartsAfter says which container keeps etcd from starting: etcd starts once those before it have.
func fillStartsAfter(p *facts.Pod, pod *corev1.Pod) {
	for _, c := range pod.Status.InitContainerStatuses {
		waiting, ended := c.State.Waiting, lastEnd(c)
		switch {
		case waiting != nil && facts.StartProblems[waiting.Reason] != "":
			p.StartsAfter, p.Waiting, p.Message = c.Name, waiting.Reason, waiting.Message
			return
		case c.State.Running == nil && ended != nil && (ended.ExitCode != 0 || c.RestartCount > 0):
			p.StartsAfter, p.Waiting, p.Message = c.Name, facts.WaitingForCrash, lastWordsOf(ended)
			return
		}
	}
}

// lastEnd is how a container last ended; nil when it never did.
func lastEnd(c corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if c.State.Terminated != nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}

func lastWordsOf(t *corev1.ContainerStateTerminated) string {
	says := fmt.Sprintf("it stopped with exit code %d", t.ExitCode)
	if words := etcdutil.LastWords(t.Message); words != "" {
		says += ": " + words
	}
	return says
}
