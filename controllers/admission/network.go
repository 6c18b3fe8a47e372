package admission

import (
	"cmp"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// closeIt is what a user can do about an exposure.
const closeIt = ". Set type LoadBalancer with spec.service.loadBalancerSourceRanges, or type ClusterIP, or create a " +
	"cluster with spec.tls.mode Managed"

// exposure says who can use etcd without TLS; empty when only clients inside can, and known networks.
func exposure(spec *v1alpha1.EtcdClusterSpec) string {
	service := cmp.Or(spec.Service, &v1alpha1.ServiceSpec{})
	isKnown := service.Type == corev1.ServiceTypeLoadBalancer && len(service.LoadBalancerSourceRanges) > 0
	if spec.IsTLS() || isKnown || cmp.Or(service.Type, corev1.ServiceTypeClusterIP) == corev1.ServiceTypeClusterIP {
		return ""
	}
	return fmt.Sprintf("spec.service.type is %s while spec.tls.mode is Disabled: all who reach it could read and "+
		"change all data", service.Type)
}

func validateNetworkPolicy(policy *v1alpha1.NetworkPolicySpec, at *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	return append(validatePeers(policy.Clients, at.Child("clients")),
		validatePeers(policy.Metrics, at.Child("metrics"))...)
}

func validatePeers(peers []networkingv1.NetworkPolicyPeer, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, peer := range peers {
		at := at.Index(i)
		errs = append(errs, validateSelector(peer.PodSelector, at.Child("podSelector"))...)
		errs = append(errs, validateSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))...)
		if peer.IPBlock != nil {
			errs = append(errs, validateBlock(peer.IPBlock, at.Child("ipBlock"))...)
		}
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
