package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup is one backup of one cluster: a snapshot in a store, and the proof that it can be restored. It runs once,
// and its spec cannot change. Create another EtcdBackup for another backup. Deleting it stops a running backup and
// keeps the snapshot in the store.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackups,scope=Namespaced,shortName=etcdb,categories={all,etcdsteward}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="Cluster that is backed up"
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`,description="Current stage, or Complete or Failed"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,description="Reason of the condition Complete, in one word"
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`,description="Whether the backup was restored and compared"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`,description="Revision of the snapshot"
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.status.sizeBytes`,description="Size of the snapshot in bytes"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Key",type=string,priority=1,JSONPath=`.status.key`,description="Name of the snapshot in the store"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name must be at most 63 characters, lower-case letters, digits and '-', not starting or ending in '-': it is written in labels",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 63 characters, lower-case letters, digits and \"-\", not starting or ending in \"-\": it is written in labels'"
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which cluster is backed up, and where to. It cannot change.
	// +required
	Spec EtcdBackupSpec `json:"spec"`

	// Status is the progress and the result of the backup. The operator reads only
	// whether the backup has ended.
	// +optional
	Status EtcdBackupStatus `json:"status,omitempty"`
}

// EtcdBackupList is a list of backups.
//
// +kubebuilder:object:root=true
type EtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackup `json:"items"`
}

