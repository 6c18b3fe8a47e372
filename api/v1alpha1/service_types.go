package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ServiceSpec holds the settings of the Service that clients connect to.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || self.?type.orValue('ClusterIP') == 'LoadBalancer'",message="spec.service.loadBalancerClass needs spec.service.type LoadBalancer",messageExpression="[self.?type.orValue('ClusterIP')].map(t, 'spec.service.loadBalancerClass is \"' + self.loadBalancerClass + '\" while spec.service.type is ' + t + '; it needs type LoadBalancer')[0]",fieldPath=".loadBalancerClass"
// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : 'ClusterIP') != 'LoadBalancer' || (has(oldSelf.type) ? oldSelf.type : 'ClusterIP') != 'LoadBalancer' || (has(self.loadBalancerClass) ? self.loadBalancerClass : '(default)') == (has(oldSelf.loadBalancerClass) ? oldSelf.loadBalancerClass : '(default)')",message="spec.service.loadBalancerClass cannot be changed, added or removed while spec.service.type stays LoadBalancer: Kubernetes does not allow it; set another type first",reason=FieldValueForbidden,fieldPath=".loadBalancerClass"
type ServiceSpec struct {
	// Type of the client Service: ClusterIP (default), NodePort or LoadBalancer.
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
}
