package observe_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

func TestWhatTheKubeletSaysOfOtherAmountsIsToldApart(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 3, 1, 11, 58, 0, 0, time.UTC))
	says := func(kind corev1.PodConditionType, reason, message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Reason: reason,
				Status: corev1.ConditionTrue, Message: message, LastTransitionTime: since})
		}
	}
	infeasible := says(corev1.PodResizePending, "Infeasible", "never room")
	at := func(generation, seen int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Generation, pod.Status.ObservedGeneration = generation, seen }
	}
	byOthers := func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("4Gi")
	}
	deleted := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Finalizers = &since, []string{"example.com/wait"} }
	for _, row := range []struct {
		name  string
		given []func(*corev1.Pod)
		want  facts.Resize
	}{
		{"nothing was asked", nil, facts.Resize{}},
		{"its node never has room", []func(*corev1.Pod){infeasible},
			facts.Resize{State: facts.ResizeInfeasible, Message: "never room", Since: since.Time}},
		{"and that is of the Pod as it is", []func(*corev1.Pod){infeasible, at(3, 3)},
			facts.Resize{State: facts.ResizeInfeasible, Message: "never room", Since: since.Time}},
		{"and that is of amounts of before", []func(*corev1.Pod){infeasible, at(4, 3)},
			facts.Resize{State: facts.ResizeInProgress}},
		{"and it is being deleted, which its kubelet has yet to see", []func(*corev1.Pod){at(4, 3), deleted}, facts.Resize{}},
		{"and it is being deleted meanwhile", []func(*corev1.Pod){infeasible, deleted}, facts.Resize{}},
		{"and others asked for that", []func(*corev1.Pod){infeasible, byOthers}, facts.Resize{}},
		{"its node has no room now", []func(*corev1.Pod){says(corev1.PodResizePending, "Deferred", "no room")},
			facts.Resize{State: facts.ResizeDeferred, Message: "no room", Since: since.Time}},
		{"it is at work", []func(*corev1.Pod){says(corev1.PodResizeInProgress, "", "")},
			facts.Resize{State: facts.ResizeInProgress, Since: since.Time}},
		{"it failed", []func(*corev1.Pod){says(corev1.PodResizeInProgress, "Error", "in use")},
			facts.Resize{State: facts.ResizeFailed, Message: "in use", Since: since.Time}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newBootstrappedWorld(t)
			pod := w.pod("demo-0", resources.StartSealed)
			for _, given := range row.given {
				given(pod)
			}
			w.put(pod)
			got := w.replica("demo-0").Pod.Resize
			if got.State != row.want.State || got.Message != row.want.Message || !got.Since.Equal(row.want.Since) {
				t.Errorf("%+v", got)
			}
		})
	}
}
