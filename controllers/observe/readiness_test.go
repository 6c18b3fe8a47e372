package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// A Pod that was not ready for a month, for another container, says nothing of since when etcd is not.
func TestSinceWhenEtcdIsNotReadyIsNeverLongerThanItsKubeletHasSaidSo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	month, moment := metav1.NewTime(now.Add(-720*time.Hour)), metav1.NewTime(now.Add(-time.Second))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Subresource: subresourceStatus, Time: &moment}}},
		Status: corev1.PodStatus{
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", LastTransitionTime: month}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: resources.Container}, {Name: "mesh-proxy"}},
		},
	}
	var p facts.Pod
	if fillProcess(&p, pod); p.Ready || !p.HeldUnready || !p.ReadySince.Equal(moment.Time) {
		t.Errorf("%+v", p)
	}
	pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:1] // for etcd alone
	p = facts.Pod{}
	if fillProcess(&p, pod); p.Ready || p.HeldUnready || !p.ReadySince.Equal(month.Time) {
		t.Errorf("%+v", p)
	}
}
