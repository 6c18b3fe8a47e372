package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkPolicySpec says who may connect to members. Both lists are required, so that none is closed by an oversight.
type NetworkPolicySpec struct {
	// Clients may connect to etcd, port 2379. A peer is written as in a NetworkPolicy
	// of Kubernetes: podSelector, namespaceSelector or ipBlock. A podSelector alone
	// selects Pods of this namespace. With an empty list no clients may connect.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, has(p.ipBlock) != (has(p.podSelector) || has(p.namespaceSelector)))",message="spec.networkPolicy.clients must have in each item either ipBlock, or podSelector and namespaceSelector, or one of these two"
	Clients []networkingv1.NetworkPolicyPeer `json:"clients"`

	// Metrics may read metrics and health, port 2381, such as Prometheus. Peers are
	// written as in clients. With an empty list none may.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(p, has(p.ipBlock) != (has(p.podSelector) || has(p.namespaceSelector)))",message="spec.networkPolicy.metrics must have in each item either ipBlock, or podSelector and namespaceSelector, or one of these two"
	Metrics []networkingv1.NetworkPolicyPeer `json:"metrics"`
}