// EtcdBackupSpec says which cluster is backed up, and where to.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot change: an EtcdBackup is one backup and runs once; create another one",reason=FieldValueForbidden
type EtcdBackupSpec struct {
	// ClusterRef names the EtcdCluster to back up, in the same namespace. If the
	// cluster does not exist or does not serve yet, the backup waits until its
	// deadline.
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`

	// Store is where the backup is written.
	// +required
	Store BackupStore `json:"store"`

	// Verify says whether the backup is proven before it is complete. The snapshot
	// is read back from the store, restored with the cluster's own etcd, and
	// compared with the members' data. Its manifest then says that it was proven:
	// retention prefers such backups. This needs twice the size of the database on
	// the node. Default true.
	// +optional
	Verify *bool `json:"verify,omitempty"`

	// Deadline is the longest time from the creation of the backup until it is
	// complete, waiting included. A time such as 90m, from 1m to 168h. After it
	// the backup has failed. Default 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="spec.deadline must be a time from 1m to 168h, such as 90m",messageExpression="'spec.deadline is \"' + self + '\"; it must be a time from 1m to 168h, such as 90m'"
	Deadline *metav1.Duration `json:"deadline,omitempty"`

	// LargestDepth says how deep the names of prefixes are in status.largest, from 0 to
	// 8. A prefix ends with the '/' of that number, not counting one that the key
	// begins with: of /registry/pods/default/web, 2 gives /registry/pods/. With 0 no
	// names are shown. Default 2.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 8",message="spec.largestDepth must be from 0 to 8",messageExpression="'spec.largestDepth is ' + string(dyn(self)) + '; it must be from 0 to 8'"
	LargestDepth *int32 `json:"largestDepth,omitempty"`

	// Tasks holds settings of this backup's Pods. Each field that is set wins over that
	// of the cluster's spec.tasks; of labels and annotations, each key.
	// +optional
	Tasks *TaskSpec `json:"tasks,omitempty"`
}

// ClusterReference names an EtcdCluster of the same namespace.
type ClusterReference struct {
	// Name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",message="spec.clusterRef.name must be the name of an EtcdCluster",messageExpression="'spec.clusterRef.name is \"' + self + '\"; it must be the name of an EtcdCluster: at most 40 characters, lower-case letters, digits and \"-\", starting with a letter and not ending in \"-\"'"
	Name string `json:"name"`
}

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

// DefaultLargestDepth is how deep the prefixes of status.largest are: of keys of a kube-apiserver these are resources.
const DefaultLargestDepth = 2

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

	// Largest are the prefixes of keys that take most of the database, the largest first: ten, or fewer where names are
	// long. Absent with spec.verify: false.
	// +optional
	// +listType=atomic
	Largest []KeyPrefix `json:"largest,omitempty"`

	// Clients are the EtcdClients whose keys take most of the database, the largest first: twenty, or fewer where names
	// are long. Absent with spec.verify: false.
	// +optional
	// +listType=atomic
	Clients []ClientUsage `json:"clients,omitempty"`

	// OtherClients is how many other EtcdClients had a role in etcd. None of them takes more than those in clients.
	// +optional
	OtherClients int64 `json:"otherClients,omitempty"`
}

// ClientUsage is what all keys that an EtcdClient may write take in the database.
type ClientUsage struct {
	// Name of the EtcdClient.
	Name string `json:"name"`

	// Namespace of the EtcdClient, where it is not the cluster's.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// User is the client's name in etcd.
	User string `json:"user"`

	// Keys is how many of these keys exist.
	Keys int64 `json:"keys"`

	// Bytes is the size of all their stored revisions: keys and values, and what etcd notes of each.
	Bytes int64 `json:"bytes"`

	// Revisions is how many revisions are stored, those of deleted keys among them.
	Revisions int64 `json:"revisions"`
}

// KeyPrefix is what all keys below a prefix take in the database.
type KeyPrefix struct {
	// Prefix ends with '/', and is empty for keys without one. It stands in quotes, as Go writes them, if it has more
	// than printable text.
	Prefix string `json:"prefix"`

	// Keys is how many keys exist below it.
	Keys int64 `json:"keys"`

	// Bytes is the size of all their stored revisions: keys and values, and what etcd notes of each.
	Bytes int64 `json:"bytes"`

	// Revisions is how many revisions are stored, those of deleted keys among them.
	Revisions int64 `json:"revisions"`
}

// IsVerified reports whether the backup is proven before it is complete.
func (s *EtcdBackupSpec) IsVerified() bool { return s.Verify == nil || *s.Verify }

// LargestDepthOrDefault is how deep the prefixes are that are shown; 0: none are.
func (s *EtcdBackupSpec) LargestDepthOrDefault() int32 {
	if s.LargestDepth == nil {
		return DefaultLargestDepth
	}
	return *s.LargestDepth
}

// DeadlineOrDefault is how long the backup may take from its creation. What the schema refuses counts as the default.
func (s *EtcdBackupSpec) DeadlineOrDefault() time.Duration {
	if s.Deadline == nil || s.Deadline.Duration < time.Minute {
		return DefaultBackupDeadline
	}
	return s.Deadline.Duration
}

// RestoreSource names one backup: by its EtcdBackup, by its key in a store, or as the newest backup of a cluster in a
// store.
//
// +kubebuilder:validation:XValidation:rule="has(self.backupRef) != has(self.store)",message="a backup to restore must be named by exactly one of backupRef and store"
// +kubebuilder:validation:XValidation:rule="!has(self.store) || has(self.key) != self.?latest.orValue(false)",message="a backup in a store must be named by exactly one of key and latest: true"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.key) && !self.?latest.orValue(false)",message="key and latest name a backup in a store, and there is none: give store as well, or backupRef alone"
// +kubebuilder:validation:XValidation:rule="!has(self.latestOf) || self.?latest.orValue(false)",message="latestOf says whose newest backup is meant, and needs latest: true"
type RestoreSource struct {
	// BackupRef names a complete EtcdBackup of this namespace.
	// +optional
	BackupRef *BackupReference `json:"backupRef,omitempty"`

	// Store is where the backup is. Its Secrets and claims must be in this
	// namespace. A volume store that one node mounts at a time is restored by one
	// member, which the others join.
	// +optional
	Store *BackupStore `json:"store,omitempty"`

	// Key is the path of the snapshot in the store, with the prefix of the store. Copy
	// status.key of an EtcdBackup. Or name any file that `etcdctl snapshot save`
	// wrote, such as legacy/demo.db. Such a file has no manifest: its own SHA-256 must
	// be right, and status says that it was not compared with the members.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9!_.*()/:+=@,~-]+$') && !('/' + self + '/').matches('/[.]{0,2}/')",message="key must be the path of a snapshot in the store",messageExpression="'key is \"' + self + '\"; it must be the path of a snapshot in the store, such as legacy/demo.db, without empty parts, . and ..'"
	Key string `json:"key,omitempty"`

	// Latest restores the newest complete backup in the store, by the revisions and
	// times in its manifests. Of several with the same revision it restores a proven
	// one; newer data is restored even if it was not proven. The operator chooses it once. It does not choose when a
	// manifest is damaged, or when two clusters of one name have backups: the message
	// then lists the keys. Default false.
	// +optional
	Latest bool `json:"latest,omitempty"`

	// LatestOf names the cluster whose newest backup is restored. Default: this
	// cluster's namespace and name.
	// +optional
	LatestOf *BackedUpCluster `json:"latestOf,omitempty"`
}

// BackupReference names an EtcdBackup of the same namespace.
type BackupReference struct {
	// Name of the EtcdBackup.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="backupRef.name must be the name of an EtcdBackup",messageExpression="'backupRef.name is \"' + self + '\"; it must be the name of an EtcdBackup of this namespace'"
	Name string `json:"name"`
}

// BackedUpCluster names the cluster that a backup was taken of. The cluster need not exist any more.
type BackedUpCluster struct {
	// Namespace that the cluster was in. Default: this namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="latestOf.namespace must be the name of a namespace",messageExpression="'latestOf.namespace is \"' + self + '\"; it must be the name of a namespace'"
	Namespace string `json:"namespace,omitempty"`

	// Name of the cluster. Default: the name of the cluster that is restored.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z]([-a-z0-9]{0,38}[a-z0-9])?)?$')",message="latestOf.name must be the name of an EtcdCluster",messageExpression="'latestOf.name is \"' + self + '\"; it must be the name of an EtcdCluster'"
	Name string `json:"name,omitempty"`

	// UID of the EtcdCluster, needed when several had this name. Default: the only one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)?$')",message="latestOf.uid must be the UID of an EtcdCluster",messageExpression="'latestOf.uid is \"' + self + '\"; it must be the UID of an EtcdCluster'"
	UID string `json:"uid,omitempty"`
}
