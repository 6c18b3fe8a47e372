package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ServiceSpec holds the settings of the Service that clients connect to. The address families are also those of the
// headless Service below which members have their names.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || size(self.ipFamilies) < 2 || !has(self.ipFamilyPolicy) || self.ipFamilyPolicy != 'SingleStack'",message="spec.service.ipFamilies names two families while spec.service.ipFamilyPolicy is SingleStack; name one, or set PreferDualStack or RequireDualStack",fieldPath=".ipFamilies"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.?type.orValue('ClusterIP') == 'LoadBalancer'",message="spec.service.loadBalancerClass needs spec.service.type LoadBalancer",messageExpression="[self.?type.orValue('ClusterIP')].map(t, 'spec.service.loadBalancerClass is \"' + self.loadBalancerClass + '\" while spec.service.type is ' + t + '; it needs type LoadBalancer')[0]",fieldPath=".loadBalancerClass"
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'ClusterIP') != 'LoadBalancer' || (has(oldSelf.type) ? oldSelf.type : 'ClusterIP') != 'LoadBalancer' || (has(self.loadBalancerClass) ? self.loadBalancerClass : '(default)') == (has(oldSelf.loadBalancerClass) ? oldSelf.loadBalancerClass : '(default)')",message="spec.service.loadBalancerClass cannot be changed, added or removed while spec.service.type stays LoadBalancer: Kubernetes does not allow it; set another type first",reason=FieldValueForbidden,fieldPath=".loadBalancerClass"
type ServiceSpec struct {
	// Type of the client Service: ClusterIP (default), NodePort or LoadBalancer. With LoadBalancer, its addresses are in
	// the certificates of members and in status.endpoints. With NodePort, name what clients connect to in
	// spec.tls.extraSANs: nodes and their addresses come and go.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

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
