package v1alpha1

import corev1 "k8s.io/api/core/v1"

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

	// Affinity of members' Pods. Default none.
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
