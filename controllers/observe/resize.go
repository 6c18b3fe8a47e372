package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// resizeOf says what came of the amounts that the operator gave a Pod. Where others changed them since, what the
// kubelet says is of theirs. Until it has seen the Pod as it is now, what it says is of amounts of before; a kubelet
// below 1.34 does not tell. That a Pod is being deleted is such a change as well, and no kubelet resizes it
// (kubernetes/kubernetes:staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go raises the generation).
func resizeOf(pod *corev1.Pod) facts.Resize {
	pending, progress := podCondition(pod, corev1.PodResizePending), podCondition(pod, corev1.PodResizeInProgress)
	seen := pod.Status.ObservedGeneration
	switch {
	case pod.DeletionTimestamp != nil, !resources.HasItsAmounts(pod):
		return facts.Resize{}
	case seen != 0 && seen < pod.Generation:
		return facts.Resize{State: facts.ResizeInProgress}
	case isTrue(pending) && pending.Reason == corev1.PodReasonInfeasible:
		return resizeAs(facts.ResizeInfeasible, pending)
	case isTrue(pending):
		return resizeAs(facts.ResizeDeferred, pending)
	case isTrue(progress) && progress.Reason == corev1.PodReasonError:
		return resizeAs(facts.ResizeFailed, progress)
	case isTrue(progress):
		return resizeAs(facts.ResizeInProgress, progress)
	}
	return facts.Resize{}
}

func isTrue(c *corev1.PodCondition) bool { return c != nil && c.Status == corev1.ConditionTrue }

func resizeAs(state facts.ResizeState, c *corev1.PodCondition) facts.Resize {
	return facts.Resize{State: state, Message: c.Message, Since: c.LastTransitionTime.Time}
}
