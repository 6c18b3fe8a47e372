package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is one etcd cluster: the members that are wanted and, in its status, the members that are there.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=etcd,categories={all,etcd}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyMembers`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.nextStep.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Leader",type=string,priority=1,JSONPath=`.status.leader`
// +kubebuilder:printcolumn:name="DB size",type=string,priority=1,JSONPath=`.status.dbSize`
// +kubebuilder:printcolumn:name="Margin",type=integer,priority=1,JSONPath=`.status.quorum.margin`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS-1035 label (lower-case letters, digits and '-', starting with a letter): members' host names are made from it"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="metadata.name must be at most 40 characters: members' host names are made from it"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the cluster that is wanted.
	// +required
	Spec EtcdClusterSpec `json:"spec"`

	// Status is what the operator last saw and what it wants to do next. Nothing is ever decided from it.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status EtcdClusterStatus `json:"status,omitempty"`
}

// EtcdClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdCluster `json:"items"`
}

// EtcdClusterSpec is the cluster that is wanted.
//
// +kubebuilder:validation:XValidation:rule="has(self.tls) == has(oldSelf.tls) && (!has(self.tls) || self.tls == oldSelf.tls) || (has(self.tls) && has(self.tls.mode) ? self.tls.mode : 'Managed') == (has(oldSelf.tls) && has(oldSelf.tls.mode) ? oldSelf.tls.mode : 'Managed')",message="spec.tls.mode cannot change on an existing cluster; create a new cluster with the mode that you want"
type EtcdClusterSpec struct {
	// Size is the number of voting members: 1, 3, 5 or 7. An even number survives no more failures than the odd number
	// below it, and needs one member more to agree. Refused: anything else.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="spec.size must be odd (1, 3, 5 or 7): an even number of members survives no more failures than one member less, and needs more of them to agree"
	Size int32 `json:"size"`

	// Version is the etcd version to run, such as "3.6.16"; a leading "v" is accepted.
	// Versions with known data loss, and minors that the operator does not know, are refused with the reason.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})$')",message="spec.version must be a released version of etcd with three numbers, such as 3.6.16"
	Version string `json:"version"`

	// Image says where the etcd image comes from. Default: gcr.io/etcd-development/etcd:v<version>.
	// +optional
	Image *ImageSpec `json:"image,omitempty"`

	// Storage says where members keep their data. Default: a volume of 8Gi each, kept when the cluster is deleted.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// Etcd holds the settings of the etcd process.
	// +optional
	Etcd *EtcdSpec `json:"etcd,omitempty"`

	// Pod holds the settings of members' Pods.
	// +optional
	Pod *PodSpec `json:"pod,omitempty"`

	// Service holds the settings of the Service that clients connect to.
	// +optional
	Service *ServiceSpec `json:"service,omitempty"`

	// TLS says how connections are protected. Default: Managed. The mode is chosen at creation.
	// +optional
	TLS *TLSSpec `json:"tls,omitempty"`

	// Disruption says how the cluster is protected from drains and evictions.
	// +optional
	Disruption *DisruptionSpec `json:"disruption,omitempty"`

	// Paused stops the operator from touching the cluster. It goes on looking and reporting. Volumes and authorities that
	// deletionPolicy says must be kept are still released, so that deleting a paused cluster loses nothing.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Mode is Enforce (default) or DryRun. With DryRun the next step is published in status.nextStep and not taken.
	// +optional
	// +kubebuilder:validation:Enum=Enforce;DryRun
	Mode Mode `json:"mode,omitempty"`
}

// Mode says whether the operator takes the steps that it decides on.
type Mode string

// The modes.
const (
	ModeEnforce Mode = "Enforce"
	ModeDryRun  Mode = "DryRun"
)

// ImageSpec says where the etcd image comes from.
type ImageSpec struct {
	// Repository is the image without tag. Default gcr.io/etcd-development/etcd. The tag is v<version>.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*$`
	Repository string `json:"repository,omitempty"`

	// Digests maps a version such as "3.6.16" to the digest to run it from, such as "sha256:…". A version that is not
	// listed runs from its tag.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^sha256:[a-f0-9]{64}$'))",message="spec.image.digests values must be of the form sha256:<64 hex digits>"
	Digests map[string]Digest `json:"digests,omitempty"`

	// PullPolicy is when nodes pull the image. Default IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`

	// PullSecrets are Secrets of this namespace with credentials for the registry.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PullSecrets []corev1.LocalObjectReference `json:"pullSecrets,omitempty"`
}

