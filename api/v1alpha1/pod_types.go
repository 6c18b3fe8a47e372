package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// PodSpec holds the settings of members' Pods.
type PodSpec struct {
	// Labels are added to members' Pods. Refused: the operator's prefix
	// etcdsteward.dev/, and those of app.kubernetes.io/ that the operator sets (name,
	// instance, managed-by and component).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/component']))",message="spec.pod.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.pod.labels must have values of at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to members' Pods. Refused: the operator's prefix
	// etcdsteward.dev/, and what loosens seccomp or AppArmor. Profiles of AppArmor
	// count from the next restart of a member; all others change in place.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/'))",message="spec.pod.annotations must not contain the prefix etcdsteward.dev/: the operator sets those"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('seccomp.security.alpha.kubernetes.io/') && (!k.startsWith('container.apparmor.security.beta.kubernetes.io/') || self[k] == 'runtime/default' || self[k].startsWith('localhost/')))",message="spec.pod.annotations must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the value runtime/default or localhost/<profile>"
	Annotations map[string]string `json:"annotations,omitempty"`

	// Resources of the etcd container. Default: requests of 100m CPU and 512Mi memory, no limits. A lower limit of
	// memory is refused while more of the database is in use. CPU and memory change without a restart where the
	// kubelet can do that.
	// +optional
	Resources *ResourceRequirements `json:"resources,omitempty"`

	// SecurityContext says as which user and groups members run, and the Pods that take
	// and restore backups of this cluster. A change restarts members one at a time.
	// +optional
	SecurityContext *PodSecurityContext `json:"securityContext,omitempty"`

	// HostUsers is whether processes have the user IDs of their node: true (default) or
	// false. With false, members and the Pods that do tasks run in a user namespace of
	// their own. One that breaks out of its container is then no user of the node.
	// Nodes and the file systems of volumes must support mounts with mapped IDs.
	// A change restarts members one at a time.
	// +optional
	HostUsers *bool `json:"hostUsers,omitempty"`

	// NodeSelector restricts the nodes that members run on, by their labels.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.pod.nodeSelector must have values of at most 63 characters"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of members' Pods, added to the operator's own. Those are not-ready
	// and unreachable without a time limit, so that members return with their node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of members' Pods. Default: nodes without a member are preferred. The
	// operator adds this to yours, unless you set podAffinity, podAntiAffinity or
	// topologySpreadConstraints.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// TopologySpreadConstraints of members' Pods. Default: spread over zones and over
	// nodes where possible. The operator completes a constraint without a
	// labelSelector: it selects this cluster's members.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// PriorityClassName of members' Pods. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.pod.priorityClassName must be the name of a PriorityClass",messageExpression="'spec.pod.priorityClassName is \"' + self + '\"; it must be the name of a PriorityClass: lower-case letters, digits, \"-\" and \".\"'"
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// SchedulerName is the scheduler of members' Pods, and of the Pods that do tasks.
	// Default: default-scheduler. A change restarts members one at a time.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.pod.schedulerName must be the name of a scheduler",messageExpression="'spec.pod.schedulerName is \"' + self + '\"; it must be the name of a scheduler: lower-case letters, digits, \"-\" and \".\"'"
	SchedulerName string `json:"schedulerName,omitempty"`

	// DNSConfig is added to the DNS settings that Pods have from Kubernetes: name
	// servers, search domains, and options such as ndots. It is for members' Pods, and
	// for those that do tasks. A change restarts members one at a time.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`

	// TerminationGracePeriodSeconds is the time in seconds that a member has to
	// hand over leadership and stop. Default 60, from 30 to 3600.
	// +optional
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// Sidecars are containers that run beside etcd in each member's Pod, at most 4.
	// Default none. A change restarts one member at a time, and stops at the first
	// whose sidecar does not start. Tasks have no sidecars.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	Sidecars []Sidecar `json:"sidecars,omitempty"`
}

// ResourceRequirements are resources of a container, in the form that Pods have them, but for claims of devices.
type ResourceRequirements struct {
	// Limits are the most that the container may use.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Limits map[corev1.ResourceName]Amount `json:"limits,omitempty"`

	// Requests are what a node must have free for the container. Default: the limits.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Requests map[corev1.ResourceName]Amount `json:"requests,omitempty"`
}

