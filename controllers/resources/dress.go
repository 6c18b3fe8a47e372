package resources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// Dressing is what has to change in an object's labels and annotations. A nil value takes a key away.
type Dressing struct {
	Labels, Annotations map[string]*string
}

// IsZero reports that the Pod is dressed.
func (d Dressing) IsZero() bool { return len(d.Labels) == 0 && len(d.Annotations) == 0 }

// Put changes an object as it was read. Its maps are new ones: what a cache returned must not be changed.
func (d Dressing) Put(object metav1.Object) {
	object.SetLabels(changed(object.GetLabels(), d.Labels))
	object.SetAnnotations(changed(object.GetAnnotations(), d.Annotations))
}

func changed(have map[string]string, changes map[string]*string) map[string]string {
	if len(changes) == 0 {
		return have
	}
	after := merged(have)
	for key, value := range changes {
		if value == nil {
			delete(after, key)
		} else {
			after[key] = *value
		}
	}
	return after
}

// dressed says, on the object itself, which of its labels, annotations and fields came from the spec: without it one
// that the user took out of the spec would look like one that another client put there. The cache holds no managed
// fields that could tell. Unknown fields are passed over.
type dressed struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	Fields      []string `json:"fields,omitempty"`
}

func (d dressed) isZero() bool {
	return len(d.Labels) == 0 && len(d.Annotations) == 0 && len(d.Fields) == 0
}

// dressedOf reads it. What cannot be read names no key, and is written anew.
func dressedOf(object metav1.Object) (d dressed, isWritten bool) {
	text, isWritten := object.GetAnnotations()[v1alpha1.AnnotationDressed]
	_ = json.Unmarshal([]byte(text), &d)
	return d, isWritten
}

// DressingOf compares an object with the spec: it is to have the labels and annotations that the spec asks for, and
// none that the spec asked for once. A Pod that was made before its keys were written down counts as dressed when every
// key is there, so that a new operator writes nothing; keys that left the spec before that are not known. A profile of
// AppArmor comes, changes and goes with the next Pod: on one that exists Kubernetes refuses all of it.
func DressingOf(c *v1alpha1.EtcdCluster, object metav1.Object) Dressing {
	before, isWritten := dressedOf(object)
	labels, annotations := askedOf(c, object)
	d := Dressing{
		Labels:      changesOf(object.GetLabels(), labels, before.Labels, v1alpha1.IsOperatorLabel),
		Annotations: changesOf(object.GetAnnotations(), annotations, before.Annotations, v1alpha1.IsOperatorKey),
	}
	if object.GetUID() != "" {
		maps.DeleteFunc(d.Annotations, func(key string, _ *string) bool { return v1alpha1.IsAppArmor(key) })
	}
	written := dressed{Labels: slices.Sorted(maps.Keys(labels)), Annotations: slices.Sorted(maps.Keys(annotations)),
		Fields: fieldsOf(c, object, before.Fields)}
	_, isPod := object.(*corev1.Pod)
	switch {
	case !isWritten && isPod && d.IsZero(), isWritten && !written.isZero() &&
		object.GetAnnotations()[v1alpha1.AnnotationDressed] == record.JSON(written):
	case !written.isZero():
		d.Annotations[v1alpha1.AnnotationDressed] = new(record.JSON(written))
	case isWritten:
		d.Annotations[v1alpha1.AnnotationDressed] = nil
	}
	return d
}

// changesOf sets what is wanted and otherwise there, and takes away what was wanted once and is there. A key that is
// ours is never touched, also when the record names it.
func changesOf(have, want map[string]string, before []string, isOurs func(string) bool) map[string]*string {
	changes := map[string]*string{}
	for key, value := range want {
		if there, ok := have[key]; !ok || there != value {
			changes[key] = &value
		}
	}
	for _, key := range before {
		_, isThere := have[key]
		_, isWanted := want[key]
		if isThere && !isWanted && !isOurs(key) {
			changes[key] = nil
		}
	}
	return changes
}

// and is both; of a key that both change the other one wins.
func (d Dressing) and(other Dressing) Dressing {
	return Dressing{Labels: merged(d.Labels, other.Labels), Annotations: merged(d.Annotations, other.Annotations)}
}

// askedOf are the labels and annotations that the spec asks for on an object: those for all of them, and over them
// those for its kind.
func askedOf(c *v1alpha1.EtcdCluster, object metav1.Object) (labels, annotations map[string]string) {
	labels, annotations = inherited(c)
	switch o := object.(type) {
	case *corev1.Pod:
		if pod := c.Spec.Pod; pod != nil && !IsTask(c, o.Name) {
			return merged(labels, putLabels(pod.Labels)), merged(annotations, putPodAnnotations(pod.Annotations))
		}
	case *corev1.Service:
		if service := c.Spec.Service; service != nil && o.Name == ClientService(c.Name) {
			return merged(labels, putLabels(service.Labels)), merged(annotations, putAnnotations(service.Annotations))
		}
	}
	return labels, annotations
}

// inherited are the labels and annotations for everything that is made for a cluster.
func inherited(c *v1alpha1.EtcdCluster) (labels, annotations map[string]string) {
	if c.Spec.InheritedMetadata == nil {
		return nil, nil
	}
	return putLabels(c.Spec.InheritedMetadata.Labels), putPodAnnotations(c.Spec.InheritedMetadata.Annotations)
}

