package admission

import (
	"fmt"
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

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
