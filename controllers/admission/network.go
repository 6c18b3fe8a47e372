package admission

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func validateService(service *v1alpha1.ServiceSpec, at *field.Path) field.ErrorList {
	if service == nil {
		return nil
	}
	errs := oneOf(at.Child("type"), service.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort,
		corev1.ServiceTypeLoadBalancer)
	errs = append(errs, validatePodLabels(service.Labels, at.Child("labels"))...)
	errs = append(errs, validateAnnotations(service.Annotations, at.Child("annotations"))...)
	errs = append(errs, validateAccess(service, at)...)
	errs = append(errs, validateFamilies(service, at)...)
	class := service.LoadBalancerClass
	if class == nil {
		return errs
	}
	if len(validation.IsQualifiedName(*class)) > 0 {
		errs = append(errs, invalid(at.Child("loadBalancerClass"), *class,
			"it must be a name with an optional domain before it, such as example.com/internal")...)
	}
	if service.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Invalid(at.Child("loadBalancerClass"), *class, fmt.Sprintf(
			`spec.service.loadBalancerClass is %q while spec.service.type is %s; it needs type LoadBalancer`,
			*class, cmp.Or(service.Type, corev1.ServiceTypeClusterIP))))
	}
	return errs
}

// validateAccess looks at who may connect from outside, and on which way.
func validateAccess(service *v1alpha1.ServiceSpec, at *field.Path) field.ErrorList {
	ranges, policy := at.Child("loadBalancerSourceRanges"), at.Child("externalTrafficPolicy")
	errs := oneOf(policy, service.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster,
		corev1.ServiceExternalTrafficPolicyLocal)
	isInside := cmp.Or(service.Type, corev1.ServiceTypeClusterIP) == corev1.ServiceTypeClusterIP
	if service.ExternalTrafficPolicy != "" && isInside {
		errs = append(errs, field.Invalid(policy, service.ExternalTrafficPolicy, policy.String()+" needs "+
			"spec.service.type NodePort or LoadBalancer; take it out for type ClusterIP, which has no traffic from "+
			"outside"))
	}
	if len(service.LoadBalancerSourceRanges) > 0 && service.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Invalid(ranges, service.LoadBalancerSourceRanges, ranges.String()+" needs "+
			"spec.service.type LoadBalancer; take it out for another type, which does not look at who connects"))
	}
	for i, text := range service.LoadBalancerSourceRanges {
		if network, err := netip.ParsePrefix(text); err != nil || network.Addr().Is4In6() {
			errs = append(errs, field.Invalid(ranges.Index(i), text, fmt.Sprintf(
				"%s has %q; each must be a network, such as 203.0.113.0/24 or 2001:db8::/64", ranges, text)))
		}
	}
	return errs
}

// closeIt is what a user can do about an exposure.
const closeIt = ". Set type LoadBalancer with spec.service.loadBalancerSourceRanges, or type ClusterIP, or create a " +
	"cluster with spec.tls.mode Managed"

// exposure says who can use etcd without TLS; empty when only clients inside can, and known networks.
func exposure(spec *v1alpha1.EtcdClusterSpec) string {
	service := cmp.Or(spec.Service, &v1alpha1.ServiceSpec{})
	if spec.IsTLS() || len(service.LoadBalancerSourceRanges) > 0 ||
		cmp.Or(service.Type, corev1.ServiceTypeClusterIP) == corev1.ServiceTypeClusterIP {
		return ""
	}
	return fmt.Sprintf("spec.service.type is %s while spec.tls.mode is Disabled: all who reach it could read and "+
		"change all data", service.Type)
}

