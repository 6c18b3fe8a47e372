package v1alpha1

// What the Pods of a restore are labelled and annotated with.
const (
	ComponentPreflight = "preflight"
	ComponentRestore   = "restore"

	// AnnotationRestoreHash is the hash of the source that a Pod of a restore was made for.
	AnnotationRestoreHash = Group + "/restore-hash"
)

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
