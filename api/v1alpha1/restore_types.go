package v1alpha1

// What the Pods of a restore are labelled and annotated with.
const (
	ComponentPreflight = "preflight"
	ComponentRestore   = "restore"

	// AnnotationRestoreHash is the hash of the source that a Pod of a restore was made for.
	AnnotationRestoreHash = Group + "/restore-hash"
)

// RestoreSource names one backup, in one of three ways: by the EtcdBackup that made it, by its key in a store, or as the
// newest of a cluster in a store.
//
// +kubebuilder:validation:XValidation:rule="has(self.backupRef) != has(self.store)",message="a backup to restore must be named by exactly one of backupRef and store"
// +kubebuilder:validation:XValidation:rule="!has(self.store) || has(self.key) != (has(self.latest) && self.latest)",message="a backup in a store must be named by exactly one of key and latest: true"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.key) && !(has(self.latest) && self.latest)",message="key and latest name a backup in a store, and there is none: give store as well, or backupRef alone"
// +kubebuilder:validation:XValidation:rule="!has(self.latestOf) || has(self.latest) && self.latest",message="latestOf says whose newest backup is meant, and needs latest: true"
type RestoreSource struct {
	// BackupRef names an EtcdBackup of this namespace that is complete. What it
	// recorded is what is restored.
	// +optional
	BackupRef *BackupReference `json:"backupRef,omitempty"`

	// Store is where the backup is. Its Secrets and claims are of this namespace. A
	// volume must be one that several nodes can mount, unless the cluster has one
	// member.
	// +optional
	Store *BackupStore `json:"store,omitempty"`

	// Key is the snapshot in the store as status.key of an EtcdBackup names it: it
	// begins with the prefix of the store and ends with /snapshot.db.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9!_.*()-]+(/[a-zA-Z0-9!_.*()-]+)*/snapshot[.]db$') && !('/' + self).contains('/../') && !('/' + self).contains('/./')",message="key must be the key of a snapshot, as status.key of an EtcdBackup has it",messageExpression="'key is \"' + self + '\"; it must be the key of a snapshot, as status.key of an EtcdBackup has it: a path that ends with /snapshot.db'"
	Key string `json:"key,omitempty"`

	// Latest takes the newest complete backup in the store, by the revisions and
	// times that its manifests record. Which one that is, is decided once. Where a
	// manifest is damaged, or two clusters of one name left backups, nothing is
	// taken for the newest, and the keys to choose from are named. Default false.
	// +optional
	Latest bool `json:"latest,omitempty"`

	// LatestOf says whose newest backup is meant. Default: that of the cluster of
	// this namespace and name.
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

// BackedUpCluster names a cluster as the names of its backups have it. It need not exist, here or anywhere.
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

	// UID of the EtcdCluster, where several had the name. Default: the only one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)?$')",message="latestOf.uid must be the UID of an EtcdCluster",messageExpression="'latestOf.uid is \"' + self + '\"; it must be the UID of an EtcdCluster'"
	UID string `json:"uid,omitempty"`
}
