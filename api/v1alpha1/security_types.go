package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

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
