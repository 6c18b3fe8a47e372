// Package v1alpha1 is what a user of etcd-steward writes and reads: the types, their defaults and the words of their
// conditions. It is the only place where the API group, the label prefix, condition types and reasons are spelled.
//
// +kubebuilder:object:generate=true
// +groupName=etcdsteward.dev
package v1alpha1

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group and the prefix of every label and annotation that the operator sets.
const Group = "etcdsteward.dev"

var (
	// GroupVersion names this version of the API.
	GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that register this version's types.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers this version's types with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &EtcdCluster{}, &EtcdClusterList{}, &EtcdBackup{}, &EtcdBackupList{},
		&EtcdBackupSchedule{}, &EtcdBackupScheduleList{}, &EtcdRestore{}, &EtcdRestoreList{}, &EtcdClient{},
		&EtcdClientList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Standard labels of Kubernetes, and the values that the operator gives them.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelComponent = "app.kubernetes.io/component"

	NameValue         = "etcd"
	MemberNameValue   = "etcd-steward-member" // on members' Pods: charts of etcd select Pods by "etcd" and an instance
	OperatorNameValue = "etcd-steward"        // on the operator's own Pods
	ManagedByValue    = "etcd-steward"
	ComponentMember   = "member"
	ComponentBackup   = "backup"
	ComponentDefrag   = "defragment"
	ComponentClient   = "client"
)

// Labels of the operator.
const (
	// LabelCluster is the name of the EtcdCluster, on data, which has no owner, and on tasks. Pods and
	// Services of members have app.kubernetes.io/instance instead. By that go tools that delete what is in no
	// repository, and rules that keep members apart.
	LabelCluster = Group + "/cluster"
	// LabelMember is the member's name, on its Pod, volume and Secret.
	LabelMember = Group + "/member"
	// LabelRole is voter, leaving, counted or learner, on Pods that are recorded and sealed. The client Service selects
	// voters by it. The disruption budget also counts a voter that is leaving: it has its vote until it is removed.
	// A voter that clients are not led to is counted while its vote is needed.
	LabelRole = Group + "/role"
	// LabelClusterUID is the UID of the EtcdCluster that a volume or a CA belongs to; these have no owner reference.
	LabelClusterUID = Group + "/cluster-uid"
	// LabelIncarnation is the incarnation that a volume or Pod was created for.
	LabelIncarnation = Group + "/incarnation"

	// LabelKept says why the volume of a removed member is kept, in one word; on the PVC. It belongs to no member any
	// more.
	LabelKept = Group + "/kept"

	// LabelBackup is the name of the EtcdBackup that a Job and its Pods work for.
	LabelBackup = Group + "/backup"
	// LabelSchedule is the name of the EtcdBackupSchedule that created an EtcdBackup.
	LabelSchedule = Group + "/schedule"

	// LabelClient is the name of the EtcdClient that a Secret is for.
	LabelClient = Group + "/client"

	RoleVoter   = "voter"
	RoleLeaving = "leaving"
	RoleCounted = "counted"
	RoleLearner = "learner"
)

// Annotations that tell Argo CD to leave alone what it finds and did not make
// (argoproj/argo-cd:docs/user-guide/sync-options.md, compare-options.md).
const (
	AnnotationArgoSync    = "argocd.argoproj.io/sync-options"
	AnnotationArgoCompare = "argocd.argoproj.io/compare-options"
)

// LeftAlone are annotations of what nothing owns: no tool may delete it for being in no repository.
func LeftAlone() map[string]string {
	return map[string]string{AnnotationArgoSync: "Prune=false", AnnotationArgoCompare: "IgnoreExtraneous"}
}

