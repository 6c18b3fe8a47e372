package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdClusterStatus is what the operator last saw and what it does next. It is written for people and tools. The
// operator decides nothing from it, and it may be wiped at any time.
type EtcdClusterStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes; -1 before the first pass.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Available, Degraded, UpToDate and BackedUp. Fenced, Reconciling and
	// Stalled are present only while True.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// NextStep is what the operator does next, or what it waits for.
	// +optional
	NextStep *NextStep `json:"nextStep,omitempty"`

	// Size is the number of voting members that exist.
	// +optional
	Size int32 `json:"size"`

	// ReadyMembers is the number of voting members that answered in the last pass and are up to date with the leader.
	// +optional
	ReadyMembers int32 `json:"readyMembers"`

	// UpdatedMembers is the number of members that run with the settings of this spec.
	// +optional
	UpdatedMembers int32 `json:"updatedMembers"`

	// Sidecars counts members' Pods by their sidecars. Absent while neither the spec
	// nor a Pod has sidecars.
	// +optional
	Sidecars *SidecarsStatus `json:"sidecars,omitempty"`

	// Selector selects members' Pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Version is the lowest etcd version that a member runs.
	// +optional
	Version string `json:"version,omitempty"`

	// TargetVersion is the etcd version of the spec.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// UpgradePath are the etcd versions that members have yet to run on their way to the version of the spec, the next
	// one first. Absent once every member runs that version, and while no path leads there.
	// +optional
	// +listType=atomic
	UpgradePath []string `json:"upgradePath,omitempty"`

	// ClusterID is etcd's ID of the cluster, in hex. It changes only with a restore.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Incarnation names the current incarnation: the history of the data from one bootstrap or restore to the next.
	// +optional
	Incarnation string `json:"incarnation,omitempty"`

	// RestoredFrom is the backup that the current incarnation was restored from.
	// Absent when there is none.
	// +optional
	RestoredFrom *RestoredFrom `json:"restoredFrom,omitempty"`

	// DeletionPolicy is the policy that the volumes follow now.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Leader is the name of the leader.
	// +optional
	Leader string `json:"leader,omitempty"`

	// DBSize is the size of the largest member's database, in bytes, rounded.
	// +optional
	DBSize *resource.Quantity `json:"dbSize,omitempty"`

	// Members are the members of the cluster, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []MemberStatus `json:"members,omitempty"`

	// Quorum says how many failures the cluster survives now.
	// +optional
	Quorum *QuorumStatus `json:"quorum,omitempty"`

	// Endpoints are the URLs that clients connect to. The first is that of the client Service, for clients inside the
	// Kubernetes cluster. With spec.service.type LoadBalancer those of the load balancer's addresses follow.
	// +optional
	// +listType=atomic
	Endpoints []string `json:"endpoints,omitempty"`

	// ClientSecretRef names the Secret with ca.crt, tls.crt and tls.key for clients. Absent without TLS.
	// +optional
	ClientSecretRef *SecretReference `json:"clientSecretRef,omitempty"`

	// Maintenance says when windows of maintenance are open. Absent without
	// spec.maintenance.window.
	// +optional
	Maintenance *MaintenanceStatus `json:"maintenance,omitempty"`

	// KeptVolumes are the volumes of replaced members that the operator has put aside, the oldest member first.
	// +optional
	// +listType=map
	// +listMapKey=name
	KeptVolumes []KeptVolume `json:"keptVolumes,omitempty"`

	// DefragmentedFor is the time in the annotation etcdsteward.dev/defragment, once no member is left to be
	// defragmented for it.
	// +optional
	DefragmentedFor *metav1.Time `json:"defragmentedFor,omitempty"`

	// DefragmentSchedule is how spec.maintenance.defragment.schedule stands. Absent where there is none.
	// +optional
	DefragmentSchedule *DefragmentScheduleStatus `json:"defragmentSchedule,omitempty"`

	// LastProvenBackup is the newest backup of this cluster that was restored and
	// compared. Absent when the operator knows of none.
	// +optional
	LastProvenBackup *RestorePoint `json:"lastProvenBackup,omitempty"`

	// Evidence describes the data that a restore would replace. Present while quorum is lost or an EtcdRestore names
	// the cluster.
	// +optional
	Evidence *EvidenceStatus `json:"evidence,omitempty"`
}

