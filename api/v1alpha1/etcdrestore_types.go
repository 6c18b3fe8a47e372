package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EtcdRestore replaces the data of a cluster: with a backup, with the data of one surviving member, or with nothing.
// Where restored members never served, it goes back to the previous ones.
// The cluster keeps its name, Services and certificates. The operator carries it out once, after it is approved. The
// previous volumes are kept until oldVolumes is Delete.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,scope=Namespaced,shortName=etcdr,categories={all,etcdsteward}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="Cluster that is restored"
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`,description="Current stage, or Complete or Failed"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,description="Reason of the condition Complete, in one word"
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`,description="Whether the cluster serves the restored data"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`,description="Revision of the backup"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name must be at most 63 characters, lower-case letters, digits and '-', not starting or ending in '-'",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 63 characters, lower-case letters, digits and \"-\", not starting or ending in \"-\"'"
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is restored. Only approval and oldVolumes can change.
	// +required
	Spec EtcdRestoreSpec `json:"spec"`

	// Status is the progress and the result of the restore. The operator decides nothing from it.
	// +optional
	Status EtcdRestoreStatus `json:"status,omitempty"`
}

// EtcdRestoreList is a list of restores.
//
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdRestore `json:"items"`
}

// OldVolumes says what happens to the previous volumes.
//
// +kubebuilder:validation:Enum=Keep;Delete
type OldVolumes string

// What may happen to the previous volumes.
const (
	OldVolumesKeep   OldVolumes = "Keep"
	OldVolumesDelete OldVolumes = "Delete"
)

// EtcdRestoreSpec says what is restored.
//
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",message="spec.clusterRef cannot change: an EtcdRestore is carried out once; delete this one and create another",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="self.source == oldSelf.source",message="spec.source cannot change: what was approved is what is restored; delete this one, which cancels it, and create another",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="self.?bumpRevision == oldSelf.?bumpRevision",message="spec.bumpRevision cannot change: what was approved is what is restored; delete this one, which cancels it, and create another",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.oldVolumes) || self.oldVolumes != 'Delete'",optionalOldSelf=true,message="spec.oldVolumes cannot be Delete from the start: leave it out, look at what was restored, and set it then",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.bumpRevision) || !has(self.source.empty) && !has(self.source.previous)",message="spec.bumpRevision has nothing to raise where spec.source is empty or previous: leave it out"
type EtcdRestoreSpec struct {
	// ClusterRef names the EtcdCluster to restore, in the same namespace.
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`

	// Source is the data that the cluster gets.
	// +required
	Source EtcdRestoreSource `json:"source"`

	// BumpRevision is by how much the revision of the backup is raised, from 0 to
	// 1000000000000. Lower revisions are marked as compacted, so that watching clients
	// notice. If it is too small, the restore waits, and its message says how much is
	// enough. Default: as many billions as no revision is served twice with, at least one.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 1000000000000",message="spec.bumpRevision must be from 0 to 1000000000000"
	BumpRevision *int64 `json:"bumpRevision,omitempty"`

	// Approval is required. Copy status.evidence.digest of the EtcdCluster, 16
	// characters. It is valid for 24 to 48 hours, while incarnation and members stay
	// the same. If it is given while quorum is lost, it ends when a quorum answers.
	// Clear it, or delete the EtcdRestore, to cancel before the switch-over. Writes
	// to the old members after the switch-over are lost. Default none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9a-f]{16})?$')",message="spec.approval must be the digest of the evidence",messageExpression="'spec.approval is \"' + self + '\"; it must be the 16 characters of status.evidence.digest of the EtcdCluster'"
	Approval string `json:"approval,omitempty"`

	// OldVolumes says what happens to the previous volumes once the cluster serves
	// the restored data: Keep or Delete. Delete can only be set on an existing
	// EtcdRestore. Default Keep.
	// +optional
	OldVolumes OldVolumes `json:"oldVolumes,omitempty"`
}

// EtcdRestoreSource is the data that a cluster gets. It is a backup, named as in spec.bootstrap.restore of an
// EtcdCluster, the data of one surviving member, the previous data, or nothing.
//
// +kubebuilder:validation:XValidation:rule="[has(self.backupRef), has(self.store), has(self.survivor), has(self.previous), has(self.empty)].filter(x, x).size() == 1",message="spec.source must have exactly one of backupRef, store, survivor, previous and empty"
// +kubebuilder:validation:XValidation:rule="!has(self.store) || has(self.key) != self.?latest.orValue(false)",message="a backup in a store must be named by exactly one of key and latest: true"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.key) && !self.?latest.orValue(false)",message="key and latest name a backup in a store, and there is none: give store as well, or leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.latestOf) || self.?latest.orValue(false)",message="latestOf says whose newest backup is meant, and needs latest: true"
type EtcdRestoreSource struct {
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
	// one; newer data is restored even if it was not proven. The operator chooses it once. Default false.
	// +optional
	Latest bool `json:"latest,omitempty"`

	// LatestOf names the cluster whose newest backup is restored. Default: this
	// cluster's namespace and name.
	// +optional
	LatestOf *BackedUpCluster `json:"latestOf,omitempty"`

	// Survivor is a member that still has the data, when quorum is lost. The cluster
	// starts again with this data and grows back to its size.
	// +optional
	Survivor *SurvivorSource `json:"survivor,omitempty"`

	// Previous goes back to the members that the last EtcdRestore took the place of,
	// on their own volumes. It is refused once the cluster served what that restored.
	// +optional
	Previous *PreviousSource `json:"previous,omitempty"`

	// Empty starts without any data, when quorum is lost and neither a member nor a
	// backup is left.
	// +optional
	Empty *EmptySource `json:"empty,omitempty"`
}

