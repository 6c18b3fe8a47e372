package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// TaskSpec holds settings of the Pods that do tasks: those that take, test, prune and restore backups.
type TaskSpec struct {
	// Labels are added to the Pods of tasks. By default these say that Istio and Kuma
	// put no proxy into them; a label given here wins. Refused: the operator's prefix
	// etcdsteward.dev/, and those of app.kubernetes.io/ that members' Pods have (name,
	// instance, managed-by and component).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/component']))",message="spec.tasks.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.tasks.labels must have values of at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to the Pods of tasks. By default these say that Istio,
	// Linkerd and Consul put no proxy into them; an annotation given here wins. Refused:
	// the operator's prefix etcdsteward.dev/, and what loosens seccomp or AppArmor.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/'))",message="spec.tasks.annotations must not contain the prefix etcdsteward.dev/: the operator sets those"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('seccomp.security.alpha.kubernetes.io/') && (!k.startsWith('container.apparmor.security.beta.kubernetes.io/') || self[k] == 'runtime/default' || self[k].startsWith('localhost/')))",message="spec.tasks.annotations must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the value runtime/default or localhost/<profile>"
	Annotations map[string]string `json:"annotations,omitempty"`

	// Resources of each container of a task. Default: requests of 100m CPU and 128Mi
	// memory, and the limits of CPU and memory that spec.pod.resources has. A limit of
	// memory counts the files that a task writes as well. The Pod that restores a
	// member's volume asks for what the member asks for.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="spec.tasks.resources.claims is not supported; use limits and requests",reason=FieldValueForbidden,fieldPath=".claims"
	Resources *ResourceRequirements `json:"resources,omitempty"`

	// Env are environment variables of each container of a task, such as those that
	// name a proxy. Values only: what a store is reached with is named in the store.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Env []TaskEnv `json:"env,omitempty"`

	// ServiceAccountName is the account that the Pods of tasks run as. It must exist.
	// No token of it is mounted, unless the cloud's webhook does. Where the operator's
	// policies are installed, the annotation etcdsteward.dev/task-accounts of the
	// namespace has to list it. Default: the namespace's default account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.tasks.serviceAccountName must be the name of a ServiceAccount",messageExpression="'spec.tasks.serviceAccountName is \"' + self + '\"; it must be the name of a ServiceAccount: lower-case letters, digits, \"-\" and \".\"'"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// PriorityClassName of the Pods of tasks. Default: the members'.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.tasks.priorityClassName must be the name of a PriorityClass",messageExpression="'spec.tasks.priorityClassName is \"' + self + '\"; it must be the name of a PriorityClass: lower-case letters, digits, \"-\" and \".\"'"
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// NodeSelector restricts the nodes that tasks run on, by their labels. Default:
	// the members' nodeSelector and required node affinity. The Pod that restores a
	// member's volume runs where the member will run.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.tasks.nodeSelector must have values of at most 63 characters"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the Pods of tasks. Default: the members'. The Pod that restores a
	// member's volume has the member's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// TaskEnv is an environment variable of a task.
//
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom)",message="spec.tasks.env takes values only: the operator reads no Secret for a task; name what a store is reached with in the store's credentialsSecretRef",reason=FieldValueForbidden,fieldPath=".valueFrom"
type TaskEnv struct {
	// Name of the variable. TMPDIR is refused: a task has one place to write to.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*$') && self != 'TMPDIR'",message="spec.tasks.env.name must be the name of an environment variable other than TMPDIR",messageExpression="'spec.tasks.env.name is \"' + self + '\"; it must be letters, digits and \"_\", not starting with a digit, and not TMPDIR'"
	Name string `json:"name"`

	// Value of the variable. It is taken as it is: $(NAME) is not replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`

	// ValueFrom is not supported and is refused.
	// +optional
	ValueFrom *corev1.EnvVarSource `json:"valueFrom,omitempty"`
}
