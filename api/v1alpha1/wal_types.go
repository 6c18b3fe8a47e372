package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// WALSpec describes the volume that a member's write-ahead log has for itself.
type WALSpec struct {
	// Size is the size of each such volume, at least 1Gi. The log holds what was
	// written since the last snapshots of raft's state, and etcd stops when its volume
	// is full. A smaller size moves members. A larger one is followed as
	// spec.storage.expand says.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(.*[eE][+-]?[0-9]{1,2}|.*[^0-9.]|[^eE]*)$`
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || quantity(string(self)).compareTo(quantity('1Gi')) >= 0",message="spec.storage.wal.size must be at least 1Gi",messageExpression="'spec.storage.wal.size is ' + string(self) + '; it must be at least 1Gi, which has room for a few segments of the log'"
	Size resource.Quantity `json:"size"`

	// StorageClassName is the class of these volumes, such as one with a lower
	// latency. Default: that of spec.storage.storageClassName.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.storage.wal.storageClassName must be the name of a StorageClass",messageExpression="'spec.storage.wal.storageClassName is \"' + self + '\"; it must be the name of a StorageClass: lower-case letters, digits, \"-\" and \".\"'"
	StorageClassName *string `json:"storageClassName,omitempty"`

	// VolumeAttributesClassName says how fast these volumes are, as
	// spec.storage.volumeAttributesClassName does for those of the data. Default: that
	// one, unless storageClassName is given here.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.storage.wal.volumeAttributesClassName must be the name of a VolumeAttributesClass",messageExpression="'spec.storage.wal.volumeAttributesClassName is \"' + self + '\"; it must be the name of a VolumeAttributesClass: lower-case letters, digits, \"-\" and \".\"'"
	VolumeAttributesClassName string `json:"volumeAttributesClassName,omitempty"`
}

// WAL is the volume that each member's write-ahead log is to have for itself, with its StorageClass; nil for none.
func (s *EtcdClusterSpec) WAL() *WALSpec {
	if s.IsEphemeral() || s.Storage == nil || s.Storage.WAL == nil {
		return nil
	}
	wal := s.Storage.WAL.DeepCopy()
	if wal.StorageClassName == nil {
		wal.StorageClassName = s.Storage.StorageClassName
		wal.VolumeAttributesClassName = cmp.Or(wal.VolumeAttributesClassName, s.Storage.VolumeAttributesClassName)
	}
	return wal
}

// VolumeAttributesClass is the class that volumes of data are to have; empty where the spec names none.
func (s *EtcdClusterSpec) VolumeAttributesClass() string {
	if s.IsEphemeral() || s.Storage == nil {
		return ""
	}
	return s.Storage.VolumeAttributesClassName
}