// Annotations of the operator.
const (
	// AnnotationBirth is the bootstrap record, as JSON, on the peer Service.
	AnnotationBootstrap = Group + "/birth"
	// AnnotationOperator names the install (namespace/name) that manages the cluster, on the peer Service. Beside data,
	// on the PVC or on the Pod whose emptyDir it is, it says so when that Service is gone. On the EtcdCluster people
	// name with it the install that is to look after the cluster from now on.
	AnnotationOperator = Group + "/operator"
	// AnnotationTakenOver is when that install took the cluster over from another, as RFC 3339 has it; on the peer
	// Service.
	AnnotationTakenOver = Group + "/taken-over-at"
	// AnnotationRecord says, as JSON, which member lives on a volume; on the PVC, or on the Pod when its data is an
	// emptyDir.
	AnnotationRecord = Group + "/record"
	// AnnotationRestored is the incarnation whose restored data is complete on a volume; on the PVC.
	AnnotationRestored = Group + "/restored"
	// AnnotationSuperseded is the incarnation that replaced the incarnation of a volume; on the PVC.
	AnnotationSuperseded = Group + "/superseded-by"
	// AnnotationGoesBack is the incarnation that a cluster goes back from to the volume, at lower revisions than that
	// began with; on the PVC. People write it, and the operator for an EtcdRestore with source.previous.
	AnnotationGoesBack = Group + "/goes-back-from"
	// AnnotationBeginEmpty has an EtcdCluster begin empty where an earlier cluster of its name left CAs and no volume.
	// Its value is the UID of that cluster, as LabelClusterUID of the CAs says it. These then name the new cluster, so
	// that it counts once. It does not count with any other value, or beside a volume or a backup. Only people write
	// it.
	AnnotationBeginEmpty = Group + "/begin-empty"
	// AnnotationRequest is the EtcdRestore that a volume was created for, with its UID and its source; on the PVC.
	AnnotationRequest = Group + "/restore-request"
	// AnnotationFlushed is the incarnation that a survivor's volume is read for: its member ran alone and wrote all
	// data out; on the PVC.
	AnnotationFlushed = Group + "/flushed-for"
	// AnnotationRemovedFor says in one word why the operator removes, or removed, the member on a volume; on the PVC.
	// Of a previous member it says that its data is gone.
	AnnotationRemovedFor = Group + "/removed-for"
	// AnnotationKeptSince is when a volume was put aside, as RFC 3339 has it; on a PVC with LabelKept.
	AnnotationKeptSince = Group + "/kept-since"
	// AnnotationInputs is the canonical JSON of the settings that a member's Pod is made from; on PVC and Pod.
	AnnotationInputs = Group + "/inputs"
	// AnnotationImageDefaults is the canonical JSON of what a Pod's images have from flags of the operator; absent:
	// nothing.
	AnnotationImageDefaults = Group + "/image-defaults"
	// AnnotationStorageClass is the StorageClass that the spec asked for when a volume was made, unless that was the
	// default one; on the PVC.
	AnnotationStorageClass = Group + "/storage-class"
	// AnnotationAccessMode is the access mode that the spec asked for when a volume was made; on the PVC. Of an older
	// release none is written, and that of the claim counts.
	AnnotationAccessMode = Group + "/access-mode"
	// AnnotationStorageSize is spec.storage.size as it was when a volume was made; on the PVC. People and tools may ask
	// for more on the claim itself.
	AnnotationStorageSize = Group + "/storage-size"
	// AnnotationAttributesClass is the VolumeAttributesClass that the spec asked for last; on each claim that it was
	// asked of. People may ask for another one on the claim itself.
	AnnotationAttributesClass = Group + "/volume-attributes-class"
	// AnnotationWAL names the claim of the member's write-ahead log by its UID, as JSON; on the PVC of the data. It
	// also says what the spec asked for when that was made. Absent: the log lies beside the data.
	AnnotationWAL = Group + "/wal"
	// AnnotationRestartedAt restarts each member of an EtcdCluster once for every new value; on the EtcdCluster. People
	// write it, as kubectl rollout restart writes its own.
	AnnotationRestartedAt = Group + "/restartedAt"
	// AnnotationDefragment has each member of an EtcdCluster defragmented once for every later time, in the format
	// 2026-01-31T12:00:00Z; on the EtcdCluster. People write it.
	AnnotationDefragment = Group + "/defragment"
	// AnnotationMaintenance opens a window of maintenance at its time, in the format 2026-01-31T12:00:00Z, for as long
	// as spec.maintenance.window says; on the EtcdCluster. People write it.
	AnnotationMaintenance = Group + "/maintenance"
	// AnnotationReplace names members that a new one follows, such as demo-1, with commas between them; on the
	// EtcdCluster. People write it. A name is never given again, so what was carried out may stay.
	AnnotationReplace = Group + "/replace"
	// AnnotationFence names members that are stopped while the others are a quorum, with commas between them; on the
	// EtcdCluster. People write it. Their volumes stay, and no Pod starts there before a name is taken out.
	AnnotationFence = Group + "/fence"
	// AnnotationRotateCA replaces the CAs of an EtcdCluster that were made before its time, such as
	// 2026-01-31T12:00:00Z; on the EtcdCluster. People write it. Clients get 24 hours for each step that they have to
	// follow, or as long as stands before the time: 1h@2026-01-31T12:00:00Z.
	AnnotationRotateCA = Group + "/rotate-ca"
	// AnnotationRenewCertificate has the certificate of an EtcdClient issued anew that was made before its time, such
	// as 2026-01-31T12:00:00Z; on the EtcdClient. People write it.
	AnnotationRenewCertificate = Group + "/renew-certificate"
	// AnnotationDraw is what was drawn for a CertificateRequest: with the seed in the Secret of the CA, the key of the
	// certificate follows from it. It is no secret.
	AnnotationDraw = Group + "/draw"
	// AnnotationMoveLeader names the member that leads next and the time of the request: demo-1@2026-01-31T12:00:00Z;
	// on the EtcdCluster. People write it. It counts for 10 minutes.
	AnnotationMoveLeader = Group + "/move-leader"
	// AnnotationRenderer is the number of the renderer that made a Pod.
	AnnotationRenderer = Group + "/renderer"
	// AnnotationDressed is the canonical JSON of the keys of labels and annotations that an object has from the spec.
	// Of a Service it names the fields as well that others may set too.
	AnnotationDressed = Group + "/dressed"
	// AnnotationInitialState is --initial-cluster-state of a member's next start.
	AnnotationInitialState = Group + "/initial-cluster-state"
	// AnnotationInitialCompare says whether etcd compares a member's data with its peers' when it starts next: false,
	// or true on a Pod of an earlier release.
	AnnotationInitialCompare = Group + "/initial-compare"
	// AnnotationCompared is the ID of the container whose copy of the data was compared with the other members' after
	// its start.
	AnnotationCompared = Group + "/compared"
	// AnnotationInitialCluster is --initial-cluster of a member's next start.
	AnnotationInitialCluster = Group + "/initial-cluster"
	// AnnotationBackupRecord says, as JSON on an EtcdBackup, which Job was created for it, and with which result.
	AnnotationBackupRecord = Group + "/backup-record"
	// AnnotationBackupSignature is the HMAC-SHA256 of that record, in hex: without it a backup counts neither as
	// complete nor as proven.
	AnnotationBackupSignature = Group + "/backup-record-signature"
	// AnnotationSeenAhead says on an EtcdBackup of a schedule when it was noticed that its time was still to come, in
	// RFC 3339. While the clock says so for 5 minutes, AnnotationAhead follows.
	AnnotationSeenAhead = Group + "/seen-ahead"
	// AnnotationAhead marks an EtcdBackup that a schedule made while the clock ran ahead. Its value is when that was
	// noticed, in RFC 3339. The EtcdBackup does not stand for the run of its time.
	AnnotationAhead = Group + "/made-ahead"
	// AnnotationLastRun is, on an EtcdBackupSchedule, the time of the last run that started or was skipped, in RFC
	// 3339.
	AnnotationLastRun = Group + "/last-run"
	// AnnotationLastPrune is, as JSON on an EtcdBackupSchedule, the result of the last removal of old backups.
	AnnotationLastPrune = Group + "/last-prune"
	// AnnotationLastTest is, as JSON on an EtcdBackupSchedule, the result of its last test restore.
	AnnotationLastTest = Group + "/last-test-restore"
	// AnnotationTestSignature is the HMAC-SHA256 of that result, in hex: without it no backup counts as proven by it.
	AnnotationTestSignature = Group + "/last-test-restore-signature"
)