// Amount is a quantity as text, such as 500m or 1Gi. Kubernetes' own type reads 1e-2000000000 too, which takes minutes;
// here such text is refused before anything calculates with it.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
type Amount string

// PodSecurityContext says as which user and groups the Pods of a cluster run. Every value that is accepted passes
// Pod Security restricted.
type PodSecurityContext struct {
	// RunAsUser is the user ID of every process, from 1 to 2147483647. Default: 65532.
	// On a platform that hands out IDs, such as OpenShift, the default of this and of
	// the groups is what the platform chooses.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 2147483647",message="spec.pod.securityContext.runAsUser must be from 1 to 2147483647: no process runs as root",messageExpression="'spec.pod.securityContext.runAsUser is ' + string(dyn(self)) + '; it must be from 1 to 2147483647: no process runs as root'"
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// RunAsGroup is the primary group ID of every process, from 0 to 2147483647.
	// Default: runAsUser. Group 0 gives no rights of root; images for OpenShift expect
	// it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 2147483647",message="spec.pod.securityContext.runAsGroup must be from 0 to 2147483647",messageExpression="'spec.pod.securityContext.runAsGroup is ' + string(dyn(self)) + '; it must be from 0 to 2147483647'"
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// FSGroup is the group ID that Kubernetes gives the files of volumes, from 0 to
	// 2147483647. Default: runAsUser. Data that another user wrote is readable only by
	// this group, so change it together with runAsUser. Volumes of the kind hostPath
	// and of some CSI drivers keep their groups: there runAsUser cannot change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 2147483647",message="spec.pod.securityContext.fsGroup must be from 0 to 2147483647",messageExpression="'spec.pod.securityContext.fsGroup is ' + string(dyn(self)) + '; it must be from 0 to 2147483647'"
	FSGroup *int64 `json:"fsGroup,omitempty"`

	// FSGroupChangePolicy is OnRootMismatch (default) or Always. OnRootMismatch: files
	// get the group when the volume itself has another one. Always: at every start.
	// +optional
	// +kubebuilder:validation:Enum=OnRootMismatch;Always
	FSGroupChangePolicy corev1.PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty"`

	// SupplementalGroups are further group IDs of every process, each from 0 to
	// 2147483647.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(g, g >= 0 && g <= 2147483647)",message="spec.pod.securityContext.supplementalGroups must be from 0 to 2147483647"
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty"`

	// SupplementalGroupsPolicy is Merge (default) or Strict. With Merge, processes are
	// also in the groups that /etc/group of the image names for their user. With
	// Strict they are not. Kubelets refuse Strict where their container runtime
	// cannot do it.
	// +optional
	// +kubebuilder:validation:Enum=Merge;Strict
	SupplementalGroupsPolicy corev1.SupplementalGroupsPolicy `json:"supplementalGroupsPolicy,omitempty"`

	// SELinuxOptions are the SELinux level and type of every process. Default: those of
	// the container runtime. The types are those that Pod Security restricted admits:
	// container_t, container_init_t, container_kvm_t and container_engine_t. User and
	// role are refused.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.?user.orValue(\"\") == '' && self.?role.orValue(\"\") == ''",message="spec.pod.securityContext.seLinuxOptions must not set user and role: Pod Security restricted refuses them"
	// +kubebuilder:validation:XValidation:rule="self.?type.orValue(\"\") in [\"\", 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']",message="spec.pod.securityContext.seLinuxOptions.type must be one of container_t, container_init_t, container_kvm_t, container_engine_t: Pod Security restricted refuses others",fieldPath=".type"
	// +kubebuilder:validation:XValidation:rule="size(self.?level.orValue(\"\")) <= 256",message="spec.pod.securityContext.seLinuxOptions.level must be at most 256 characters, such as s0:c123,c456",fieldPath=".level"
	SELinuxOptions *corev1.SELinuxOptions `json:"seLinuxOptions,omitempty"`
}

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