// Digest is the content address of an image.
//
// +kubebuilder:validation:MaxLength=71
type Digest string

// StorageSpec says where members keep their data.
//
// +kubebuilder:validation:XValidation:rule="has(self.ephemeral) == has(oldSelf.ephemeral)",message="spec.storage.ephemeral cannot be added or removed on an existing cluster; create a new cluster and move the data"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="spec.storage.storageClassName cannot change on an existing cluster: volumes keep the class they were made with"
// +kubebuilder:validation:XValidation:rule="(has(self.accessMode) ? self.accessMode : 'ReadWriteOnce') == (has(oldSelf.accessMode) ? oldSelf.accessMode : 'ReadWriteOnce')",message="spec.storage.accessMode cannot change on an existing cluster: volumes keep the mode they were made with"
type StorageSpec struct {
	// Size is the size of each member's volume. Default 8Gi. At least twice the database quota and 1Gi more, so that
	// defragmentation and snapshots have room.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// StorageClassName is the class of the volumes. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// AccessMode is ReadWriteOnce (default) or ReadWriteOncePod, where the CSI driver has it.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteOncePod
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`

	// Ephemeral keeps data in an emptyDir instead of a volume: a member whose Pod is gone has lost its data and is replaced.
	// Draining a node then needs --delete-emptydir-data.
	// +optional
	Ephemeral *EphemeralSpec `json:"ephemeral,omitempty"`

	// DeletionPolicy says what becomes of volumes and authorities when the cluster is deleted: Retain (default) keeps them,
	// Delete removes them.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// EphemeralSpec describes the emptyDir of a member without a volume.
type EphemeralSpec struct {
	// Medium is "" (the node's disk, default) or Memory, which counts against the container's memory.
	// +optional
	// +kubebuilder:validation:Enum="";Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`
}

// DeletionPolicy says what becomes of the data when the cluster is deleted.
type DeletionPolicy string

// The deletion policies.
const (
	DeletionRetain DeletionPolicy = "Retain"
	DeletionDelete DeletionPolicy = "Delete"
)

// EtcdSpec holds the settings of the etcd process.
type EtcdSpec struct {
	// QuotaBackendBytes is the size of the database at which etcd stops accepting writes. Default 2Gi, at most 8Gi.
	// +optional
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`

	// AutoCompaction says how old revisions are dropped. Default: periodic, 1h.
	// +optional
	AutoCompaction *AutoCompactionSpec `json:"autoCompaction,omitempty"`

	// SnapshotCount is the number of committed transactions between raft snapshots. Default: etcd's own.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	SnapshotCount *int64 `json:"snapshotCount,omitempty"`

	// HeartbeatInterval is the time between two heartbeats of the leader. Default 100ms, 10ms to 5s.
	// +optional
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`

	// ElectionTimeout is the silence after which a follower stands for election. Default 1s, at least five heartbeats, at
	// most 50s.
	// +optional
	ElectionTimeout *metav1.Duration `json:"electionTimeout,omitempty"`

	// CorruptionChecks compares members' data at start and at each compaction. Default true.
	// +optional
	CorruptionChecks *bool `json:"corruptionChecks,omitempty"`

	// ExtraArgs are further flags of etcd, without the leading dashes: {"max-txn-ops": "256"}. Flags that the operator owns
	// and flags that the version does not know are refused.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][a-z0-9-]{0,62}$'))",message="spec.etcd.extraArgs keys are names of etcd flags without the leading dashes, such as max-txn-ops"
	ExtraArgs map[string]ArgValue `json:"extraArgs,omitempty"`
}

