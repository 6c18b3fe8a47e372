package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupRetention says which backups of a schedule stay in its store. A backup stays if at least one rule keeps it. The
// newest always stays, and so does the newest that was proven. Backups of other schedules, backups made by hand, and
// backups of an earlier cluster of the same name always stay.
//
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepDaily) || has(self.keepWeekly) || has(self.keepWithin)",message="spec.retention must have at least one of keepLast, keepDaily, keepWeekly and keepWithin"
type BackupRetention struct {
	// KeepLast is the number of newest backups to keep, from 1 to 1000. Newer means
	// a higher revision, because clocks can be wrong.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`

	// KeepDaily is a number of days, from 1 to 1000. The newest proven backup of
	// each day is kept, or the newest if none of that day was proven. Days without a
	// backup do not count. Days begin in spec.timeZone.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepDaily *int32 `json:"keepDaily,omitempty"`

	// KeepWeekly is a number of weeks, from 1 to 1000. The newest proven backup of
	// each week is kept, or the newest if none of that week was proven. Weeks without a
	// backup do not count. Weeks begin on Monday.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepWeekly *int32 `json:"keepWeekly,omitempty"`

	// KeepWithin is a time such as 720h, from 1m to 87600h. All backups that are at
	// most that much older than the newest are kept.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('87600h')",message="spec.retention.keepWithin must be a time from 1m to 87600h, such as 720h",messageExpression="'spec.retention.keepWithin is \"' + self + '\"; it must be a time from 1m to 87600h, such as 720h'"
	KeepWithin *metav1.Duration `json:"keepWithin,omitempty"`
}

// TestRestore says when the newest backup of a schedule is tested. The backup is fetched from its store, restored in a
// scratch directory, and compared with what its manifest records.
type TestRestore struct {
	// Schedule says when, such as "0 5 * * 0". Format and time zone are those of
	// spec.schedule. Of several missed tests only the newest is made up for. If the
	// schedule cannot be read, the condition Proven says so.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="spec.testRestore.schedule must name no time zone: put it into spec.timeZone",messageExpression="'spec.testRestore.schedule is \"' + self + '\"; it must name no time zone: put it into spec.timeZone'"
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *(@[a-z]+|@every +[0-9.a-z]+|[^ @]+( +[^ ]+){4}) *$') || self.contains('TZ')",message="spec.testRestore.schedule must have five fields or be a word such as @weekly",messageExpression="'spec.testRestore.schedule is \"' + self + '\"; it must have five fields (minute, hour, day of month, month, day of week), such as \"0 5 * * 0\", or be a word such as @weekly'"
	Schedule string `json:"schedule"`
}

// RestorePoint is a backup that can be restored.
type RestorePoint struct {
	// Time is when the snapshot started. All earlier writes are in it.
	Time metav1.Time `json:"time"`

	// Revision is the etcd revision of the backup.
	Revision int64 `json:"revision"`

	// Key is the name of the snapshot in the store.
	Key string `json:"key"`
}
