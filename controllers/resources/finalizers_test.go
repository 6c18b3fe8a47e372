package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAFinalizerKeepsAPodOnlyOnceNothingRunsInItByItsKubeletsWord(t *testing.T) {
	ran := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for _, row := range []struct {
		name       string
		phase      corev1.PodPhase
		containers []corev1.ContainerState
		edit       func(*corev1.Pod)
		want       string
	}{
		{"its kubelet ended it", corev1.PodSucceeded, []corev1.ContainerState{ran, ran}, nil, "example.com/hold, example.com/too"},
		{"its kubelet never started anything", corev1.PodFailed, nil, nil, "example.com/hold, example.com/too"},
		{"it runs", corev1.PodRunning, []corev1.ContainerState{runs}, nil, ""},
		{"etcd ended, and the Pod did not", corev1.PodRunning, []corev1.ContainerState{ran, runs}, nil, ""},
		{"others call it failed, and its kubelet is not heard of", corev1.PodFailed, []corev1.ContainerState{runs}, nil, ""},
		{"it never had a node", corev1.PodPending, nil, func(p *corev1.Pod) { p.Spec.NodeName = "" }, "example.com/hold, example.com/too"},
		{"it is on its way to its node", corev1.PodPending, nil, nil, ""},
		{"it was not asked to go", corev1.PodSucceeded, nil, func(p *corev1.Pod) { p.DeletionTimestamp = nil }, ""},
		{"nothing keeps it", corev1.PodSucceeded, nil, func(p *corev1.Pod) { p.Finalizers = nil }, ""},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{Phase: row.phase}}
		pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{}, []string{"example.com/hold", "example.com/too"}
		for _, state := range row.containers {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
		}
		if row.edit != nil {
			row.edit(pod)
		}
		if got := PodHeldBy(pod); got != row.want {
			t.Errorf("%s: kept by %q, want %q", row.name, got, row.want)
		}
	}
}

func TestWhatKubernetesTakesOffByItselfIsNotSaidToKeepAClaim(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{},
		Finalizers: []string{claimInUse}}}
	if got := HeldBy(claim); got != "" {
		t.Errorf("kept by %q", got)
	}
	claim.Finalizers = append(claim.Finalizers, "example.com/hold")
	if got := HeldBy(claim); got != "example.com/hold" {
		t.Errorf("kept by %q", got)
	}
}
