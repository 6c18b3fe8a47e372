package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// earthly is a quantity that can be calculated with. Kubernetes accepts 1e-2000000000 too, and takes minutes to read
// it.
var earthly = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

func parseQuantity(amount v1alpha1.Amount) (resource.Quantity, error) {
	if !earthly.MatchString(string(amount)) {
		return resource.Quantity{}, fmt.Errorf("%.40q is not a quantity of anything that a Pod may have", amount)
	}
	return resource.ParseQuantity(string(amount))
}

// canonicalResources writes equal quantities equally: "1" and "1000m", "1Gi" and "1073741824". What is no quantity
// stays as it is, for BuildPod to refuse.
func canonicalResources(r v1alpha1.ResourceRequirements) v1alpha1.ResourceRequirements {
	return v1alpha1.ResourceRequirements{Limits: canonicalList(r.Limits), Requests: canonicalList(r.Requests)}
}

func canonicalList(list map[corev1.ResourceName]v1alpha1.Amount) map[corev1.ResourceName]v1alpha1.Amount {
	if len(list) == 0 {
		return nil
	}
	out := map[corev1.ResourceName]v1alpha1.Amount{}
	for name, amount := range list {
		out[name] = canonicalAmount(name, amount)
	}
	return out
}

func canonicalAmount(name corev1.ResourceName, amount v1alpha1.Amount) v1alpha1.Amount {
	quantity, err := parseQuantity(amount)
	if err != nil {
		return amount
	}
	quantity.Format = resource.BinarySI
	if name == corev1.ResourceCPU {
		quantity.Format = resource.DecimalSI
	}
	number, suffix := quantity.CanonicalizeBytes(make([]byte, 0, 32)) // String would give what was once read
	return v1alpha1.Amount(string(number) + string(suffix))
}

// requirements are the resources of a container.
func requirements(r v1alpha1.ResourceRequirements) (corev1.ResourceRequirements, error) {
	limits, err := quantities(r.Limits)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("limits: %w", err)
	}
	requests, err := quantities(r.Requests)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("requests: %w", err)
	}
	return corev1.ResourceRequirements{Limits: limits, Requests: requests}, nil
}

func quantities(list map[corev1.ResourceName]v1alpha1.Amount) (corev1.ResourceList, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := corev1.ResourceList{}
	for name, amount := range list {
		quantity, err := parseQuantity(amount)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = quantity
	}
	return out, nil
}

// Fixed is the settings without the amounts of CPU and memory, as text: Kubernetes changes these in a Pod that runs.
func (in RollInputs) Fixed() string {
	rest := resourcesOf(in.Pod)
	rest.Limits, rest.Requests = maps.Clone(rest.Limits), maps.Clone(rest.Requests)
	for _, list := range []map[corev1.ResourceName]v1alpha1.Amount{rest.Limits, rest.Requests} {
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
	}
	var pod v1alpha1.PodSpec
	if in.Pod != nil {
		pod = *in.Pod
	}
	pod.Resources = &rest
	in.Pod = &pod
	return in.Canonical()
}

// ResizePatch is a strategic merge patch of pods/resize that gives a member's Pod the amounts of these settings. What
// the Pod has beside them is taken away; that Kubernetes may refuse.
func ResizePatch(pod *corev1.Pod, in RollInputs) ([]byte, error) {
	wanted, err := requirements(resourcesOf(in.Pod))
	if err != nil {
		return nil, fmt.Errorf("resizing the Pod of member %s: %w", pod.Name, err)
	}
	has := containerOf(pod).Resources
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": Container,
			"resources": map[string]any{
				"limits": amounts(has.Limits, wanted.Limits), "requests": amounts(has.Requests, wanted.Requests),
			},
		}}},
	})
}

// amounts are CPU and memory as they are wanted; null takes away what is there and not wanted.
func amounts(has, wanted corev1.ResourceList) map[corev1.ResourceName]*resource.Quantity {
	out := map[corev1.ResourceName]*resource.Quantity{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, isWanted := wanted[name]; isWanted {
			out[name] = &quantity
		} else if _, isThere := has[name]; isThere {
			out[name] = nil
		}
	}
	return out
}

// HasItsAmounts reports a Pod whose etcd has the CPU and memory that the Pod says it was made from. It has others where
// a VerticalPodAutoscaler changed them.
func HasItsAmounts(pod *corev1.Pod) bool {
	in, err := DecodeInputs(pod.Annotations[v1alpha1.AnnotationInputs])
	if err != nil {
		return false
	}
	wanted, err := requirements(resourcesOf(in.Pod))
	has := containerOf(pod).Resources
	return err == nil && holds(has.Limits, wanted.Limits) && holds(has.Requests, wanted.Requests)
}

func holds(has, wanted corev1.ResourceList) bool {
	for name, quantity := range wanted {
		if there, ok := has[name]; !ok || there.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

// containerOf is the etcd container; an empty one where there is none.
func containerOf(pod *corev1.Pod) corev1.Container {
	for _, c := range pod.Spec.Containers {
		if c.Name == Container {
			return c
		}
	}
	return corev1.Container{}
}
