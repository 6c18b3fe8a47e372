package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// RestoreComplete is True when the cluster serves the restored data.
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

// EvidenceStatus describes the data that a restore would replace.
type EvidenceStatus struct {
	// Digest is what an approval must match. It changes once a day, and with the incarnation, the members, and quorum.
	// While quorum is lost, it also changes with the lost data. It never changes with revisions. The digest of the day
	// before is valid too.
	Digest string `json:"digest"`

	// Quorum is Holds, Lost or Unknown.
	Quorum string `json:"quorum"`

	// ClusterID is etcd's ID of the cluster, in hex.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Incarnation is the incarnation that a restore would end.
	// +optional
	Incarnation string `json:"incarnation,omitempty"`

	// Revision is the highest revision of a member when this was written. While quorum holds, it is not updated for a
	// revision alone, so the cluster may have a higher one.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Backup is the newest proven backup of the cluster, among the existing EtcdBackups.
	// +optional
	Backup *BackupEvidence `json:"backup,omitempty"`

	// Message says in sentences which data each kind of restore would lose.
	// +optional
	Message string `json:"message,omitempty"`

	// Members describe the data of each member.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []MemberEvidence `json:"members,omitempty"`
}

// BackupEvidence describes one EtcdBackup.
type BackupEvidence struct {
	// Name of the EtcdBackup.
	Name string `json:"name"`
	// ClusterID is etcd's ID of the cluster that was backed up, in hex.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Revision is the etcd revision of the backup.
	Revision int64 `json:"revision"`
	// StartedAt is when the backup started. Later writes may be missing in it.
	// +optional
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

// MemberEvidence describes the data of one member.
type MemberEvidence struct {
	// Name of the member.
	Name string `json:"name"`
	// MemberID is etcd's ID of the member, in hex.
	// +optional
	MemberID string `json:"memberID,omitempty"`
	// State is `Answers`, `Silent` (it stopped answering), `Lost`, or `PutBack` (its
	// own data is lost, and another volume was put in its place).
	State string `json:"state"`
	// Why says why it does not answer, or why its data is lost.
	// +optional
	Why string `json:"why,omitempty"`
	// Revision is what the member answered. Present while quorum does not hold.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// AppliedIndex is what the member answered. Present while quorum does not hold.
	// +optional
	AppliedIndex int64 `json:"appliedIndex,omitempty"`
	// VolumeUID is the UID of the member's PersistentVolumeClaim.
	// +optional
	VolumeUID string `json:"volumeUID,omitempty"`
}
