package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an EtcdBackup. As for a Job: once Complete or Failed is True, nothing changes any more.
const (
	// BackupComplete is True when the backup is in the store, and proven if spec.verify asks for it.
	BackupComplete = "Complete"
	// BackupFailed is True when the backup has failed for good. It is present only then.
	BackupFailed = "Failed"
	// BackupVerified is True when what the store gave back was restored, and held the keys that another voting member
	// reported. The only voting member of a cluster confirms its own.
	BackupVerified = "Verified"
)

// DefaultBackupDeadline is how long a backup may take.
const DefaultBackupDeadline = time.Hour

// EtcdBackupStatus is the progress and the result of the backup. It may be wiped at any time: the operator writes it
// again from the record on the EtcdBackup and from its Job.
type EtcdBackupStatus struct {
	// Conditions: Complete and Verified, and Failed once it is True.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Stage is the current stage: Waiting, Starting, Snapshot, Fetch, Restore or Compare. At the end it is Complete or
	// Failed.
	// +optional
	Stage string `json:"stage,omitempty"`

	// JobName is the Job that makes the backup.
	// +optional
	JobName string `json:"jobName,omitempty"`

	// BytesTransferred is how much of the stage is done, in bytes. Absent when the backup's Pod does not report it.
	// +optional
	BytesTransferred *int64 `json:"bytesTransferred,omitempty"`

	// BytesTotal is the size of the whole stage, in bytes. Absent when it is not known.
	// +optional
	BytesTotal *int64 `json:"bytesTotal,omitempty"`

	// Key is the name of the snapshot in the store, with the prefix. Its manifest has the same directory.
	// +optional
	Key string `json:"key,omitempty"`

	// SizeBytes is the size of the snapshot, in bytes.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// SHA256 is the hash of the snapshot in the store, in hex.
	// +optional
	SHA256 string `json:"sha256,omitempty"`

	// Revision is the etcd revision of the snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// TotalKeys is the number of keys at that revision.
	// +optional
	TotalKeys int64 `json:"totalKeys,omitempty"`

	// EtcdVersion is the version of etcd that wrote the snapshot.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`

	// ClusterID is etcd's ID of the cluster, in hex.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Member is the member that the snapshot was taken from.
	// +optional
	Member string `json:"member,omitempty"`

	// Witness is the voting member that reported the same hash of the keys as the snapshot has. It is another member
	// than Member, unless that is the only voting member. Absent where no other voting member confirmed the keys.
	// +optional
	Witness string `json:"witness,omitempty"`

	// StartedAt is when the snapshot started. Later writes may be missing in it.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CompletedAt is when the backup was complete.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// VerifiedAt is when the backup was proven.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`
}

// IsVerified reports whether the backup is proven before it is complete.
func (s *EtcdBackupSpec) IsVerified() bool { return s.Verify == nil || *s.Verify }

// DeadlineOrDefault is how long the backup may take from its creation. What the schema refuses counts as the default.
func (s *EtcdBackupSpec) DeadlineOrDefault() time.Duration {
	if s.Deadline == nil || s.Deadline.Duration < time.Minute {
		return DefaultBackupDeadline
	}
	return s.Deadline.Duration
}
