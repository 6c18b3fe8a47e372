package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an EtcdBackup. They mean what they mean for a Job: once Complete or Failed is True, nothing changes any more.
const (
	// BackupComplete is True when the backup is in the store, and proven if that was asked for.
	BackupComplete = "Complete"
	// BackupFailed is True when the backup was given up. It is present only then.
	BackupFailed = "Failed"
	// BackupVerified is True when what the store gave back was restored and holds the keys that the members held.
	BackupVerified = "Verified"
)

// DefaultBackupDeadline is how long a backup may take.
const DefaultBackupDeadline = time.Hour

// EtcdBackupStatus is how the backup goes and what came of it. It may be wiped at any time: it is made anew from the record
// on the EtcdBackup and from its Job.
type EtcdBackupStatus struct {
	// Conditions: Complete and Verified, and Failed once it is True.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Stage is what is being done: Waiting, Starting, Snapshot, Fetch, Restore or Compare; at the end Complete or Failed.
	// +optional
	Stage string `json:"stage,omitempty"`

	// JobName is the Job that makes the backup.
	// +optional
	JobName string `json:"jobName,omitempty"`

	// BytesTransferred is how much of the stage is done, in bytes; absent when the backup's Pod does not say.
	// +optional
	BytesTransferred *int64 `json:"bytesTransferred,omitempty"`

	// BytesTotal is how much the stage has to do, in bytes; absent when nobody knows.
	// +optional
	BytesTotal *int64 `json:"bytesTotal,omitempty"`

	// Key is the name of the snapshot in the store, prefix included. Beside it lies its manifest.
	// +optional
	Key string `json:"key,omitempty"`

	// SizeBytes is the size of the snapshot.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// SHA256 is the hash of the snapshot as it lies in the store, in hex.
	// +optional
	SHA256 string `json:"sha256,omitempty"`

	// Revision is the revision of etcd that the snapshot holds.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// TotalKeys is the number of keys that live at that revision.
	// +optional
	TotalKeys int64 `json:"totalKeys,omitempty"`

	// EtcdVersion is the version of etcd that wrote it.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`

	// ClusterID is etcd's identity of the cluster, in hex.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Member is the member that the snapshot was taken from.
	// +optional
	Member string `json:"member,omitempty"`

	// StartedAt is when the snapshot was begun: later writes may be missing in it.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CompletedAt is when the backup was complete.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// VerifiedAt is when the backup was proven.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`
}

// IsVerified reports whether the backup is to be proven.
func (s *EtcdBackupSpec) IsVerified() bool { return s.Verify == nil || *s.Verify }

// DeadlineOrDefault is how long the backup may take from its creation. What the schema refuses counts as the default.
func (s *EtcdBackupSpec) DeadlineOrDefault() time.Duration {
	if s.Deadline == nil || s.Deadline.Duration < time.Minute {
		return DefaultBackupDeadline
	}
	return s.Deadline.Duration
}
