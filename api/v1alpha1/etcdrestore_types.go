package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestore gives the data of a cluster up and puts other data in its place: a backup, what one surviving member still
// holds, or nothing at all. The cluster keeps its name, Services and certificates. It is carried out once, by the cluster's
// own passes, after it was approved; the volumes of before are kept until oldVolumes says otherwise.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="Cluster that is restored"
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=`.status.stage`,description="What is being done, or Complete or Failed"
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`,description="Whether the cluster serves with the restored data"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`,description="Revision of the backup"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,description="Why it is so, in one word"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name must be at most 63 characters, lower-case letters, digits and '-', not starting or ending in '-'",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 63 characters, lower-case letters, digits and \"-\", not starting or ending in \"-\"'"
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is to be restored. Only approval and oldVolumes can change.
	// +required
	Spec EtcdRestoreSpec `json:"spec"`

	// Status is how the restore goes and what came of it. Nothing is ever decided from it.
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

// OldVolumes says what becomes of the volumes of before.
//
// +kubebuilder:validation:Enum=Keep;Delete
type OldVolumes string

// What may become of the volumes of before.
const (
	OldVolumesKeep   OldVolumes = "Keep"
	OldVolumesDelete OldVolumes = "Delete"
)

// EtcdRestoreSpec is what is to be restored.
//
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",message="spec.clusterRef cannot change: an EtcdRestore is carried out once; delete this one and create another",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="self.source == oldSelf.source",message="spec.source cannot change: what was approved is what is restored; delete this one, which calls it off, and create another",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.bumpRevision) == has(oldSelf.bumpRevision) && (!has(self.bumpRevision) || self.bumpRevision == oldSelf.bumpRevision)",message="spec.bumpRevision cannot change: what was approved is what is restored; delete this one, which calls it off, and create another",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.oldVolumes) || self.oldVolumes != 'Delete'",optionalOldSelf=true,message="spec.oldVolumes cannot be Delete from the start: leave it out, look at what was restored, and set it then",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.bumpRevision) || !has(self.source.empty)",message="spec.bumpRevision has nothing to raise where spec.source is empty: leave it out"
type EtcdRestoreSpec struct {
	// ClusterRef names the EtcdCluster to restore, in the same namespace.
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`

	// Source is what the cluster is to hold.
	// +required
	Source EtcdRestoreSource `json:"source"`

	// BumpRevision is by how much the revision is raised, from 0 to 1000000000000;
	// everything below is marked compacted, so that whoever watched the cluster
	// notices. With less than the cluster wrote since the backup was taken, a
	// watcher may not. Default 1000000000.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 1000000000000",message="spec.bumpRevision must be from 0 to 1000000000000"
	BumpRevision *int64 `json:"bumpRevision,omitempty"`

	// Approval is status.evidence.digest of the EtcdCluster, as the approver has
	// read it: 16 characters. Nothing is done without it, nor with one of another
	// life of the cluster. It stays good for as long as that life and its members
	// do (one that was given while no quorum answered, until one does), and for a day or two: clients write on, and who approves has to know what
	// is given up. Taking it back calls the
	// restore off, as deleting it does, until the cluster moves to what was laid:
	// what is written to the old members after that, before they are stopped, is
	// lost. Default none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9a-f]{16})?$')",message="spec.approval must be the digest of the evidence",messageExpression="'spec.approval is \"' + self + '\"; it must be the 16 characters of status.evidence.digest of the EtcdCluster'"
	Approval string `json:"approval,omitempty"`

	// OldVolumes says what becomes of the volumes of before, once the cluster
	// serves with the restored data: Keep or Delete, which can be said only when
	// the EtcdRestore is there. Default Keep.
	// +optional
	OldVolumes OldVolumes `json:"oldVolumes,omitempty"`
}

// EtcdRestoreSource is what a cluster is to hold: a backup, named as in spec.bootstrap.restore of an EtcdCluster; the data of
// one member that is left; or nothing.
//
// +kubebuilder:validation:XValidation:rule="[has(self.backupRef), has(self.store), has(self.survivor), has(self.empty)].filter(x, x).size() == 1",message="spec.source must have exactly one of backupRef, store, survivor and empty"
// +kubebuilder:validation:XValidation:rule="!has(self.store) || has(self.key) != (has(self.latest) && self.latest)",message="a backup in a store must be named by exactly one of key and latest: true"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.key) && !(has(self.latest) && self.latest)",message="key and latest name a backup in a store, and there is none: give store as well, or leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.latestOf) || has(self.latest) && self.latest",message="latestOf says whose newest backup is meant, and needs latest: true"
type EtcdRestoreSource struct {
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
	// times that its manifests record. Which one that is, is decided once. Default
	// false.
	// +optional
	Latest bool `json:"latest,omitempty"`

	// LatestOf says whose newest backup is meant. Default: that of the cluster of
	// this namespace and name.
	// +optional
	LatestOf *BackedUpCluster `json:"latestOf,omitempty"`

	// Survivor is a member that still holds the data, when quorum is lost. The
	// cluster begins anew with what it holds, and grows back to its size.
	// +optional
	Survivor *SurvivorSource `json:"survivor,omitempty"`

	// Empty begins with no data at all, when quorum is lost and neither a member
	// nor a backup is left.
	// +optional
	Empty *EmptySource `json:"empty,omitempty"`
}

// SurvivorSource names a member that still holds the data.
type SurvivorSource struct {
	// Member is the name of the member, such as demo-1.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?-(0|[1-9][0-9]{0,8})$')",message="spec.source.survivor.member must be the name of a member",messageExpression="'spec.source.survivor.member is \"' + self + '\"; it must be the name of a member, as status.evidence.members of the EtcdCluster has it'"
	Member string `json:"member"`
}

// EmptySource has nothing to say.
type EmptySource struct{}

// Backup is the backup that the source names; nil when it is none.
func (s *EtcdRestoreSource) Backup() *RestoreSource {
	if s.BackupRef == nil && s.Store == nil {
		return nil
	}
	return &RestoreSource{BackupRef: s.BackupRef, Store: s.Store, Key: s.Key, Latest: s.Latest, LatestOf: s.LatestOf}
}
