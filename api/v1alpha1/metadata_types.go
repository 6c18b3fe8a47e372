package v1alpha1

// InheritedMetadata are labels and annotations for what is made for a cluster.
type InheritedMetadata struct {
	// Labels that every object gets. Refused: the operator's prefix etcdsteward.dev/,
	// and those of app.kubernetes.io/ that the operator sets (name, instance,
	// managed-by and component).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/component']))",message="spec.inheritedMetadata.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.inheritedMetadata.labels must have values of at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations that every object gets. Refused: the operator's prefix
	// etcdsteward.dev/, and what loosens seccomp or AppArmor of Pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/'))",message="spec.inheritedMetadata.annotations must not contain the prefix etcdsteward.dev/: the operator sets those"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('seccomp.security.alpha.kubernetes.io/') && (!k.startsWith('container.apparmor.security.beta.kubernetes.io/') || self[k] == 'runtime/default' || self[k].startsWith('localhost/')))",message="spec.inheritedMetadata.annotations must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the value runtime/default or localhost/<profile>"
	Annotations map[string]string `json:"annotations,omitempty"`
}