// validateFamilies asks for what every Kubernetes refuses. Which families a cluster has only its API server knows.
func validateFamilies(service *v1alpha1.ServiceSpec, at *field.Path) field.ErrorList {
	families, child := service.IPFamilies, at.Child("ipFamilies")
	errs := oneOf(at.Child("ipFamilyPolicy"), service.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack,
		corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)
	for i, family := range families {
		errs = append(errs, oneOf(child.Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
	}
	switch {
	case len(families) > 2 || len(families) == 2 && families[0] == families[1]:
		errs = append(errs, field.Invalid(child, families,
			"spec.service.ipFamilies names the same family twice; name each once, such as [IPv6, IPv4]"))
	case len(families) == 2 && service.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack:
		errs = append(errs, field.Invalid(child, families, "spec.service.ipFamilies names two families while "+
			"spec.service.ipFamilyPolicy is SingleStack; name one, or set PreferDualStack or RequireDualStack"))
	}
	return errs
}

// validateModes looks at the fields that hold one word.
func validateModes(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	errs := oneOf(at.Child("mode"), spec.Mode, v1alpha1.ModeEnforce, v1alpha1.ModeDryRun)
	errs = append(errs, validateTLS(spec.TLS, at.Child("tls"))...)
	if spec.Disruption != nil {
		errs = append(errs, oneOf(at.Child("disruption", "podDisruptionBudget"), spec.Disruption.PodDisruptionBudget,
			v1alpha1.BudgetAuto, v1alpha1.BudgetNone)...)
	}
	return errs
}

// validateAnnotations refuses what Kubernetes would refuse on the object that is made, and the operator's own prefix.
func validateAnnotations(annotations map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if v1alpha1.IsOperatorKey(key) {
			errs = append(errs, field.Invalid(at, key, at.String()+
				" must not contain the prefix etcdsteward.dev/: the operator sets those"))
		}
		for _, why := range validation.IsQualifiedName(strings.ToLower(key)) {
			errs = append(errs, field.Invalid(at, key, fmt.Sprintf("%s has the key %q: %s", at, key, why)))
		}
	}
	return errs
}

func validateTLS(tls *v1alpha1.TLSSpec, at *field.Path) field.ErrorList {
	if tls == nil {
		return nil
	}
	errs, names := oneOf(at.Child("mode"), tls.Mode, v1alpha1.TLSManaged, v1alpha1.TLSDisabled), at.Child("extraSANs")
	if tls.Mode == v1alpha1.TLSDisabled && len(tls.ExtraSANs) > 0 {
		errs = append(errs, field.Invalid(names, tls.ExtraSANs,
			"spec.tls.extraSANs needs spec.tls.mode Managed: without TLS there is no certificate to put them in"))
	}
	for i, name := range tls.ExtraSANs {
		if !v1alpha1.IsSAN(name) {
			errs = append(errs, field.Invalid(names.Index(i), name, fmt.Sprintf("%s names %q; each must be an IP "+
				"address, or a DNS name in lower case, such as etcd.example.com or *.etcd.example.com", names, name)))
		}
	}
	return errs
}

// mostPeers is the limit of each list of peers in the schema.
const mostPeers = 64

func validateNetworkPolicy(policy *v1alpha1.NetworkPolicySpec, at *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	return append(validatePeers(policy.Clients, at.Child("clients")),
		validatePeers(policy.Metrics, at.Child("metrics"))...)
}

func validatePeers(peers []networkingv1.NetworkPolicyPeer, at *field.Path) field.ErrorList {
	switch {
	case peers == nil:
		return field.ErrorList{field.Required(at, at.String()+" must be given: a list of podSelector, "+
			"namespaceSelector or ipBlock, or [] to let none in")}
	case len(peers) > mostPeers:
		err := field.TooMany(at, len(peers), mostPeers)
		err.Detail = fmt.Sprintf("%s has %d items; it must have at most %d", at, len(peers), mostPeers)
		return field.ErrorList{err}
	}
	var errs field.ErrorList
	for i, peer := range peers {
		errs = append(errs, validatePeer(peer, at, at.Index(i))...)
	}
	return errs
}

func validatePeer(peer networkingv1.NetworkPolicyPeer, list, at *field.Path) field.ErrorList {
	isSelected := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if isSelected == (peer.IPBlock != nil) {
		return field.ErrorList{field.Invalid(list, peer, list.String()+" must have in each item either ipBlock, or "+
			"podSelector and namespaceSelector, or one of these two")}
	}
	errs := append(validateSelector(peer.PodSelector, at.Child("podSelector")),
		validateSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))...)
	if block := peer.IPBlock; block != nil {
		errs = append(errs, validateBlock(block, at.Child("ipBlock"))...)
	}
	return errs
}

func validateBlock(block *networkingv1.IPBlock, at *field.Path) field.ErrorList {
	whole, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		return invalid(at.Child("cidr"), block.CIDR, notABlock)
	}
	var errs field.ErrorList
	for i, text := range block.Except {
		at := at.Child("except").Index(i)
		switch part, err := netip.ParsePrefix(text); {
		case err != nil:
			errs = append(errs, invalid(at, text, notABlock)...)
		case part.Bits() <= whole.Bits() || !whole.Contains(part.Addr()):
			errs = append(errs, invalid(at, text, fmt.Sprintf("it must be a smaller part of %s", block.CIDR))...)
		}
	}
	return errs
}

const notABlock = "it must be a block of addresses, such as 10.0.0.0/8 or 2001:db8::/64"
