package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
