package observe_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestAMemberWhosePodWaitsOnItsNodeIsToldByTheWarningOfKubernetes(t *testing.T) {
	for name, row := range map[string]struct {
		given   func(w *world, pod *corev1.Pod)
		warning string
		want    string // what it waits for
	}{
		"that lacks a Secret":     {func(*world, *corev1.Pod) {}, "FailedMount", "FailedMount"},
		"that lacks an address":   {func(*world, *corev1.Pod) {}, "FailedCreatePodSandBox", "FailedCreatePodSandBox"},
		"that was warned of else": {func(*world, *corev1.Pod) {}, "FailedScheduling", "ContainerCreating"},
		"that has its node since a moment": {func(w *world, pod *corev1.Pod) {
			pod.CreationTimestamp = metav1.NewTime(w.now.Add(-time.Second))
		}, "FailedMount", "ContainerCreating"},
		"whose image is pulled by now": {func(_ *world, pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions,
				corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue})
		}, "FailedMount", "ContainerCreating"},
		"that says itself what it waits for": {func(_ *world, pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
				Message: "429 Too Many Requests"}
		}, "FailedMount", "ImagePullBackOff"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			pod := w.pod("demo-0", resources.StartSealed)
			pod.CreationTimestamp, pod.Status.Phase = metav1.NewTime(w.now.Add(-time.Minute)), corev1.PodPending
			pod.Status.Conditions = nil
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
			row.given(w, pod)
			w.put(pod)
			o := w.observer()
			o.Warning = func(context.Context, string, types.UID) *corev1.Event {
				return &corev1.Event{Reason: row.warning, Message: "it says why"}
			}
			o.Progress = func(context.Context, string) *backupplan.Progress { return nil }
			view, _, err := o.Observe(t.Context(), w.cluster, "")
			if err != nil {
				t.Fatal(err)
			}
			got := view.Current.Find("demo-0").Pod
			if got.Waiting != row.want || got.Started {
				t.Errorf("it waits for %s (%s), started %t", got.Waiting, got.Message, got.Started)
			}
		})
	}
}
