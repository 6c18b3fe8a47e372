package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types of an EtcdRestore. Once Complete is True, nothing is done for it any more, but to delete the old volumes. Failed is no
// end: what is approved goes on as soon as what holds it is put right, for as long as the approval is good, and spec.approval is taken
// back to end it.
const (
	// RestoreApproved is True when the approval quotes the evidence as it is, or as it was when the restore was begun.
	RestoreApproved = "Approved"
	// RestorePrepared is True when the data lies on every volume of the next members, while the old ones still serve.
	RestorePrepared = "Prepared"
	// RestoreComplete is True when the cluster serves with the restored data.
	RestoreComplete = "Complete"
	// RestoreFailed is True while the restore cannot go on without a person. It is present only then.
	RestoreFailed = "Failed"
)

// DefaultBumpRevision is by how much a restore raises the revision, so that no client that watched the old cluster finds its
// revision in the new one (etcd's own advice, op-guide/recovery.md).
const DefaultBumpRevision int64 = 1_000_000_000

// EtcdRestoreStatus is how the restore goes and what came of it. It may be wiped at any time: it is made anew from the
// cluster's records.
type EtcdRestoreStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Approved, Prepared and Complete, and Failed while it is True: then
	// the restore waits for a person, and goes on as soon as what its message says is
	// put right, if its approval is still good. To end it, take spec.approval back.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Stage is what is being done: Waiting, Looking, Laying, Stopping or Starting; at
	// the end Complete, or Failed when another EtcdRestore took its place before the
	// cluster was seen to serve with it.
	// +optional
	Stage string `json:"stage,omitempty"`

	// Evidence is the digest that the approval must quote, as the cluster's status has it.
	// +optional
	Evidence string `json:"evidence,omitempty"`

	// FromIncarnation is the life of the cluster that ends with this restore.
	// +optional
	FromIncarnation string `json:"fromIncarnation,omitempty"`

	// ToIncarnation is the life of the cluster that begins with it.
	// +optional
	ToIncarnation string `json:"toIncarnation,omitempty"`

	// Key is the name of the backup in its store.
	// +optional
	Key string `json:"key,omitempty"`

	// Revision is the revision of the backup.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// OldVolumes are the PersistentVolumeClaims of before that are still there.
	// +optional
	// +listType=atomic
	OldVolumes []string `json:"oldVolumes,omitempty"`

	// StartedAt is when the first volume of the next members was made.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// CompletedAt is when the cluster was first seen to serve with the restored data.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// BumpRevisionOrDefault is by how much the revision is raised.
func (s *EtcdRestoreSpec) BumpRevisionOrDefault() int64 {
	if s.BumpRevision == nil {
		return DefaultBumpRevision
	}
	return *s.BumpRevision
}

// EvidenceStatus is what is known of the data that a restore would give up.
type EvidenceStatus struct {
	// Digest is what an approval quotes. It moves with the life of the cluster, its members, whether a quorum answers
	// and, while quorum is lost, with what is lost, and once a day; never with revisions. That of the day before counts as well.
	Digest string `json:"digest"`

	// Quorum is Holds, Lost or Unknown.
	Quorum string `json:"quorum"`

	// ClusterID is etcd's identity of the cluster, in hex.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Incarnation is the life of the cluster that a restore would end.
	// +optional
	Incarnation string `json:"incarnation,omitempty"`

	// Revision is the highest that a member had when this was written. While quorum holds it is not written again for
	// a revision alone, and the cluster may have moved on.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Backup is the newest backup of the cluster that was proven, among the EtcdBackups that there are.
	// +optional
	Backup *BackupEvidence `json:"backup,omitempty"`

	// Message says in sentences what each way would lose.
	// +optional
	Message string `json:"message,omitempty"`

	// Members are what is known of each member's data.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []MemberEvidence `json:"members,omitempty"`
}

// BackupEvidence is what an EtcdBackup says of itself.
type BackupEvidence struct {
	// Name of the EtcdBackup.
	Name string `json:"name"`
	// ClusterID is etcd's identity of the cluster that it was taken of, in hex.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Revision is the revision of the backup.
	Revision int64 `json:"revision"`
	// StartedAt is when it was begun: later writes may be missing in it.
	// +optional
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

// MemberEvidence is what is known of one member's data.
type MemberEvidence struct {
	// Name of the member.
	Name string `json:"name"`
	// MemberID is etcd's identity of the member, in hex.
	// +optional
	MemberID string `json:"memberID,omitempty"`
	// State is Answers, Silent or Lost.
	State string `json:"state"`
	// Why says why it is silent or lost.
	// +optional
	Why string `json:"why,omitempty"`
	// Revision is what the member answered; given while quorum does not hold.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// AppliedIndex is what the member answered; given while quorum does not hold.
	// +optional
	AppliedIndex int64 `json:"appliedIndex,omitempty"`
	// VolumeUID is the UID of its PersistentVolumeClaim.
	// +optional
	VolumeUID string `json:"volumeUID,omitempty"`
}