// FinalizerAccess keeps an EtcdClient until its access is taken away in etcd.
const FinalizerAccess = Group + "/access"

// longestRestartedAt is enough for a time, with a reason behind it.
const longestRestartedAt = 64

// RestartedAt is the value for which each member is restarted once. It is empty, and restarts no member, where the
// cluster has none, or one that is not from 1 to 64 printable characters of ASCII.
func (c *EtcdCluster) RestartedAt() string {
	value := c.Annotations[AnnotationRestartedAt]
	isUnprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if len(value) > longestRestartedAt || strings.ContainsFunc(value, isUnprintable) {
		return ""
	}
	return value
}

// DefragmentAsked is the time for which each member is defragmented once; zero where the cluster names none, or one
// that cannot be read.
func (c *EtcdCluster) DefragmentAsked() time.Time { return c.timeIn(AnnotationDefragment) }

// MaintenanceAsked is the time at which a window of maintenance is opened beside those of the spec; zero as above.
func (c *EtcdCluster) MaintenanceAsked() time.Time { return c.timeIn(AnnotationMaintenance) }

// ReplaceAsked are the members that a new one follows because a person asked for it. Names that no member has are left
// in.
func (c *EtcdCluster) ReplaceAsked() []string { return c.namesIn(AnnotationReplace) }

