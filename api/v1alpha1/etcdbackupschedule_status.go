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
)

// EtcdBackupScheduleStatus is how a schedule is kept. It may be wiped at any time: it is made anew from the EtcdBackups.
type EtcdBackupScheduleStatus struct {
	// Conditions: Ready and BackedUp.
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
}

// IsSuspended reports whether no backup is begun.
func (s *EtcdBackupScheduleSpec) IsSuspended() bool { return s.Suspend != nil && *s.Suspend }

// BackupSpec is what each of its backups is asked for.
func (s *EtcdBackupScheduleSpec) BackupSpec() EtcdBackupSpec {
	c := s.DeepCopy()
	return EtcdBackupSpec{ClusterRef: c.ClusterRef, Store: c.Store, Verify: c.Verify, Deadline: c.Deadline}
}
