package v1alpha1

import (
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
