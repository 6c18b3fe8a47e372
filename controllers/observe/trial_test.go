package observe_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func (w *world) trialPod(member string, phase corev1.PodPhase, statuses ...corev1.ContainerStatus) *corev1.Pod {
	w.t.Helper()
	pod, err := resources.BuildTrialPod(w.cluster, resources.TrialStart{Member: member, Node: "node-b",
		Inputs: resources.Inputs(w.cluster)})
	if err != nil {
		w.t.Fatal(err)
	}
	pod.Status = corev1.PodStatus{Phase: phase, ContainerStatuses: statuses}
	return pod
}

func TestATrialIsJoinedByItsMemberAndSaysWhatCameOfIt(t *testing.T) {
	const usage = "flag provided but not defined: -enable-v2\nUsage:\n\n  etcd [flags]\n    Start an etcd server.\n"
	waiting := corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"}}
	for _, row := range []struct {
		name  string
		phase corev1.PodPhase
		state func(*world) corev1.ContainerState
		holds func(facts.Trial) bool
	}{
		{"it ended well, as the kubelet says of its container first", corev1.PodRunning,
			func(w *world) corev1.ContainerState { return ended(w, 0, "") },
			func(t facts.Trial) bool { return t.HasSucceeded() }},
		{"beside a container that was injected and goes on", corev1.PodRunning,
			func(w *world) corev1.ContainerState { return ended(w, 2, usage) },
			func(t facts.Trial) bool { return t.ShowsFailure() }},
		{"and its Pod goes on", corev1.PodRunning,
			func(w *world) corev1.ContainerState { return ended(w, 0, "") },
			func(t facts.Trial) bool { return t.GoesOn }},
		{"and not once the Pod ended", corev1.PodSucceeded,
			func(w *world) corev1.ContainerState { return ended(w, 0, "") },
			func(t facts.Trial) bool { return !t.GoesOn }},
		{"its node ended it", corev1.PodFailed,
			func(w *world) corev1.ContainerState { return ended(w, 137, "") },
			func(t facts.Trial) bool { return t.HasFailed() && !t.ShowsFailure() }},
		{"its image has no etcd", corev1.PodFailed,
			func(w *world) corev1.ContainerState { return ended(w, 128, "no such file") },
			func(t facts.Trial) bool { return t.ShowsFailure() }},
		{"etcd does not know a flag", corev1.PodFailed,
			func(w *world) corev1.ContainerState { return ended(w, 2, usage) },
			func(t facts.Trial) bool {
				return t.HasFailed() && t.Failure == "flag provided but not defined: -enable-v2"
			}},
		{"its image cannot be pulled", corev1.PodPending,
			func(*world) corev1.ContainerState { return waiting },
			func(t facts.Trial) bool {
				return !t.HasFailed() && !t.HasSucceeded() && t.Waiting == "ImagePullBackOff"
			}},
	} {
		w := newWorld(t)
		w.put(w.trialPod("demo-1", row.phase, corev1.ContainerStatus{Name: "etcd", State: row.state(w)}))
		o := w.look().Observation
		trial, isThere := o.TrialOf("demo-1")
		if !isThere || !row.holds(trial) || trial.Node != "node-b" || trial.Choices != o.Desired.Choices {
			t.Errorf("%s: %+v", row.name, trial)
		}
		if _, isReplica := facts.Find(o.Current.Members, "demo-1-trial"); isReplica {
			t.Errorf("%s: it is taken for a member", row.name)
		}
	}
}
