package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// StorageSpec says where members keep their data.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ephemeral) || !has(self.size) && !has(self.storageClassName) && !has(self.accessMode)",message="spec.storage.ephemeral cannot be given together with size, storageClassName or accessMode: those describe a volume, and an ephemeral member has none",reason=FieldValueForbidden,fieldPath=".ephemeral"
type StorageSpec struct {
	// Size is the size of each member's volume. Default 8Gi. At least twice
	// spec.etcd.quotaBackendBytes and 1Gi more, so that defragmentation and snapshots
	// have room.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(.*[eE][+-]?[0-9]{1,2}|.*[^0-9.]|[^eE]*)$`
	Size *resource.Quantity `json:"size,omitempty"`

	// StorageClassName is the class of new volumes. Default: the default
	// StorageClass. "" means existing volumes without a class. Members that have a
	// volume keep it when this changes; status.members names the class of each.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.storage.storageClassName must be the name of a StorageClass",messageExpression="'spec.storage.storageClassName is \"' + self + '\"; it must be the name of a StorageClass: lower-case letters, digits, \"-\" and \".\"'"
	StorageClassName *string `json:"storageClassName,omitempty"`

	// AccessMode is ReadWriteOnce (default), or ReadWriteOncePod if the CSI driver
	// supports it. It cannot change on an existing cluster.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteOncePod
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`

	// Ephemeral keeps data in an emptyDir instead of a volume. A member whose Pod is
	// gone has lost its data and is replaced. Draining a node then needs
	// --delete-emptydir-data. It cannot be added or removed on an existing cluster.
	// +optional
	Ephemeral *EphemeralSpec `json:"ephemeral,omitempty"`

	// DeletionPolicy says what happens to volumes and CAs when the cluster is
	// deleted. Retain (default) keeps them. Delete (default with ephemeral) removes
	// them.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// EphemeralSpec describes the emptyDir of a member without a volume.
type EphemeralSpec struct {
	// Medium is "" (the node's disk, default) or Memory, which counts against the
	// container's memory. It cannot change on an existing cluster.
	// +optional
	// +kubebuilder:validation:Enum="";Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`
}

// DeletionPolicy says what happens to the data when the cluster is deleted.
type DeletionPolicy string

// The deletion policies.
const (
	// Volumes and CAs are kept.
	DeletionRetain DeletionPolicy = "Retain"
	// Volumes and CAs are removed with the cluster.
	DeletionDelete DeletionPolicy = "Delete"
)
