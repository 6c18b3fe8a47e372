package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Defaults of what a Pod is made from live in code and not in the schema: a new schema default would appear in every
// stored object at once. Those below are also written in the rules of the schema, where a rule joins two fields.
const (
	// DefaultStorageSize is the size of a member's volume.
	DefaultStorageSize = "8Gi"
	// DefaultQuotaBackendBytes is the size of the database at which etcd stops accepting writes.
	DefaultQuotaBackendBytes = "2Gi"
	// DefaultHeartbeatInterval is etcd's own.
	DefaultHeartbeatInterval = 100 * time.Millisecond
	// DefaultElectionTimeout is etcd's own.
	DefaultElectionTimeout = time.Second
)

// StorageSizeOrDefault is the size of a member's volume.
func (s *EtcdClusterSpec) StorageSizeOrDefault() resource.Quantity {
	if s.Storage == nil || s.Storage.Size == nil {
		return resource.MustParse(DefaultStorageSize)
	}
	return *s.Storage.Size
}

// QuotaOrDefault is the size of the database at which etcd stops accepting writes.
func (s *EtcdClusterSpec) QuotaOrDefault() resource.Quantity {
	if s.Etcd == nil || s.Etcd.QuotaBackendBytes == nil {
		return resource.MustParse(DefaultQuotaBackendBytes)
	}
	return *s.Etcd.QuotaBackendBytes
}

// IsTLS reports whether connections are protected.
func (s *EtcdClusterSpec) IsTLS() bool {
	return s.TLS == nil || s.TLS.Mode != TLSDisabled
}

// IsEphemeral reports whether members keep their data in an emptyDir.
func (s *EtcdClusterSpec) IsEphemeral() bool {
	return s.Storage != nil && s.Storage.Ephemeral != nil
}

// IsDryRun reports whether the next step is published and not taken.
func (s *EtcdClusterSpec) IsDryRun() bool {
	return s.Mode == ModeDryRun
}

// DeletionPolicyOrDefault is what becomes of the data when the cluster is deleted.
func (s *EtcdClusterSpec) DeletionPolicyOrDefault() DeletionPolicy {
	if s.Storage == nil || s.Storage.DeletionPolicy == "" {
		return DeletionRetain
	}
	return s.Storage.DeletionPolicy
}

// HasBudget reports whether the operator keeps a PodDisruptionBudget.
func (s *EtcdClusterSpec) HasBudget() bool {
	return s.Disruption == nil || s.Disruption.PodDisruptionBudget != BudgetNone
}
