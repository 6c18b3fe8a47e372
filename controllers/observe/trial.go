package observe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// trials are the Pods that try another version of etcd beside members.
func (g *gathered) trials() []facts.Trial {
	var out []facts.Trial
	for i := range g.tasks {
		pod := &g.tasks[i]
		member, isTrial := resources.TriedMember(pod.Name)
		if !isTrial {
			continue
		}
		t := facts.Trial{Task: taskOf(pod, g.told[pod.Name]), Member: member, Node: pod.Spec.NodeName,
			Choices: choicesOf(pod)}
		t.GoesOn = !t.HasEnded()
		endWithEtcd(&t.Task, pod)
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b facts.Trial) int { return cmp.Compare(a.Member, b.Member) })
	return out
}

// lastOwnCode is the highest code with which a process ends by itself. A signal adds its number to it, and the kubelet
// gives it where the image has no such program.
const lastOwnCode = 128

// endWithEtcd lets a trial start and end with the container that starts etcd, also beside others that were injected.
// One that a signal ended did not start: its node had no room for it.
func endWithEtcd(t *facts.Task, pod *corev1.Pod) {
	t.Started = false
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != resources.Container {
			continue
		}
		ended := status.State.Terminated
		t.Started = status.State.Running != nil || ended != nil && ended.ExitCode <= lastOwnCode
		switch {
		case ended == nil:
		case ended.ExitCode == 0:
			t.Phase = facts.PodSucceeded
		default:
			t.Phase = facts.PodFailed
			t.Reason, t.Failure = lastWords(ended)
			if t.Finished = ended.FinishedAt.Time; t.Finished.IsZero() {
				t.Finished = t.Created
			}
		}
	}
}