// ArgValue is the value of a flag.
//
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:Pattern=`^[^\r\n\x00]*$`
type ArgValue string

// AutoCompactionSpec says how old revisions are dropped.
//
// +kubebuilder:validation:XValidation:rule="!has(self.mode) || self.mode != 'revision' || (has(self.retention) && self.retention.matches('^[1-9][0-9]*$'))",message="spec.etcd.autoCompaction.retention must be a number of revisions when mode is revision"
type AutoCompactionSpec struct {
	// Mode is periodic (default: keep revisions by age) or revision (keep them by number).
	// +optional
	// +kubebuilder:validation:Enum=periodic;revision
	Mode string `json:"mode,omitempty"`

	// Retention is an age such as "1h" (default) or "30m", or a number of revisions such as "10000". "0" turns
	// compaction off, and with it the comparison of members' data at each compaction.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+|([0-9]+(h|m|s))+)$`
	Retention string `json:"retention,omitempty"`
}

// PodSpec holds the settings of members' Pods.
type PodSpec struct {
	// Labels are added to members' Pods. Not with the operator's prefix, not app.kubernetes.io/.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('etcdsteward.dev/') && !k.startsWith('app.kubernetes.io/'))",message="spec.pod.labels must not use the prefixes etcdsteward.dev/ and app.kubernetes.io/: the operator sets those"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations are added to members' Pods. Not with the operator's prefix.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('etcdsteward.dev/'))",message="spec.pod.annotations must not use the prefix etcdsteward.dev/: the operator sets those"
	Annotations map[string]string `json:"annotations,omitempty"`

	// Resources of the etcd container. Default: requests of 100m CPU and 512Mi memory, no limits.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// NodeSelector restricts the nodes that members run on.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of members' Pods, added to the operator's own: not-ready and unreachable without a time limit, so that a
	// node that comes back finds its member.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of members' Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// TopologySpreadConstraints of members' Pods. Default: preferably spread over zones and over nodes. A constraint
	// without a labelSelector gets one that selects this cluster's members.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// PriorityClassName of members' Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// TerminationGracePeriodSeconds is the time a member has to hand over leadership and stop. Default 60, at least 30.
	// +optional
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// ServiceSpec holds the settings of the Service that clients connect to.
type ServiceSpec struct {
	// Type of the client Service. Default ClusterIP.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`

	// Annotations of the client Service, such as a load balancer's settings. Not with the operator's prefix.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('etcdsteward.dev/'))",message="spec.service.annotations must not use the prefix etcdsteward.dev/: the operator sets those"
	Annotations map[string]string `json:"annotations,omitempty"`

	// LoadBalancerClass of the client Service; only with type LoadBalancer.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
}

// TLSSpec says how connections are protected.
type TLSSpec struct {
	// Mode is Managed (default: certificates from two authorities that the operator keeps for this cluster) or Disabled
	// (no encryption and no authentication). It cannot change on an existing cluster.
	// +optional
	// +kubebuilder:validation:Enum=Managed;Disabled
	Mode TLSMode `json:"mode,omitempty"`
}

// TLSMode says where certificates come from.
type TLSMode string

// The TLS modes.
const (
	TLSManaged  TLSMode = "Managed"
	TLSDisabled TLSMode = "Disabled"
)

// DisruptionSpec says how the cluster is protected from drains and evictions.
type DisruptionSpec struct {
	// PodDisruptionBudget is Auto (default: a budget that keeps a quorum of the voters; none for a single voter) or None.
	// +optional
	// +kubebuilder:validation:Enum=Auto;None
	PodDisruptionBudget BudgetPolicy `json:"podDisruptionBudget,omitempty"`
}

// BudgetPolicy says whether the operator keeps a PodDisruptionBudget.
type BudgetPolicy string

// The budget policies.
const (
	BudgetAuto BudgetPolicy = "Auto"
	BudgetNone BudgetPolicy = "None"
)
