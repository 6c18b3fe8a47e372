package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// ServiceSpec holds the settings of the Service that clients connect to. The address families are also those of the
// headless Service below which members have their names.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerSourceRanges) || size(self.loadBalancerSourceRanges) == 0 || self.?type.orValue('ClusterIP') == 'LoadBalancer'",message="spec.service.loadBalancerSourceRanges needs spec.service.type LoadBalancer; take it out for another type, which does not look at who connects",fieldPath=".loadBalancerSourceRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.?type.orValue('ClusterIP') != 'ClusterIP'",message="spec.service.externalTrafficPolicy needs spec.service.type NodePort or LoadBalancer; take it out for type ClusterIP, which has no traffic from outside",fieldPath=".externalTrafficPolicy"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || size(self.ipFamilies) < 2 || !has(self.ipFamilyPolicy) || self.ipFamilyPolicy != 'SingleStack'",message="spec.service.ipFamilies names two families while spec.service.ipFamilyPolicy is SingleStack; name one, or set PreferDualStack or RequireDualStack",fieldPath=".ipFamilies"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.?type.orValue('ClusterIP') == 'LoadBalancer'",message="spec.service.loadBalancerClass needs spec.service.type LoadBalancer",messageExpression="[self.?type.orValue('ClusterIP')].map(t, 'spec.service.loadBalancerClass is \"' + self.loadBalancerClass + '\" while spec.service.type is ' + t + '; it needs type LoadBalancer')[0]",fieldPath=".loadBalancerClass"
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'ClusterIP') != 'LoadBalancer' || (has(oldSelf.type) ? oldSelf.type : 'ClusterIP') != 'LoadBalancer' || (has(self.loadBalancerClass) ? self.loadBalancerClass : '(default)') == (has(oldSelf.loadBalancerClass) ? oldSelf.loadBalancerClass : '(default)')",message="spec.service.loadBalancerClass cannot be changed, added or removed while spec.service.type stays LoadBalancer: Kubernetes does not allow it; set another type first",reason=FieldValueForbidden,fieldPath=".loadBalancerClass"
type ServiceSpec struct {
	// Type of the client Service: ClusterIP (default), NodePort or LoadBalancer. With
	// LoadBalancer, its addresses are in the certificates of members and in
	// status.endpoints. With NodePort, name what clients connect to in
	// spec.tls.extraSANs: nodes and their addresses come and go.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Labels of the client Service, beside those of the operator. Refused: the operator's prefix etcdsteward.dev/, and
	// those of app.kubernetes.io/ that the operator sets (name, instance, managed-by and component).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/component']))",message="spec.service.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.service.labels must have values of at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations of the client Service, such as a load balancer's settings. The operator's prefix etcdsteward.dev/ is
	// refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/'))",message="spec.service.annotations must not contain the prefix etcdsteward.dev/: the operator sets those"
	Annotations map[string]string `json:"annotations,omitempty"`

	// LoadBalancerClass of the client Service, such as "example.com/internal". Only
	// with type LoadBalancer. Default: the platform's own load balancer.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",message="spec.service.loadBalancerClass must be a name with an optional domain before it, such as example.com/internal",messageExpression="'spec.service.loadBalancerClass is \"' + self + '\"; it must be a name with an optional domain before it, such as example.com/internal'"
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`

	// LoadBalancerSourceRanges are the networks from which clients may connect through the load balancer, such as
	// "203.0.113.0/24". Only with type LoadBalancer, and where the platform supports it. At most 64. Default: every
	// network, or what others set on the Service.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",message="spec.service.loadBalancerSourceRanges must be networks, such as 203.0.113.0/24 or 2001:db8::/64",messageExpression="'spec.service.loadBalancerSourceRanges has \"' + self + '\"; each must be a network, such as 203.0.113.0/24 or 2001:db8::/64'"
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`

	// ExternalTrafficPolicy is Cluster (default) or Local. Cluster: each node leads connections from outside to all
	// members. Local: a node leads them only to members that run on it, and members see the client's own address. Only
	// with type NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// IPFamilies are the address families of both Services of the cluster: IPv4, IPv6 or both, in this order. If you
	// name one, spec.service.ipFamilyPolicy decides about the other. Default: the first family of the Kubernetes
	// cluster; Services that exist keep theirs. The client Service keeps its first family, and with it its address,
	// until you delete it. Kubernetes refuses a family that it does not have.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +kubebuilder:validation:XValidation:rule="size(self) < 2 || self[0] != self[1]",message="spec.service.ipFamilies names the same family twice; name each once, such as [IPv6, IPv4]"
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`

	// IPFamilyPolicy of both Services of the cluster: SingleStack gives them one address family, PreferDualStack
	// (default) both if the Kubernetes cluster has both, RequireDualStack both. Kubernetes refuses RequireDualStack
	// where it has one.
	// +optional
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	IPFamilyPolicy corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
}

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