// SurvivorSource names a member that still has the data.
type SurvivorSource struct {
	// Member is the name of the member, such as demo-1.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?-(0|[1-9][0-9]{0,8})$')",message="spec.source.survivor.member must be the name of a member",messageExpression="'spec.source.survivor.member is \"' + self + '\"; it must be the name of a member, as status.evidence.members of the EtcdCluster has it'"
	Member string `json:"member"`
}

// PreviousSource has no fields.
type PreviousSource struct{}

// EmptySource has no fields.
type EmptySource struct{}

// Backup is the backup that the source names; nil when it names none.
func (s *EtcdRestoreSource) Backup() *RestoreSource {
	if s.BackupRef == nil && s.Store == nil {
		return nil
	}
	return &RestoreSource{BackupRef: s.BackupRef, Store: s.Store, Key: s.Key, Latest: s.Latest, LatestOf: s.LatestOf}
}

// What the Pods of a restore are labelled and annotated with.
const (
	ComponentPreflight = "preflight"
	ComponentRestore   = "restore"

	// AnnotationRestoreHash is the hash of the source that a Pod of a restore was made for.
	AnnotationRestoreHash = Group + "/restore-hash"
)

// Condition types of an EtcdRestore. Once Complete is True, the operator only deletes the previous volumes for it.
// Failed is no end: the restore continues once the cause is cured, while the approval is valid. Clear spec.approval to
// cancel it.
const (
	// RestoreApproved is True when the approval matches the evidence of now, or of when the restore started.
	RestoreApproved = "Approved"
	// RestorePrepared is True when every volume of the next incarnation is restored, while the current members still
	// serve.
	RestorePrepared = "Prepared"
	// RestoreComplete is True when the cluster serves the restored data, and clients are led to it.
	RestoreComplete = "Complete"
	// RestoreFailed is True while the restore cannot continue without a person. It is present only then.
	RestoreFailed = "Failed"
)

// DefaultBumpRevision is by how much a restore raises the revision, where that is enough. No client that watched the
// old cluster then finds its revision in the new one (etcd's own advice, op-guide/recovery.md).
const DefaultBumpRevision int64 = 1_000_000_000

// EtcdRestoreStatus is the progress and the result of the restore. It may be wiped at any time: the operator writes it
// again from the cluster's records.
type EtcdRestoreStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Approved, Prepared and Complete. Failed is present only while
	// True: the restore waits for a person. It continues once the cause in its
	// message is cured, while its approval is valid. Clear spec.approval to cancel.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Stage is the current stage: `Waiting`, `Checking` (the backup is checked),
	// `Restoring` (volumes are restored), `Stopping` or `Starting`. At the end it is Complete. It is
	// Failed when another EtcdRestore took over before the cluster served this one.
	// +optional
	Stage string `json:"stage,omitempty"`

	// Evidence is the digest that spec.approval must match. The cluster's status has
	// the same one.
	// +optional
	Evidence string `json:"evidence,omitempty"`

	// FromIncarnation is the incarnation that this restore ends.
	// +optional
	FromIncarnation string `json:"fromIncarnation,omitempty"`

	// ToIncarnation is the incarnation that this restore starts.
	// +optional
	ToIncarnation string `json:"toIncarnation,omitempty"`

	// Key is the name of the backup in its store.
	// +optional
	Key string `json:"key,omitempty"`

	// Revision is the etcd revision of the backup.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// OldVolumes are the previous PersistentVolumeClaims that still exist.
	// +optional
	// +listType=atomic
	OldVolumes []string `json:"oldVolumes,omitempty"`

	// StartedAt is when the first volume of the next incarnation was created. Where the
	// source is previous, it is when the cluster went back.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CompletedAt is when the cluster was first seen to serve the restored data.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// BumpRevisionOrDefault is by how much the revision is raised, or at least raised where the field is absent.
func (s *EtcdRestoreSpec) BumpRevisionOrDefault() int64 {
	if s.BumpRevision == nil {
		return DefaultBumpRevision
	}
	return *s.BumpRevision
}

// RestoredFrom is the backup that an incarnation was restored from.
type RestoredFrom struct {
	// Key is the name of the snapshot in its store.
	Key string `json:"key"`

	// Revision is the etcd revision of the backup. The restored cluster continues a
	// billion above it.
	Revision int64 `json:"revision"`

	// EtcdVersion is the version of etcd that wrote the backup. Of a snapshot without
	// a manifest it is the minor version, such as 3.6.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`

	// Foreign is true when the snapshot had no manifest of the operator. It was whole
	// by its own SHA-256. It was never compared with the members of its cluster.
	// +optional
	Foreign bool `json:"foreign,omitempty"`

	// PassedOver is how many newer backups the store had that its manifest-key did not
	// vouch for. The operator passed over them to find the newest backup. Default 0.
	// +optional
	PassedOver int32 `json:"passedOver,omitempty"`
}
