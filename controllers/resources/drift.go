package resources

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

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
	switch policy := want.Spec.IPFamilyPolicy; {
	case !startsWith(have.Spec.IPFamilies, want.Spec.IPFamilies):
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
	change := Remarking(c, object, record.Birth{})
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
