package v1alpha1

import (
	"encoding/json"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdSpec holds the settings of the etcd process.
//
// etcd itself refuses an election timeout below five heartbeats or above 50 s (etcd-io/etcd:server/embed/config.go).
//
// +kubebuilder:validation:XValidation:rule="[[self.?heartbeatInterval.orValue('100ms'), self.?electionTimeout.orValue('1s')]].all(v, v.exists(x, !x.matches('^([0-9]{1,4}m)?([0-9]{1,6}([.][0-9]{1,3})?s)?([0-9]{1,7}ms)?$')) || duration(v[1]) >= duration(v[0]) + duration(v[0]) + duration(v[0]) + duration(v[0]) + duration(v[0]))",message="spec.etcd.electionTimeout must be at least five times spec.etcd.heartbeatInterval",messageExpression="[self.?electionTimeout.orValue('1s (the default)')].map(e, [self.?heartbeatInterval.orValue('100ms (the default)')].map(h, 'spec.etcd.electionTimeout is ' + e + '; it must be at least five times spec.etcd.heartbeatInterval, which is ' + h)[0])[0]",fieldPath=".electionTimeout"
type EtcdSpec struct {
	// QuotaBackendBytes is the size of the database at which etcd stops accepting
	// writes. Default 2Gi, from 16Mi to 32Gi. Above 8Gi, the most that etcd advises,
	// UpToDate has a warning. A lower one is refused while a database takes 80 % of it
	// or more.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(.*[eE][+-]?[0-9]{1,2}|.*[^0-9.]|[^eE]*)$`
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || quantity(string(self)).compareTo(quantity('16Mi')) >= 0 && quantity(string(self)).compareTo(quantity('32Gi')) <= 0",message="spec.etcd.quotaBackendBytes must be from 16Mi to 32Gi",messageExpression="'spec.etcd.quotaBackendBytes is ' + string(self) + '; it must be from 16Mi to 32Gi'"
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`

	// AutoCompaction says when old revisions are removed. Default: mode periodic, retention 1h.
	// +optional
	AutoCompaction *AutoCompactionSpec `json:"autoCompaction,omitempty"`

	// SnapshotCount is the number of committed transactions between raft snapshots. Default: etcd's own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	SnapshotCount *int64 `json:"snapshotCount,omitempty"`

	// HeartbeatInterval is the time between two heartbeats of the leader, in whole
	// milliseconds. Default 100ms, from 10ms to 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,4}m)?([0-9]{1,6}([.][0-9]{1,3})?s)?([0-9]{1,7}ms)?$') && duration(self) >= duration('10ms') && duration(self) <= duration('5s')",message="spec.etcd.heartbeatInterval must be a time in whole milliseconds from 10ms to 5s, such as 100ms",messageExpression="'spec.etcd.heartbeatInterval is \"' + self + '\"; it must be a time in whole milliseconds from 10ms to 5s, such as 100ms'"
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`

	// ElectionTimeout is how long a follower waits for a heartbeat before it starts
	// an election, in whole milliseconds. Default 1s, at least five heartbeats, at
	// most 50s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,4}m)?([0-9]{1,6}([.][0-9]{1,3})?s)?([0-9]{1,7}ms)?$') && duration(self) >= duration('50ms') && duration(self) <= duration('50s')",message="spec.etcd.electionTimeout must be a time in whole milliseconds from 50ms to 50s, such as 1s",messageExpression="'spec.etcd.electionTimeout is \"' + self + '\"; it must be a time in whole milliseconds from 50ms to 50s, such as 1s'"
	ElectionTimeout *metav1.Duration `json:"electionTimeout,omitempty"`

	// CorruptionChecks compares members' data at start, at each compaction and every hour. Default true.
	// +optional
	CorruptionChecks *bool `json:"corruptionChecks,omitempty"`

	// ExtraArgs are further flags of etcd, without the leading dashes:
	// {"max-txn-ops": "256"}. Flags that the operator sets are refused, and so are
	// flags that the version does not know.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][a-z0-9-]{0,62}$'))",message="spec.etcd.extraArgs must have names of etcd flags without the leading dashes as keys, such as max-txn-ops"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.matches('^(name|data-dir|wal-dir|config-file|version|help|strict-reconfig-check|max-learners|experimental-max-learners)$'))",message="spec.etcd.extraArgs must not contain flags that the operator sets, or never lets be set",messageExpression="'spec.etcd.extraArgs must not contain ' + self.filter(k, k.matches('^(name|data-dir|wal-dir|config-file|version|help|strict-reconfig-check|max-learners|experimental-max-learners)$'))[0] + ': the operator sets it, or never lets it be set'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.matches('^(initial-|listen-|advertise-|discovery|unsafe-|force-new-cluster|proxy|peer-|experimental-peer-|client-|log-rotation)'))",message="spec.etcd.extraArgs must not contain flags that the operator sets, or never lets be set",messageExpression="'spec.etcd.extraArgs must not contain ' + self.filter(k, k.matches('^(initial-|listen-|advertise-|discovery|unsafe-|force-new-cluster|proxy|peer-|experimental-peer-|client-|log-rotation)'))[0] + ': the operator sets it, or never lets it be set'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.matches('^(cert-file|key-file|trusted-ca-file|ca-file|auto-tls|self-signed-cert-validity|auth-token|logger|log-outputs|log-output|enable-log-rotation)$'))",message="spec.etcd.extraArgs must not contain flags that the operator sets, or never lets be set",messageExpression="'spec.etcd.extraArgs must not contain ' + self.filter(k, k.matches('^(cert-file|key-file|trusted-ca-file|ca-file|auto-tls|self-signed-cert-validity|auth-token|logger|log-outputs|log-output|enable-log-rotation)$'))[0] + ': the operator sets it, or never lets it be set'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.matches('^(quota-backend-bytes|auto-compaction-mode|auto-compaction-retention|snapshot-count|heartbeat-interval|election-timeout)$'))",message="spec.etcd.extraArgs must not contain flags that the operator sets, or never lets be set",messageExpression="'spec.etcd.extraArgs must not contain ' + self.filter(k, k.matches('^(quota-backend-bytes|auto-compaction-mode|auto-compaction-retention|snapshot-count|heartbeat-interval|election-timeout)$'))[0] + ': the operator sets it, or never lets it be set'"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k.matches('^(experimental-initial-corrupt-check|experimental-compact-hash-check-enabled|enable-v2|experimental-enable-v2v3|v2-deprecation|snapshot-catchup-entries|experimental-snapshot-catchup-entries)$'))",message="spec.etcd.extraArgs must not contain flags that the operator sets, or never lets be set",messageExpression="'spec.etcd.extraArgs must not contain ' + self.filter(k, k.matches('^(experimental-initial-corrupt-check|experimental-compact-hash-check-enabled|enable-v2|experimental-enable-v2v3|v2-deprecation|snapshot-catchup-entries|experimental-snapshot-catchup-entries)$'))[0] + ': the operator sets it, or never lets it be set'"
	ExtraArgs map[string]ArgValue `json:"extraArgs,omitempty"`
}

// ArgValue is the value of a flag, one line.
//
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:XValidation:rule="!self.contains('\\n') && !self.contains('\\r') && !self.contains('\\u0000')",message="spec.etcd.extraArgs must have values of one line"
type ArgValue string

// AutoCompactionSpec says when old revisions are removed.
//
// +kubebuilder:validation:XValidation:rule="self.?mode.orValue('periodic') != 'revision' || [self.?retention.orValue('absent')].all(r, r.matches('^(0|[1-9][0-9]{0,9})$'))",message="spec.etcd.autoCompaction.retention must be a number of revisions when mode is revision, such as 10000",messageExpression="[self.?retention.orValue('absent')].map(r, 'spec.etcd.autoCompaction.retention is ' + r + '; it must be a number of revisions when mode is revision, such as 10000')[0]",fieldPath=".retention"
// +kubebuilder:validation:XValidation:rule="self.?mode.orValue('periodic') != 'periodic' || [self.?retention.orValue('1h')].all(r, r == '0' || r.matches('^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$') && r != \"\" && duration(r) >= duration('1s'))",message="spec.etcd.autoCompaction.retention must be an age when mode is periodic, such as 1h or 30m",messageExpression="[self.?retention.orValue('absent')].map(r, 'spec.etcd.autoCompaction.retention is ' + r + '; it must be an age when mode is periodic, such as 1h or 30m, or 0 for no compaction')[0]",fieldPath=".retention"
type AutoCompactionSpec struct {
	// Mode is periodic (default: keep revisions by age) or revision (keep them by number).
	// +optional
	// +kubebuilder:validation:Enum=periodic;revision
	Mode string `json:"mode,omitempty"`

	// Retention depends on mode. periodic: an age such as "1h" (default) or "30m".
	// revision: a number of revisions such as "10000". "0" turns compaction off, and
	// with it the comparison of members' data at each compaction.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Retention string `json:"retention,omitempty"`
}

// ImageSpec says where the etcd image comes from.
type ImageSpec struct {
	// Repository is the image without tag and digest. The tag is v<version>. It must have
	// etcd and etcdutl. Default: that of the operator's --etcd-repository, which is
	// gcr.io/etcd-development/etcd.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|[[][0-9a-fA-F:]+[]])(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$')",message="spec.image.repository must be an image name without tag and digest, such as registry.example.com/etcd: the tag is v<version>, digests stand in spec.image.digests",messageExpression="'spec.image.repository is \"' + self + '\"; it must be an image name without tag and digest, such as registry.example.com/etcd: the tag is v<version>, digests stand in spec.image.digests'"
	Repository string `json:"repository,omitempty"`

	// Digests maps a version such as "3.6.16", without a leading "v", to the digest
	// of its image, such as "sha256:…". Other versions run from their tag. Where any
	// is named, a minor version is left only once each version on the way has one.
	// Without a repository, the operator's --etcd-digest adds digests of other versions.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^((0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})|3[.]8[.]0-alpha[.]0)$'))",message="spec.image.digests must have versions without a leading v as keys, such as 3.6.16"
	Digests map[string]Digest `json:"digests,omitempty"`

	// PullPolicy is when nodes pull the image: Always, IfNotPresent (default) or Never.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// PullSecrets are Secrets of this namespace with credentials for the registry. At most
	// 8. Those of the operator's --image-pull-secret are added.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(s, has(s.name) && s.name != '')",message="spec.image.pullSecrets must each name a Secret of this namespace; a name is empty"
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// Digest is the content address of an image: sha256: and 64 hex digits.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[a-f0-9]{64}$')",message="spec.image.digests must have values of the form sha256:<64 hex digits>",messageExpression="'a value of spec.image.digests is \"' + self + '\"; it must be of the form sha256:<64 hex digits>'"
type Digest string

// StorageSpec says where members keep their data.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ephemeral) || !has(self.size) && !has(self.storageClassName) && !has(self.volumeAttributesClassName) && !has(self.accessMode) && !has(self.wal)",message="spec.storage.ephemeral cannot be given together with size, storageClassName, volumeAttributesClassName, accessMode or wal: those describe a volume, and an ephemeral member has none",reason=FieldValueForbidden,fieldPath=".ephemeral"
type StorageSpec struct {
	// Size is the size of each member's volume. Default 8Gi. At least twice
	// spec.etcd.quotaBackendBytes and 1Gi more, so that defragmentation and snapshots
	// have room. A smaller size moves members to new volumes, one at a time, but for
	// volumes that were expanded. A larger one is followed as expand says.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(.*[eE][+-]?[0-9]{1,2}|.*[^0-9.]|[^eE]*)$`
	Size *resource.Quantity `json:"size,omitempty"`

	// StorageClassName is the class of members' volumes. Default: the default
	// StorageClass, whichever that is. "" means existing volumes without a class.
	// Where it names another class than a member's volume has, the operator moves
	// members. One at a time a new member joins on a new volume, and an old one goes.
	// status.members names the class of each.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.storage.storageClassName must be the name of a StorageClass",messageExpression="'spec.storage.storageClassName is \"' + self + '\"; it must be the name of a StorageClass: lower-case letters, digits, \"-\" and \".\"'"
	StorageClassName *string `json:"storageClassName,omitempty"`

	// VolumeAttributesClassName says how fast members' volumes are, where their CSI
	// driver can change that: it names a VolumeAttributesClass. A change is made to
	// volumes in use, one at a time, and no member stops. Default: what the
	// StorageClass gives. Volumes that have a class keep it where none is named here.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="spec.storage.volumeAttributesClassName must be the name of a VolumeAttributesClass",messageExpression="'spec.storage.volumeAttributesClassName is \"' + self + '\"; it must be the name of a VolumeAttributesClass: lower-case letters, digits, \"-\" and \".\"'"
	VolumeAttributesClassName string `json:"volumeAttributesClassName,omitempty"`

	// AccessMode is ReadWriteOnce (default), or ReadWriteOncePod if the CSI driver
	// supports it. A change moves members to new volumes, one at a time.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteOncePod
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`

	// WAL gives the write-ahead log of each member a volume of its own, beside the one
	// of its data. The two are one: a member that loses either of them is replaced. To
	// add it, to remove it, or to change its class moves members, one at a time.
	// +optional
	WAL *WALSpec `json:"wal,omitempty"`

	// Replace says how a member is followed that no restart brings to the spec. With
	// Surge (default) the new one joins first. InPlace is for where no node or quota
	// has room for one more. Then the old one goes first, while all others serve and
	// are at least two. Fewer members may fail until the new one votes.
	// +optional
	// +kubebuilder:validation:Enum=Surge;InPlace
	Replace ReplaceMode `json:"replace,omitempty"`

	// Expand says how a larger size is followed. With InPlace (default) the operator
	// expands each member's claim, one at a time, and no member stops. Its
	// StorageClass must allow that. With Replace a new member on a larger volume
	// follows each, one at a time: for classes that cannot expand volumes.
	// +optional
	// +kubebuilder:validation:Enum=InPlace;Replace
	Expand ExpandMode `json:"expand,omitempty"`

	// Ephemeral keeps data in an emptyDir instead of a volume. A member whose Pod is
	// gone has lost its data and is replaced. Draining a node then needs
	// --delete-emptydir-data. Where it is added to an existing cluster, or removed,
	// a new member follows each one.
	// +optional
	Ephemeral *EphemeralSpec `json:"ephemeral,omitempty"`

	// DeletionPolicy says what happens to volumes and CAs when the cluster is
	// deleted. Retain (default) keeps them. Delete (default with ephemeral) removes
	// them.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ReplaceMode says which goes first, a new member or an old one.
type ReplaceMode string

// The modes.
const (
	// The new member joins first.
	ReplaceSurge ReplaceMode = "Surge"
	// The old member goes first.
	ReplaceInPlace ReplaceMode = "InPlace"
)

// ExpandMode says how volumes become larger.
type ExpandMode string

// The modes.
const (
	// The claim of each member is expanded.
	ExpandInPlace ExpandMode = "InPlace"
	// A new member on a larger volume follows each.
	ExpandReplace ExpandMode = "Replace"
)

// EphemeralSpec describes the emptyDir of a member without a volume.
type EphemeralSpec struct {
	// Medium is "" (the node's disk, default) or Memory, which counts against the
	// container's memory. It cannot change on an existing cluster.
	// +optional
	// +kubebuilder:validation:Enum="";Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`
}

// DeletionPolicy says what happens to the data when the cluster is deleted.
type DeletionPolicy string

// The deletion policies.
const (
	// Volumes and CAs are kept.
	DeletionRetain DeletionPolicy = "Retain"
	// Volumes and CAs are removed with the cluster.
	DeletionDelete DeletionPolicy = "Delete"
)

// The pattern of the schema. The rules of the schema read storage.size and etcd.quotaBackendBytes only when they match
// it.
var amount = regexp.MustCompile(
	`^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

// longestAmount is the length of the schema, in bytes.
const longestAmount = 32

// Quantity reads the amount. It fails for what the schema refuses.
func (a Amount) Quantity() (resource.Quantity, error) {
	if len(a) > longestAmount || !amount.MatchString(string(a)) {
		return resource.Quantity{}, fmt.Errorf("%.40q is not a quantity of anything that a Pod may have", string(a))
	}
	return resource.ParseQuantity(string(a))
}

// UnmarshalJSON takes a text or a whole number, as Kubernetes does for quantities.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	var number json.Number
	if err := json.Unmarshal(raw, &number); err != nil {
		return fmt.Errorf("reading an amount: %w", err)
	}
	*a = Amount(number)
	return nil
}
