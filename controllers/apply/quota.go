package apply

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// overQuota reads the figures of a refusal, each list like cpu=100m,pods=1
// (kubernetes/kubernetes:staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go).
var overQuota = regexp.MustCompile(`exceeded quota: \S+, requested: (\S+), used: (\S+), limited: (\S+)`)

// fitsWithout reports whether a Pod that a quota refuses fits once the old Pod is gone, by the figures of the refusal: while
// it runs, a ResourceQuota counts both. Figures that cannot be read do not fit.
func fitsWithout(old *corev1.Pod, refusal string) bool {
	figures := overQuota.FindStringSubmatch(refusal)
	if figures == nil {
		return false
	}
	requested, used, limited := readAmounts(figures[1]), readAmounts(figures[2]), readAmounts(figures[3])
	for name, limit := range limited {
		before, isUsed := used[name]
		wanted, isRequested := requested[name]
		if !isUsed || !isRequested {
			return false
		}
		before.Sub(heldBy(old, name))
		before.Add(wanted)
		if before.Cmp(limit) > 0 {
			return false
		}
	}
	return len(limited) > 0
}

// readAmounts returns nil when something in the list is no amount.
func readAmounts(list string) corev1.ResourceList {
	amounts := corev1.ResourceList{}
	for part := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(part, "=")
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil
		}
		amounts[corev1.ResourceName(name)] = amount
	}
	return amounts
}

// heldBy is what a quota counts for a Pod (kubernetes/kubernetes:pkg/quota/v1/evaluator/core/pods.go). One that ended holds
// nothing but its name.
func heldBy(pod *corev1.Pod, name corev1.ResourceName) resource.Quantity {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	switch {
	case name == "count/pods":
		return one
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return resource.Quantity{}
	case name == corev1.ResourcePods:
		return one
	}
	options := podresources.PodResourcesOptions{UseStatusResources: true}
	if limit, ok := strings.CutPrefix(string(name), "limits."); ok {
		return podresources.PodLimits(pod, options)[corev1.ResourceName(limit)]
	}
	request := strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	return podresources.PodRequests(pod, options)[corev1.ResourceName(request)]
}

// isCountedAlike reports whether quotas count both Pods or neither: one that is for a priority class counts no Pod of another.
func isCountedAlike(old, successor *corev1.Pod) bool {
	made, err := resources.DecodeInputs(old.Annotations[v1alpha1.AnnotationInputs])
	if err != nil {
		return false
	}
	class := ""
	if made.Pod != nil {
		class = made.Pod.PriorityClassName
	}
	return class == successor.Spec.PriorityClassName
}
