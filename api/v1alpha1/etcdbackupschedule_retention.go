package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupRetention says which backups of a schedule stay in its store: each that any of its rules keeps, and the newest one
// whatever they say. Backups of other schedules, those that somebody made by hand, and those of an earlier cluster of the
// same name are never removed.
//
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepDaily) || has(self.keepWeekly) || has(self.keepWithin)",message="spec.retention must have at least one of keepLast, keepDaily, keepWeekly and keepWithin"
type BackupRetention struct {
	// KeepLast keeps the newest so many backups, from 1 to 1000. Newer is what has
	// the higher revision: clocks can be wrong.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`

	// KeepDaily keeps the newest backup of each of the last so many days that have
	// one, from 1 to 1000. Days begin where spec.timeZone is.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepDaily *int32 `json:"keepDaily,omitempty"`

	// KeepWeekly keeps the newest backup of each of the last so many weeks, from
	// Monday on, that have one, from 1 to 1000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepWeekly *int32 `json:"keepWeekly,omitempty"`

	// KeepWithin keeps all backups that are at most so much older than the newest
	// one: a time such as 720h, from 1m to 87600h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('87600h')",message="spec.retention.keepWithin must be a time from 1m to 87600h, such as 720h",messageExpression="'spec.retention.keepWithin is \"' + self + '\"; it must be a time from 1m to 87600h, such as 720h'"
	KeepWithin *metav1.Duration `json:"keepWithin,omitempty"`
}

// TestRestore says when the newest backup of a schedule is fetched from its store, restored in a scratch directory and
// compared with what the cluster held.
type TestRestore struct {
	// Schedule says when, as spec.schedule does, and in the same time zone, such as
	// "0 5 * * 0". Of several that were missed the newest is made up for. What
	// cannot be read is said in the condition Proven.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="spec.testRestore.schedule must name no time zone: put it into spec.timeZone",messageExpression="'spec.testRestore.schedule is \"' + self + '\"; it must name no time zone: put it into spec.timeZone'"
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *(@[a-z]+|@every +[0-9.a-z]+|[^ @]+( +[^ ]+){4}) *$') || self.contains('TZ')",message="spec.testRestore.schedule must have five fields or be a word such as @weekly",messageExpression="'spec.testRestore.schedule is \"' + self + '\"; it must have five fields (minute, hour, day of month, month, day of week), such as \"0 5 * * 0\", or be a word such as @weekly'"
	Schedule string `json:"schedule"`
}

// RestorePoint is a backup that can be restored.
type RestorePoint struct {
	// Time is when its snapshot was begun: what was written before is in it.
	Time metav1.Time `json:"time"`

	// Revision is the revision of etcd that it holds.
	Revision int64 `json:"revision"`

	// Key is the name of the snapshot in the store.
	Key string `json:"key"`
}
