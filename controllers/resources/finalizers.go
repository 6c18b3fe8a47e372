package resources

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimInUse is taken from a claim by Kubernetes itself, once no Pod uses that.
const claimInUse = "kubernetes.io/pvc-protection"

// HeldBy names the finalizers that keep an object which is being deleted; empty where none does.
func HeldBy(object metav1.Object) string {
	if object.GetDeletionTimestamp() == nil {
		return ""
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool {
		return name == claimInUse
	}), ", ")
}

// PodHeldBy names those of a Pod that is there for them alone: nothing runs in it any more, by its kubelet's word, or
// no kubelet ever had it. Others may call a Pod failed whose kubelet is not heard of; what that said of its containers
// they leave as it is (kubernetes/kubernetes:pkg/controller/podgc).
func PodHeldBy(pod *corev1.Pod) string {
	runs := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
	hasEnded := (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed) &&
		!slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), runs)
	if hasEnded || pod.Spec.NodeName == "" {
		return HeldBy(pod)
	}
	return ""
}
