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

// ResourceInputs are the settings about CPU and memory, as text.
type ResourceInputs struct {
	Limits   map[corev1.ResourceName]string `json:"limits,omitempty"`
	Requests map[corev1.ResourceName]string `json:"requests,omitempty"`
	Claims   []corev1.ResourceClaim         `json:"claims,omitempty"`
}

// earthly is a quantity that can be calculated with. Kubernetes accepts 1e-2000000000 too, and takes minutes to read
// it.
var earthly = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

func parseQuantity(text string) (resource.Quantity, error) {
	if !earthly.MatchString(text) {
		return resource.Quantity{}, fmt.Errorf("%.40q is not a quantity of anything that a Pod may have", text)
	}
	return resource.ParseQuantity(text)
}

func resourceInputs(r *v1alpha1.ResourceRequirements) *ResourceInputs {
	if r == nil {
		return nil
	}
	return &ResourceInputs{Limits: texts(r.Limits), Requests: texts(r.Requests), Claims: r.Claims}
}

func texts(list map[corev1.ResourceName]v1alpha1.Amount) map[corev1.ResourceName]string {
	out := map[corev1.ResourceName]string{}
	for name, amount := range list {
		out[name] = string(amount)
	}
	return out
}

// canonical writes equal quantities equally: "1" and "1000m", "1Gi" and "1073741824". What is no quantity stays as it
// is, for BuildPod to refuse.
func (in ResourceInputs) canonical() ResourceInputs {
	return ResourceInputs{Limits: canonicalList(in.Limits), Requests: canonicalList(in.Requests),
		Claims: orNil(in.Claims)}
}

func canonicalList(list map[corev1.ResourceName]string) map[corev1.ResourceName]string {
	if len(list) == 0 {
		return nil
	}
	out := map[corev1.ResourceName]string{}
	for name, text := range list {
		out[name] = canonicalQuantity(name, text)
	}
	return out
}

func canonicalQuantity(name corev1.ResourceName, text string) string {
	quantity, err := parseQuantity(text)
	if err != nil {
		return text
	}
	quantity.Format = resource.BinarySI
	if name == corev1.ResourceCPU {
		quantity.Format = resource.DecimalSI
	}
	number, suffix := quantity.CanonicalizeBytes(make([]byte, 0, 32)) // String would give what was once read
	return string(number) + string(suffix)
}

// requirements are the resources of a container.
func (in ResourceInputs) requirements() (corev1.ResourceRequirements, error) {
	limits, err := quantities(in.Limits)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("limits: %w", err)
	}
	requests, err := quantities(in.Requests)
	if err != nil {
		return corev1.ResourceRequirements{}, fmt.Errorf("requests: %w", err)
	}
	return corev1.ResourceRequirements{Limits: limits, Requests: requests, Claims: in.Claims}, nil
}

func quantities(list map[corev1.ResourceName]string) (corev1.ResourceList, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := corev1.ResourceList{}
	for name, text := range list {
		quantity, err := parseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = quantity
	}
	return out, nil
}

// withoutAmounts are the settings but CPU and memory.
func (in ResourceInputs) withoutAmounts() ResourceInputs {
	in.Limits, in.Requests = maps.Clone(in.Limits), maps.Clone(in.Requests)
	for _, list := range []map[corev1.ResourceName]string{in.Limits, in.Requests} {
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
	}
	return in
}

// Fixed is the settings without the amounts of CPU and memory, as text: Kubernetes changes these in a Pod that runs.
func (in RollInputs) Fixed() string {
	rest := resourcesOf(in).withoutAmounts()
	var pod PodInputs
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
	wanted, err := resourcesOf(in).requirements()
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
	wanted, err := resourcesOf(in).requirements()
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
