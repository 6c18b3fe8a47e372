package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an EtcdBackupSchedule.
const (
	// ScheduleReady is True when the schedule is kept: its next run is known, or one runs.
	ScheduleReady = "Ready"
	// ScheduleBackedUp is True when the newest of its runs that ended is complete, and Unknown before the first one ended.
	ScheduleBackedUp = "BackedUp"
	// ScheduleRetained is True when the last time that spec.retention was looked after went well. Without retention it is absent.
	ScheduleRetained = "Retained"
	// ScheduleProven is True when the last test restore went well. Without testRestore it is absent.
	ScheduleProven = "Proven"
)

// EtcdBackupScheduleStatus is how a schedule is kept. It may be wiped at any time: it is made anew from the EtcdBackups, and
// from what is recorded on the schedule.
type EtcdBackupScheduleStatus struct {
	// Conditions: Ready and BackedUp, and Retained and Proven where they are asked for.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Active is the EtcdBackup of this schedule that runs now.
	// +optional
	Active string `json:"active,omitempty"`

	// LastScheduleTime is the time for which a run was last begun, or left out
	// because it was missed for too long.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// NextScheduleTime is the time of the next run; absent while it is suspended
	// or cannot be read.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// LastSuccessfulTime is when a backup of this schedule was last complete.
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`

	// LastVerifiedTime is when a backup of this schedule was last proven.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// LastRun is the newest EtcdBackup of this schedule that ended.
	// +optional
	LastRun string `json:"lastRun,omitempty"`

	// OldestRestorable is the oldest backup of this schedule that can be restored.
	// +optional
	OldestRestorable *RestorePoint `json:"oldestRestorable,omitempty"`

	// NewestRestorable is the newest one.
	// +optional
	NewestRestorable *RestorePoint `json:"newestRestorable,omitempty"`

	// KeptBackups is how many there were when retention was last looked after;
	// absent without spec.retention.
	// +optional
	KeptBackups *int32 `json:"keptBackups,omitempty"`

	// LastProvenTime is when a backup of this schedule was last restored and
	// compared: when it was made, or in a test restore.
	// +optional
	LastProvenTime *metav1.Time `json:"lastProvenTime,omitempty"`

	// LastProven is the backup that was.
	// +optional
	LastProven *RestorePoint `json:"lastProven,omitempty"`

	// NextTestRestoreTime is the time of the next test restore.
	// +optional
	NextTestRestoreTime *metav1.Time `json:"nextTestRestoreTime,omitempty"`
}

// IsSuspended reports whether no backup is begun.
func (s *EtcdBackupScheduleSpec) IsSuspended() bool { return s.Suspend != nil && *s.Suspend }

// BackupSpec is what each of its backups is asked for.
func (s *EtcdBackupScheduleSpec) BackupSpec() EtcdBackupSpec {
	c := s.DeepCopy()
	return EtcdBackupSpec{ClusterRef: c.ClusterRef, Store: c.Store, Verify: c.Verify, Deadline: c.Deadline}
}
