package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is one etcd cluster: the members that are wanted and, in its status, the members that are there.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,scope=Namespaced,shortName=etcd,categories={all,etcd}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Voting members wanted"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyMembers`,description="Voting members that answer and are up to date with the leader"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,description="Lowest etcd version that a member runs"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether reads and writes are served"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.nextStep.reason`,description="What the operator does next, or waits for"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Leader",type=string,priority=1,JSONPath=`.status.leader`,description="Member that leads"
// +kubebuilder:printcolumn:name="DB size",type=string,priority=1,JSONPath=`.status.dbSize`,description="Size of the largest member's database"
// +kubebuilder:printcolumn:name="Margin",type=integer,priority=1,JSONPath=`.status.quorum.margin`,description="Failures that the cluster survives now"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",message="metadata.name must be at most 40 characters, lower-case letters, digits and '-', starting with a letter and not ending in '-': host names of members are made from it",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 40 characters, lower-case letters, digits and \"-\", starting with a letter and not ending in \"-\": host names of members are made from it'"
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

// Rules that join two fields, and rules on what may not change, stand at EtcdClusterSpec and not at the fields: a rule at
// a field does not run when the field, or the object around it, is absent or has just been removed.

// EtcdClusterSpec is the cluster that is wanted.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) && has(self.storage.ephemeral) || !(has(self.storage) && has(self.storage.size) ? string(self.storage.size) : '8Gi').matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || !(has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi').matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || quantity((has(self.storage) && has(self.storage.size) ? string(self.storage.size) : '8Gi')).compareTo(quantity((has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi')).add(quantity((has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi'))).add(quantity('1Gi'))) >= 0",message="spec.storage.size must be at least twice spec.etcd.quotaBackendBytes and 1Gi more, so that defragmentation and snapshots have room",messageExpression="'spec.storage.size is ' + (has(self.storage) && has(self.storage.size) ? string(self.storage.size) : '8Gi (the default)') + '; it must be at least twice spec.etcd.quotaBackendBytes, which is ' + (has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi (the default)') + ', and 1Gi more, so that defragmentation and snapshots have room'",fieldPath=".storage.size"
// +kubebuilder:validation:XValidation:rule="(has(self.storage) && has(self.storage.ephemeral) && has(self.storage.ephemeral.medium) ? self.storage.ephemeral.medium : 'Disk') != 'Memory' || !(has(self.pod) && has(self.pod.resources) && has(self.pod.resources.limits) && 'memory' in self.pod.resources.limits ? string(self.pod.resources.limits['memory']) : 'none').matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || !(has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi').matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || quantity(string(self.pod.resources.limits['memory'])).compareTo(quantity((has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi')).add(quantity((has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi'))).add(quantity('1Gi'))) >= 0",message="spec.pod.resources.limits.memory must be at least twice spec.etcd.quotaBackendBytes and 1Gi more, because data in memory counts against it",messageExpression="'spec.pod.resources.limits.memory is ' + (has(self.pod) && has(self.pod.resources) && has(self.pod.resources.limits) && 'memory' in self.pod.resources.limits ? string(self.pod.resources.limits['memory']) : 'none') + '; with spec.storage.ephemeral.medium Memory it must be at least twice spec.etcd.quotaBackendBytes, which is ' + (has(self.etcd) && has(self.etcd.quotaBackendBytes) ? string(self.etcd.quotaBackendBytes) : '2Gi (the default)') + ', and 1Gi more, because the data counts against it'",fieldPath=".pod.resources"
// +kubebuilder:validation:XValidation:rule="(has(self.tls) && has(self.tls.mode) ? self.tls.mode : 'Managed') == (has(oldSelf.tls) && has(oldSelf.tls.mode) ? oldSelf.tls.mode : 'Managed')",message="spec.tls.mode cannot change on an existing cluster; create a new cluster with the mode that you want",messageExpression="'spec.tls.mode cannot change from ' + (has(oldSelf.tls) && has(oldSelf.tls.mode) ? oldSelf.tls.mode : 'Managed') + ' to ' + (has(self.tls) && has(self.tls.mode) ? self.tls.mode : 'Managed') + ' on an existing cluster; create a new cluster with the mode that you want'",reason=FieldValueForbidden,fieldPath=".tls"
// +kubebuilder:validation:XValidation:rule="(has(self.storage) && has(self.storage.storageClassName) ? self.storage.storageClassName : '(default)') == (has(oldSelf.storage) && has(oldSelf.storage.storageClassName) ? oldSelf.storage.storageClassName : '(default)')",message="spec.storage.storageClassName cannot be changed, added or removed on an existing cluster: volumes keep the class they were made with",reason=FieldValueForbidden,fieldPath=".storage"
// +kubebuilder:validation:XValidation:rule="(has(self.storage) && has(self.storage.accessMode) ? self.storage.accessMode : 'ReadWriteOnce') == (has(oldSelf.storage) && has(oldSelf.storage.accessMode) ? oldSelf.storage.accessMode : 'ReadWriteOnce')",message="spec.storage.accessMode cannot change on an existing cluster: volumes keep the mode they were made with",messageExpression="'spec.storage.accessMode cannot change from ' + (has(oldSelf.storage) && has(oldSelf.storage.accessMode) ? oldSelf.storage.accessMode : 'ReadWriteOnce') + ' to ' + (has(self.storage) && has(self.storage.accessMode) ? self.storage.accessMode : 'ReadWriteOnce') + ' on an existing cluster: volumes keep the mode they were made with'",reason=FieldValueForbidden,fieldPath=".storage"
// +kubebuilder:validation:XValidation:rule="(has(self.storage) && has(self.storage.ephemeral)) == (has(oldSelf.storage) && has(oldSelf.storage.ephemeral))",message="spec.storage.ephemeral cannot be added or removed on an existing cluster; create a new cluster with the storage that you want",reason=FieldValueForbidden,fieldPath=".storage"
// +kubebuilder:validation:XValidation:rule="!(has(self.storage) && has(self.storage.ephemeral)) || !(has(oldSelf.storage) && has(oldSelf.storage.ephemeral)) || ((has(self.storage) && has(self.storage.ephemeral) && has(self.storage.ephemeral.medium) ? self.storage.ephemeral.medium : 'Disk') == 'Memory') == ((has(oldSelf.storage) && has(oldSelf.storage.ephemeral) && has(oldSelf.storage.ephemeral.medium) ? oldSelf.storage.ephemeral.medium : 'Disk') == 'Memory')",message="spec.storage.ephemeral.medium cannot change on an existing cluster; create a new cluster with the medium that you want",reason=FieldValueForbidden,fieldPath=".storage"
// +kubebuilder:validation:XValidation:rule="!(has(self.bootstrap) && has(self.bootstrap.restore) && has(self.storage) && has(self.storage.ephemeral))",message="spec.bootstrap.restore cannot be given together with spec.storage.ephemeral: a backup is laid on volumes before members start, and an ephemeral member has none",reason=FieldValueForbidden,fieldPath=".bootstrap"
type EtcdClusterSpec struct {
	// Size is the number of voting members: 1, 3, 5 or 7. A cluster of 3 survives
	// the loss of one member, 5 of two, 7 of three; 1 survives none. Even numbers
	// are refused: they survive no more failures than one member less, and need
	// more members to agree.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self in [1, 3, 5, 7]",message="spec.size must be 1, 3, 5 or 7",messageExpression="'spec.size is ' + string(dyn(self)) + '; it must be 1, 3, 5 or 7' + (self % 2 == 0 ? ': an even number of members survives no more failures than one member less, and needs more of them to agree' : '')"
	Size int32 `json:"size"`

	// Version is the etcd version to run, such as "3.6.16"; a leading "v" is
	// accepted. Versions that lose data, and minors that the operator does not
	// know, are refused with the reason.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?(0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})$')",message="spec.version must be a released version of etcd with three numbers, such as 3.6.16",messageExpression="'spec.version is \"' + self + '\"; it must be a released version of etcd with three numbers, such as 3.6.16'"
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

	// Service holds the settings of the Service that clients connect to, which has the name of the cluster.
	// +optional
	Service *ServiceSpec `json:"service,omitempty"`

	// TLS says how connections are protected. Default: mode Managed. The mode is chosen at creation.
	// +optional
	TLS *TLSSpec `json:"tls,omitempty"`

	// Disruption says how the cluster is protected from drains and evictions.
	// +optional
	Disruption *DisruptionSpec `json:"disruption,omitempty"`

	// Repair says when a member is given up and replaced.
	// +optional
	Repair *RepairSpec `json:"repair,omitempty"`

	// Bootstrap says what a new cluster begins with. Default: with nothing in it.
	// +optional
	Bootstrap *BootstrapSpec `json:"bootstrap,omitempty"`

	// Paused stops the operator from touching the cluster. It goes on looking and
	// reporting. Volumes and authorities that deletionPolicy says must be kept are
	// still released, so that deleting a paused cluster loses nothing. Default
	// false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Mode is Enforce (default) or DryRun. With DryRun the next step is published in status.nextStep and not taken.
	// +optional
	// +kubebuilder:validation:Enum=Enforce;DryRun
	Mode Mode `json:"mode,omitempty"`
}

// BootstrapSpec says what a new cluster begins with. It counts until the cluster is born, and is nothing to one that lives.
type BootstrapSpec struct {
	// Restore names the backup that the cluster begins with: all its keys, users and
	// leases, with revisions raised by a billion so that clients see a break. The
	// backup is looked at before anything is made; it must be of the same minor
	// version as spec.version. Volumes that an earlier cluster of this name left win
	// over it.
	// +optional
	Restore *RestoreSource `json:"restore,omitempty"`
}

// Mode says whether the operator takes the steps that it decides on.
type Mode string

// The modes.
const (
	// Each step is taken.
	ModeEnforce Mode = "Enforce"
	// Each step is published and not taken.
	ModeDryRun Mode = "DryRun"
)

// TLSSpec says how connections are protected.
type TLSSpec struct {
	// Mode is Managed (default: certificates from two authorities that the
	// operator keeps for this cluster) or Disabled (no encryption and no
	// authentication). It cannot change on an existing cluster.
	// +optional
	// +kubebuilder:validation:Enum=Managed;Disabled
	Mode TLSMode `json:"mode,omitempty"`
}

// TLSMode says where certificates come from.
type TLSMode string

// The TLS modes.
const (
	// Certificates come from two authorities that the operator keeps for the cluster.
	TLSManaged TLSMode = "Managed"
	// No certificates: connections are neither encrypted nor authenticated.
	TLSDisabled TLSMode = "Disabled"
)

// DisruptionSpec says how the cluster is protected from drains and evictions.
type DisruptionSpec struct {
	// PodDisruptionBudget is Auto (default: a budget that keeps a quorum of the
	// voters; none for a single voter, so that its node can be drained) or None
	// (the operator keeps no budget).
	// +optional
	// +kubebuilder:validation:Enum=Auto;None
	PodDisruptionBudget BudgetPolicy `json:"podDisruptionBudget,omitempty"`
}

// RepairSpec says when a member is given up and replaced.
type RepairSpec struct {
	// ReplaceAfter is how long a member must be dead before another takes its
	// place: the operator cannot reach it, and its Pod is not ready, for all that
	// time, in which the others were a quorum. A time such as 10m or 1h30m, at least 30s; 0 means never. Default 5m.
	// A member whose data is certainly lost is replaced at once, whatever this
	// says. A time that is refused counts as the default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]{1,5}([.][0-9]{1,3})?(h|m|s|ms))+)$') && (duration(self) == duration('0s') || duration(self) >= duration('30s'))",message="spec.repair.replaceAfter must be a time of at least 30s, such as 5m, or 0 for never",messageExpression="'spec.repair.replaceAfter is \"' + self + '\"; it must be a time of at least 30s, such as 5m, or 0 for never'"
	ReplaceAfter *metav1.Duration `json:"replaceAfter,omitempty"`
}

// BudgetPolicy says whether the operator keeps a PodDisruptionBudget.
type BudgetPolicy string

// The budget policies.
const (
	// The operator keeps a budget of a quorum of the voters.
	BudgetAuto BudgetPolicy = "Auto"
	// The operator keeps no budget.
	BudgetNone BudgetPolicy = "None"
)