// SidecarsStatus counts members' Pods by their sidecars. What webhooks add to a Pod is not counted.
type SidecarsStatus struct {
	// Matched is the number of members' Pods.
	Matched int32 `json:"matched"`
	// Updated is the number of Pods with the sidecars of this spec.
	Updated int32 `json:"updated"`
	// Ready is the number of Pods that have sidecars, all of which are ready.
	Ready int32 `json:"ready"`
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// Name of the Secret.
	Name string `json:"name"`
}

// The verdicts of NextStep.
const (
	VerdictAct     = "Act"
	VerdictWait    = "Wait"
	VerdictBlocked = "Blocked" // refused, or past its deadline: the operator tries again by itself
	VerdictStalled = "Stalled" // refused until a person does something, as the condition Stalled says
	VerdictSettled = "Settled"
)

// NextStep is what the operator does next, or what it waits for.
type NextStep struct {
	// Rule is the name of the rule that decided. docs/rules.md lists all rules.
	Rule string `json:"rule"`
	// Verdict is Act, Wait, Blocked (refused for now, the operator tries again by itself), Stalled (refused until a
	// person does something) or Settled.
	Verdict string `json:"verdict"`
	// Reason is one CamelCase word for machines.
	Reason string `json:"reason"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when this rule first gave this answer.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}

// MemberStatus is the last seen state of one member.
type MemberStatus struct {
	// Name of the member, of its Pod and of its volume.
	Name string `json:"name"`
	// ID is etcd's ID of the member, in hex. Empty before it is in the member list.
	// +optional
	ID string `json:"id,omitempty"`
	// Role is voter or learner. Empty when it is not in the member list.
	// +optional
	Role string `json:"role,omitempty"`
	// Version of etcd that the member runs.
	// +optional
	Version string `json:"version,omitempty"`
	// Healthy is true when the member answered in the last pass, as part of this cluster.
	Healthy bool `json:"healthy"`
	// PodName is the member's Pod. Empty when there is none.
	// +optional
	PodName string `json:"podName,omitempty"`
	// NodeName is the node that the Pod runs on.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// StorageClassName is the StorageClass of the member's volume, as its PersistentVolumeClaim says. Absent where that
	// names none.
	// +optional
	StorageClassName string `json:"storageClassName,omitempty"`
	// DBSize is the size of the database file, in bytes. It is written when it changed by a tenth of the quota.
	// +optional
	DBSize *resource.Quantity `json:"dbSize,omitempty"`
	// DBSizeInUse is the part of the database file that is in use, in bytes.
	// +optional
	DBSizeInUse *resource.Quantity `json:"dbSizeInUse,omitempty"`
	// QuotaBackendBytes is the quota of its database that the member was started with. It differs from the spec where
	// it has grown, and until the member is restarted.
	// +optional
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`
	// Defragmentation is the last one of this member, once it ended. It goes with the Pod that had the member
	// defragmented.
	// +optional
	Defragmentation *DefragmentationStatus `json:"defragmentation,omitempty"`
	// CertificateExpiry is when the member's certificate expires. The operator renews it long before.
	// +optional
	CertificateExpiry *metav1.Time `json:"certificateExpiry,omitempty"`
	// Reason says in one word why the member is not healthy.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// DefragmentationStatus is how a defragmentation of a member ended.
type DefragmentationStatus struct {
	// EndedAt is when it ended.
	EndedAt metav1.Time `json:"endedAt"`
	// SizeBefore is the size of the database file before it, in bytes. Absent when it failed.
	// +optional
	SizeBefore *resource.Quantity `json:"sizeBefore,omitempty"`
	// SizeAfter is the size of the database file after it, in bytes. Absent when it failed.
	// +optional
	SizeAfter *resource.Quantity `json:"sizeAfter,omitempty"`
	// Failure says why the member could not be defragmented. Absent when it was.
	// +optional
	Failure string `json:"failure,omitempty"`
}

// DefragmentScheduleStatus is how a schedule of defragmentations stands.
type DefragmentScheduleStatus struct {
	// NextTime is the next time of the schedule.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
	// DueTime is the time of the schedule for which members are still to be defragmented. Absent when none is.
	// +optional
	DueTime *metav1.Time `json:"dueTime,omitempty"`
	// SkippedTime is the last time of the schedule, where not every member could begin within two hours of it.
	// +optional
	SkippedTime *metav1.Time `json:"skippedTime,omitempty"`
	// Message says what the operator waits for, or waited for when it skipped a time.
	// +optional
	Message string `json:"message,omitempty"`
}

// KeptVolume is the volume of a member that was replaced. It belongs to no member any more.
type KeptVolume struct {
	// Name of the volume, and of the member that was replaced.
	Name string `json:"name"`
	// Reason says in one word why the member was replaced.
	Reason string `json:"reason"`
	// Since is when the operator put the volume aside. Absent when that is not known.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// Until is when the operator deletes the volume. Absent when it does not: a person deletes it.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// UnusedSince is since when no Pod has used the volume, as Kubernetes 1.37 and later say. Where Kubernetes does not
	// say it, it is when the operator put the volume aside. Absent while a Pod uses it.
	// +optional
	UnusedSince *metav1.Time `json:"unusedSince,omitempty"`
}

// MaintenanceStatus says when windows of maintenance are open.
type MaintenanceStatus struct {
	// OpenUntil is when the window closes that is open. Absent while none is.
	// +optional
	OpenUntil *metav1.Time `json:"openUntil,omitempty"`
	// NextWindow is when the next one opens.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`
}

// QuorumStatus says how many failures the cluster survives now.
type QuorumStatus struct {
	// Margin is the number of further voters that may fail before writes stop, as far as the operator reaches them. 0:
	// the next failure may stop them.
	Margin int32 `json:"margin"`
}

// Says is what the margin means, as a sentence.
func (q QuorumStatus) Says() string {
	switch {
	case q.Margin < 0:
		return "Writes have stopped."
	case q.Margin == 0:
		return "Writes stop if 1 more voting member fails."
	case q.Margin == 1:
		return "Writes go on if 1 more voting member fails, and stop if 2 fail."
	}
	return fmt.Sprintf("Writes go on if %d more voting members fail, and stop if %d fail.", q.Margin, q.Margin+1)
}

// Condition types of an EtcdCluster. Fenced, Reconciling and Stalled are present only while they are True, and the last
// two never both.
const (
	// ConditionReady is True when the cluster matches its spec.
	ConditionReady = "Ready"
	// ConditionAvailable is True when a linearizable read succeeded in the pass that wrote it.
	ConditionAvailable = "Available"
	// ConditionDegraded is True when a cluster that once had its size has fewer healthy voters, or when a wait is past
	// its deadline.
	ConditionDegraded = "Degraded"
	// ConditionUpToDate is True when every member runs with the settings of this spec.
	ConditionUpToDate = "UpToDate"
	// ConditionBackedUp is True when the newest proven backup is as new as it should be. Absent where no backups are
	// expected.
	ConditionBackedUp = "BackedUp"
	// ConditionFenced is True while a member is stopped because a person fenced it. Absent otherwise.
	ConditionFenced = "Fenced"
	// ConditionReconciling is True while the operator changes something, or waits for something that needs no person.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the operator cannot continue without a person.
	ConditionStalled = "Stalled"
)

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
