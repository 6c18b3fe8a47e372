package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an EtcdBackupSchedule.
const (
	// ScheduleReady is True when the next run is known, or a backup is running.
	ScheduleReady = "Ready"
	// ScheduleBackedUp is True when the newest run that ended is complete, and Unknown before the first run ended.
	ScheduleBackedUp = "BackedUp"
	// ScheduleRetained is True when old backups were last removed without an error. It is False while the last test
	// restore failed: then no backup is removed. It is absent without
	// spec.retention.
	ScheduleRetained = "Retained"
	// ScheduleProven is True when the last test restore succeeded. It is absent without spec.testRestore.
	ScheduleProven = "Proven"
)

// EtcdBackupScheduleStatus is the last seen state of a schedule. It may be wiped at any time: the operator writes it
// again from the EtcdBackups and from the record on the schedule.
type EtcdBackupScheduleStatus struct {
	// Conditions: Ready and BackedUp. Retained and Proven are present with
	// spec.retention and spec.testRestore.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Active is the EtcdBackup of this schedule that is running.
	// +optional
	Active string `json:"active,omitempty"`

	// LastScheduleTime is the time of the last run that started, or that was
	// skipped because it was too late.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// NextScheduleTime is the time of the next run. Absent while the schedule is
	// suspended or cannot be read.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`

	// LastSuccessfulTime is when a backup of this schedule was last completed.
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

	// NewestRestorable is the newest backup of this schedule that can be restored.
	// +optional
	NewestRestorable *RestorePoint `json:"newestRestorable,omitempty"`

	// KeptBackups is the number of backups that stayed in the store after the last
	// removal. Absent without spec.retention.
	// +optional
	KeptBackups *int32 `json:"keptBackups,omitempty"`

	// LastProvenTime is when a backup of this schedule was last restored and
	// compared, by spec.verify or by a test restore.
	// +optional
	LastProvenTime *metav1.Time `json:"lastProvenTime,omitempty"`

	// LastProven is the backup that was last restored and compared.
	// +optional
	LastProven *RestorePoint `json:"lastProven,omitempty"`

	// NextTestRestoreTime is the time of the next test restore.
	// +optional
	NextTestRestoreTime *metav1.Time `json:"nextTestRestoreTime,omitempty"`
}

// IsSuspended reports whether new backups are stopped.
func (s *EtcdBackupScheduleSpec) IsSuspended() bool { return s.Suspend != nil && *s.Suspend }

// BackupSpec is the spec of each EtcdBackup of the schedule.
func (s *EtcdBackupScheduleSpec) BackupSpec() EtcdBackupSpec {
	c := s.DeepCopy()
	return EtcdBackupSpec{ClusterRef: c.ClusterRef, Store: c.Store, Verify: c.Verify, Deadline: c.Deadline,
		Tasks: c.Tasks}
}
