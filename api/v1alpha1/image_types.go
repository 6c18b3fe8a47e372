package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ImageSpec says where the etcd image comes from.
type ImageSpec struct {
	// Repository is the image without tag and digest. The tag is v<version>. It must have
	// etcd and etcdutl. Default: that of the operator's --etcd-repository, which is
	// gcr.io/etcd-development/etcd.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|[[][0-9a-fA-F:]+[]])(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$')",message="spec.image.repository must be an image name without tag and digest, such as registry.example.com/etcd: the tag is v<version>, digests stand in spec.image.digests",messageExpression="'spec.image.repository is \"' + self + '\"; it must be an image name without tag and digest, such as registry.example.com/etcd: the tag is v<version>, digests stand in spec.image.digests'"
	Repository string `json:"repository,omitempty"`

	// Digests maps a version such as "3.6.16", without a leading "v", to the digest
	// of its image, such as "sha256:…". Other versions run from their tag. Where any
	// is named, a minor version is left only once each version on the way has one.
	// Without a repository, the operator's --etcd-digest adds digests of other versions.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^(0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})$'))",message="spec.image.digests must have versions without a leading v as keys, such as 3.6.16"
	Digests map[string]Digest `json:"digests,omitempty"`

	// PullPolicy is when nodes pull the image: Always, IfNotPresent (default) or Never.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// PullSecrets are Secrets of this namespace with credentials for the registry. At most
	// 8. Those of the operator's --image-pull-secret are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(s, has(s.name) && s.name != '')",message="spec.image.pullSecrets must each name a Secret of this namespace; a name is empty"
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// Digest is the content address of an image: sha256: and 64 hex digits.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[a-f0-9]{64}$')",message="spec.image.digests must have values of the form sha256:<64 hex digits>",messageExpression="'a value of spec.image.digests is \"' + self + '\"; it must be of the form sha256:<64 hex digits>'"
type Digest string