// FenceAsked are the members that a person wants stopped. Names that no member has are left in.
func (c *EtcdCluster) FenceAsked() []string { return c.namesIn(AnnotationFence) }

func (c *EtcdCluster) namesIn(annotation string) []string {
	return strings.FieldsFunc(c.Annotations[annotation], func(r rune) bool { return r == ',' || r == ' ' })
}

// LeaderAsked is the member that a person asked to lead, and when. Both are empty where the cluster names none, or a
// time that cannot be read.
func (c *EtcdCluster) LeaderAsked() (string, time.Time) {
	name, at, _ := strings.Cut(c.Annotations[AnnotationMoveLeader], "@")
	asked, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "", time.Time{}
	}
	return name, asked
}

// overlapUsual is for how long clients may go on with what they read, while a CA is replaced.
const overlapUsual = 24 * time.Hour

// CARotationAsked is a time, and how long clients get for each step: CAs that were made before that time are replaced.
// It is zero where the cluster names none, or one that cannot be read.
func (c *EtcdCluster) CARotationAsked() (asked time.Time, overlap time.Duration) {
	at, overlap := c.Annotations[AnnotationRotateCA], overlapUsual
	if given, rest, isGiven := strings.Cut(at, "@"); isGiven {
		var err error
		if overlap, err = time.ParseDuration(given); err != nil || overlap < 0 {
			return time.Time{}, 0
		}
		at = rest
	}
	asked, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return time.Time{}, 0
	}
	return asked.Truncate(time.Second), overlap
}

func (c *EtcdCluster) timeIn(annotation string) time.Time {
	asked, _ := time.Parse(time.RFC3339, c.Annotations[annotation])
	return asked
}

// ClusterOf is the name of the EtcdCluster that an object of the operator's says it is of. Before there was
// LabelCluster all of them said it as members' Pods do.
func ClusterOf(labels map[string]string) string {
	if name := labels[LabelCluster]; name != "" {
		return name
	}
	return labels[LabelInstance]
}

// IsOperatorKey tells labels and annotations of the operator's own prefix, and of what is below it.
func IsOperatorKey(key string) bool {
	return strings.HasPrefix(key, Group+"/") || strings.Contains(key, "."+Group+"/")
}

// IsOperatorLabel tells labels that the operator sets on each Pod and selects by.
func IsOperatorLabel(key string) bool {
	return IsOperatorKey(key) ||
		slices.Contains([]string{LabelName, LabelInstance, LabelManagedBy, LabelComponent}, key)
}

// IsAppArmor tells annotations by which a container has a profile of AppArmor. Kubernetes changes them on no Pod.
func IsAppArmor(key string) bool {
	return strings.HasPrefix(key, "container.apparmor.security.beta.kubernetes.io/")
}

// Loosens tells annotations by which a Pod would run without its seccomp or AppArmor profile.
func Loosens(key, value string) bool {
	if strings.Contains(key, "seccomp.security.alpha.kubernetes.io/") {
		return true
	}
	return IsAppArmor(key) && value != "runtime/default" && !strings.HasPrefix(value, "localhost/")
}
