package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EtcdBackupSchedule creates an EtcdBackup of one cluster at each time of its schedule. Deleting it keeps the
// EtcdBackups, and the backups in the store.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackupschedules,scope=Namespaced,shortName=etcdbs,categories={all,etcdsteward}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="Cluster that is backed up"
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`,description="When, in the format of cron"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,description="When the next backup is due"
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`,description="Whether new backups are stopped"
// +kubebuilder:printcolumn:name="Backed Up",type=string,JSONPath=`.status.conditions[?(@.type=="BackedUp")].status`,description="Whether the newest run that ended is complete"
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessfulTime`,description="When a backup was last complete"
// +kubebuilder:printcolumn:name="Proven",type=date,JSONPath=`.status.lastProvenTime`,description="When a backup was last restored and compared"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Active",type=string,priority=1,JSONPath=`.status.active`,description="EtcdBackup that is running"
// +kubebuilder:printcolumn:name="Time Zone",type=string,priority=1,JSONPath=`.spec.timeZone`,description="Time zone of the schedule"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready, in one word"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,47}[a-z0-9])?$')",message="metadata.name must be at most 49 characters, lower-case letters, digits and '-', not starting or ending in '-': the names of its backups begin with it",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 49 characters, lower-case letters, digits and \"-\", not starting or ending in \"-\": the names of its backups begin with it'"
type EtcdBackupSchedule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says when backups are made, and of which cluster.
	// +required
	Spec EtcdBackupScheduleSpec `json:"spec"`

	// Status is the last seen state of the schedule. The operator decides nothing from it.
	// +optional
	Status EtcdBackupScheduleStatus `json:"status,omitempty"`
}

// EtcdBackupScheduleList is a list of schedules.
//
// +kubebuilder:object:root=true
type EtcdBackupScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackupSchedule `json:"items"`
}

// EtcdBackupScheduleSpec says when backups are made, and of which cluster.
type EtcdBackupScheduleSpec struct {
	// ClusterRef names the EtcdCluster to back up, in the same namespace. It
	// cannot change.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.clusterRef cannot change: create another EtcdBackupSchedule for another cluster",reason=FieldValueForbidden
	ClusterRef ClusterReference `json:"clusterRef"`

	// Schedule says when, in the format of a CronJob. Five fields: minute, hour, day
	// of month, month and day of week, such as "0 3 * * *". Also @hourly, @daily,
	// @weekly, @monthly, @yearly, and @every with a time of whole minutes. The time
	// zone is set in timeZone. If the schedule cannot be read, the condition Ready
	// says so and no backup starts.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="spec.schedule must name no time zone: put it into spec.timeZone",messageExpression="'spec.schedule is \"' + self + '\"; it must name no time zone: put it into spec.timeZone'"
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *(@[a-z]+|@every +[0-9.a-z]+|[^ @]+( +[^ ]+){4}) *$') || self.contains('TZ')",message="spec.schedule must have five fields or be a word such as @daily",messageExpression="'spec.schedule is \"' + self + '\"; it must have five fields (minute, hour, day of month, month, day of week), such as \"0 3 * * *\", or be a word such as @daily'"
	Schedule string `json:"schedule"`

	// TimeZone is the time zone of the schedule, such as Europe/Berlin. If it does
	// not exist, the condition Ready says so and no backup starts. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self != 'Local'",message="spec.timeZone must be the name of a time zone, such as Europe/Berlin",messageExpression="'spec.timeZone is \"' + self + '\"; it must be the name of a time zone, such as Europe/Berlin'"
	TimeZone *string `json:"timeZone,omitempty"`

	// Suspend stops new backups and new test restores. Running ones continue. After
	// it ends, the operator makes up for the newest missed run. Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// StartingDeadline is how late a run may start: a time such as 30m, from 1m to
	// 8760h. A later run is skipped and reported. Of several
	// missed runs only the newest is made up for. Default: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="spec.startingDeadline must be a time from 1m to 8760h, such as 30m",messageExpression="'spec.startingDeadline is \"' + self + '\"; it must be a time from 1m to 8760h, such as 30m'"
	StartingDeadline *metav1.Duration `json:"startingDeadline,omitempty"`

	// Store is where the backups are written.
	// +required
	Store BackupStore `json:"store"`

	// Verify says whether each backup is proven before it is complete, as in an
	// EtcdBackup. Default true.
	// +optional
	Verify *bool `json:"verify,omitempty"`

	// Deadline is the longest time that each backup may take, as in an EtcdBackup:
	// a time such as 90m, from 1m to 168h. The next backup waits while one runs.
	// Default 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="spec.deadline must be a time from 1m to 168h, such as 90m",messageExpression="'spec.deadline is \"' + self + '\"; it must be a time from 1m to 168h, such as 90m'"
	Deadline *metav1.Duration `json:"deadline,omitempty"`

	// LargestDepth says how deep the names of prefixes are in status.largest of each
	// EtcdBackup, from 0 to 8. With 0 no names are shown. Default 2.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 8",message="spec.largestDepth must be from 0 to 8",messageExpression="'spec.largestDepth is ' + string(dyn(self)) + '; it must be from 0 to 8'"
	LargestDepth *int32 `json:"largestDepth,omitempty"`

	// Retention says which backups of this schedule stay in the store. The operator
	// removes the others after each run, together with their EtcdBackups. Default:
	// all stay.
	// +optional
	Retention *BackupRetention `json:"retention,omitempty"`

	// TestRestore says when the newest backup is restored as a test. Default: never.
	// With verify, each backup is tested once, when it is made.
	// +optional
	TestRestore *TestRestore `json:"testRestore,omitempty"`

	// Tasks holds settings of the Pods of this schedule's tasks and of its backups.
	// Each field that is set wins over that of the cluster's spec.tasks; of labels and
	// annotations, each key.
	// +optional
	Tasks *TaskSpec `json:"tasks,omitempty"`
}

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
		LargestDepth: c.LargestDepth, Tasks: c.Tasks}
}