// putLabels are the user's labels as far as they can be put on an object. One that Kubernetes would refuse is left out:
// the spec is refused for it, and that must not keep a member from starting.
func putLabels(user map[string]string) map[string]string {
	labels := maps.Clone(user)
	maps.DeleteFunc(labels, func(key, value string) bool {
		return v1alpha1.IsOperatorLabel(key) || len(validation.IsQualifiedName(key)) > 0 ||
			len(validation.IsValidLabelValue(value)) > 0
	})
	return labels
}

// putAnnotations are the same of annotations, whose keys may have capital letters in their prefix.
func putAnnotations(user map[string]string) map[string]string {
	annotations := maps.Clone(user)
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return v1alpha1.IsOperatorKey(key) || len(validation.IsQualifiedName(strings.ToLower(key))) > 0
	})
	return annotations
}

// putPodAnnotations leave out as well what loosens a Pod. The spec is refused for it.
func putPodAnnotations(user map[string]string) map[string]string {
	annotations := putAnnotations(user)
	maps.DeleteFunc(annotations, v1alpha1.Loosens)
	return annotations
}

// dress puts on an object that is about to be made what the spec asks for.
func dress[T metav1.Object](c *v1alpha1.EtcdCluster, object T) T {
	DressingOf(c, object).Put(object)
	return object
}

// ServiceDrift says how a Service differs from the one that is wanted, as far as the operator owns its fields; empty
// when it does not. Labels and annotations are MetadataDrift's; node ports, and families, source ranges and traffic
// policies that were not asked for, are not ours.
func ServiceDrift(have, want *corev1.Service) string {
	switch {
	case !maps.Equal(have.Spec.Selector, want.Spec.Selector):
		return "it selects other Pods"
	case have.Spec.PublishNotReadyAddresses != want.Spec.PublishNotReadyAddresses:
		return "publishNotReadyAddresses was changed"
	case want.Spec.Type != "" && have.Spec.Type != want.Spec.Type:
		return fmt.Sprintf("its type is %s instead of %s", have.Spec.Type, want.Spec.Type)
	case want.Spec.LoadBalancerClass != nil &&
		!equality.Semantic.DeepEqual(have.Spec.LoadBalancerClass, want.Spec.LoadBalancerClass):
		return "its load balancer class is another"
	case !hasPorts(have, want):
		return "its ports were changed"
	}
	return cmp.Or(accessDrift(have, want), familyDrift(have, want))
}

func accessDrift(have, want *corev1.Service) string {
	policy := trafficPolicy(have, want)
	switch {
	case !slices.Equal(have.Spec.LoadBalancerSourceRanges, sourceRanges(have, want)):
		return "its source ranges are others than the spec has, or left the spec"
	case policy != "" && have.Spec.ExternalTrafficPolicy != policy:
		return fmt.Sprintf("its external traffic policy is %s instead of %s", have.Spec.ExternalTrafficPolicy, policy)
	}
	return ""
}

func familyDrift(have, want *corev1.Service) string {
	first := have.Spec.IPFamilies[:min(len(have.Spec.IPFamilies), len(want.Spec.IPFamilies))]
	switch policy := want.Spec.IPFamilyPolicy; {
	case !slices.Equal(first, want.Spec.IPFamilies):
		return fmt.Sprintf("its address families are %v instead of %v", have.Spec.IPFamilies, want.Spec.IPFamilies)
	case !equality.Semantic.DeepEqual(have.Spec.IPFamilyPolicy, policy):
		return "its policy of address families is another than " + string(*policy)
	}
	return ""
}

// BudgetDrift says how a PodDisruptionBudget differs from the one that is wanted, its bound aside, which is a decision
// of its own; empty when it does not.
func BudgetDrift(have, want *policyv1.PodDisruptionBudget) string {
	switch {
	case !equality.Semantic.DeepEqual(have.Spec.Selector, want.Spec.Selector):
		return "it selects other Pods"
	case have.Spec.MaxUnavailable != nil:
		return "maxUnavailable was set"
	}
	return ""
}

// BudgetBound is the bound of a PodDisruptionBudget; -1 when it is not a number.
func BudgetBound(budget *policyv1.PodDisruptionBudget) int {
	bound := budget.Spec.MinAvailable
	if bound == nil || bound.StrVal != "" {
		return -1
	}
	return bound.IntValue()
}

// MetadataDrift says which label or annotation of an object is not as the operator and the spec have it; empty when
// none is.
func MetadataDrift(c *v1alpha1.EtcdCluster, object metav1.Object) string {
	change := Remarking(c, object, record.Bootstrap{})
	for kind, keys := range map[string]map[string]*string{"label": change.Labels, "annotation": change.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			return fmt.Sprintf("its %s %s is missing or changed, or left the spec", kind, key)
		}
	}
	return ""
}

type ownedPort struct {
	name, target string
	port         int32
	protocol     corev1.Protocol
}

// hasPorts looks for each wanted port. What the API server fills in (node ports, application protocols) and further
// ports that others added are not ours.
func hasPorts(have, want *corev1.Service) bool {
	there := ownedPorts(have)
	for _, port := range ownedPorts(want) {
		if !slices.Contains(there, port) {
			return false
		}
	}
	return true
}

func ownedPorts(service *corev1.Service) []ownedPort {
	var ports []ownedPort
	for _, p := range service.Spec.Ports {
		ports = append(ports, ownedPort{name: p.Name, target: p.TargetPort.String(), port: p.Port,
			protocol: p.Protocol})
	}
	return ports
}
