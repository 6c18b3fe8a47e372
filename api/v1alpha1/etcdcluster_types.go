package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is one etcd cluster. Its spec says which members are wanted, its status which members exist.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,scope=Namespaced,shortName=etcd,categories={all,etcd,etcdsteward}
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,description="Voting members wanted"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyMembers`,description="Voting members that answer and are up to date with the leader"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,description="Lowest etcd version that a member runs"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether reads and writes are served"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.nextStep.reason`,description="What the operator does next, or waits for"
// +kubebuilder:printcolumn:name="Backup",type=date,JSONPath=`.status.lastProvenBackup.time`,description="Age of the newest backup that was restored and compared"
// +kubebuilder:printcolumn:name="Backup reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="BackedUp")].reason`,description="Reason of the condition BackedUp, in one word"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Leader",type=string,priority=1,JSONPath=`.status.leader`,description="Name of the leader"
// +kubebuilder:printcolumn:name="DB size",type=string,priority=1,JSONPath=`.status.dbSize`,description="Size of the largest member's database"
// +kubebuilder:printcolumn:name="Margin",type=integer,priority=1,JSONPath=`.status.quorum.margin`,description="Failures that the cluster survives now"
// +kubebuilder:printcolumn:name="Proven backup",type=string,priority=1,JSONPath=`.status.lastProvenBackup.key`,description="Name of that backup in its store"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",message="metadata.name must be at most 40 characters, lower-case letters, digits and '-', starting with a letter and not ending in '-'. Host names of members are made from it",messageExpression="'metadata.name is \"' + self.metadata.name + '\"; it must be at most 40 characters, lower-case letters, digits and \"-\", starting with a letter and not ending in \"-\". Host names of members are made from it'"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the cluster that is wanted.
	// +required
	Spec EtcdClusterSpec `json:"spec"`

	// Status is what the operator last saw and what it does next. The operator decides nothing from it.
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

// Rules that join two fields, and rules on what may not change, stand at EtcdClusterSpec and not at the fields.
// A rule at a field does not run when the field, or the object around it, is absent or has just been removed.
//
// A value with its default is bound by a list of one, [self.?a.orValue('b')].all(x, …): it is said once.
// CEL's estimate of costs knows no length behind an optional, and would call the rule too expensive without this.
// Rules run although a pattern refused the value. So they read no quantity with an exponent of many digits, which
// would take the API server minutes.

// EtcdClusterSpec is the cluster that is wanted.
//
// +kubebuilder:validation:XValidation:rule="self.?storage.ephemeral.hasValue() || [[self.?storage.size.orValue('8Gi'), self.?etcd.quotaBackendBytes.orValue('2Gi')].map(x, string(x)).map(x, !x.matches('[eE].{4}') && isQuantity(x), quantity(x))].all(v, v.size() < 2 || !v[0].isLessThan(v[1].add(v[1]).add(1073741824)))",message="spec.storage.size must be at least twice spec.etcd.quotaBackendBytes and 1Gi more, so that defragmentation and snapshots have room",messageExpression="[self.?storage.size.orValue('8Gi (the default)')].map(s, [self.?etcd.quotaBackendBytes.orValue('2Gi (the default)')].map(q, 'spec.storage.size is ' + string(s) + '; it must be at least twice spec.etcd.quotaBackendBytes, which is ' + string(q) + ', and 1Gi more, so that defragmentation and snapshots have room')[0])[0]",fieldPath=".storage.size"
// +kubebuilder:validation:XValidation:rule="self.?storage.ephemeral.medium.orValue(\"\") == \"\" || [[self.?pod.resources.limits.memory.orValue(\"\"), self.?etcd.quotaBackendBytes.orValue('2Gi')].map(x, string(x)).map(x, !x.matches('[eE].{4}') && isQuantity(x), quantity(x))].all(v, v.size() < 2 || !v[0].isLessThan(v[1].add(v[1]).add(1073741824)))",message="spec.pod.resources.limits.memory must be at least twice spec.etcd.quotaBackendBytes and 1Gi more, because data in memory counts against it",messageExpression="[self.?pod.resources.limits.memory.orValue('none')].map(m, [self.?etcd.quotaBackendBytes.orValue('2Gi (the default)')].map(q, 'spec.pod.resources.limits.memory is ' + string(m) + '; with spec.storage.ephemeral.medium Memory it must be at least twice spec.etcd.quotaBackendBytes, which is ' + string(q) + ', and 1Gi more, because the data counts against it')[0])[0]",fieldPath=".pod.resources"
// +kubebuilder:validation:XValidation:rule="[[self, oldSelf].map(c, c.?tls.mode.orValue('Managed'))].all(v, !v.exists(m, m == 'Managed') || !v.exists(m, m == 'Disabled'))",message="spec.tls.mode goes from Disabled to Managed, and back, by way of Permissive: clients move meanwhile",messageExpression="self.?tls.mode.orValue('Managed') == 'Managed' ? 'spec.tls.mode cannot go from Disabled to Managed at once: clients without TLS would be cut off. Set Permissive, move your clients, and then Managed' : 'spec.tls.mode cannot go from Managed to Disabled at once: clients with TLS would be cut off. Set Permissive, move your clients, and then Disabled'",reason=FieldValueForbidden,fieldPath=".tls"
// +kubebuilder:validation:XValidation:rule="!self.?maintenance.autoGrow.hasValue() || !self.?storage.ephemeral.hasValue()",message="spec.maintenance.autoGrow cannot be given together with spec.storage.ephemeral: nothing says how much room the data of a Pod may take. Set spec.etcd.quotaBackendBytes",reason=FieldValueForbidden,fieldPath=".maintenance"
// +kubebuilder:validation:XValidation:rule="!self.?bootstrap.restore.hasValue() || !self.?storage.ephemeral.hasValue()",message="spec.bootstrap.restore cannot be given together with spec.storage.ephemeral: a backup is restored to volumes before members start, and an ephemeral member has none",reason=FieldValueForbidden,fieldPath=".bootstrap"
// +kubebuilder:validation:XValidation:rule="self.?storage.ephemeral.hasValue() || self.?pod.securityContext.fsGroupChangePolicy.orValue(\"\") == 'Always' || [[self, oldSelf].map(c, c.?pod.securityContext).map(s, [s.?runAsUser.orValue(65532), s.?fsGroup.orValue(s.?runAsUser.orValue(65532))])].all(v, v[0][0] == v[1][0] || v[0][1] != v[1][1])",message="spec.pod.securityContext.runAsUser cannot change while fsGroup stays the same: the new user could not read the data. Change or remove fsGroup as well, or set fsGroupChangePolicy to Always",reason=FieldValueForbidden,fieldPath=".pod"
// +kubebuilder:validation:XValidation:rule="[[optional.of(self), oldSelf].map(c, c.?tls.mode.orValue('Managed') != 'Managed' && c.?service.type.orValue('ClusterIP') != 'ClusterIP' && c.?service.loadBalancerSourceRanges.orValue([]).size() == 0)].all(v, !v[0] || v[1])",optionalOldSelf=true,message="spec.service.type must be ClusterIP, or LoadBalancer with spec.service.loadBalancerSourceRanges, unless spec.tls.mode is Managed: others could read and change all data",messageExpression="[self.?service.type.orValue('ClusterIP')].map(t, 'spec.service.type is ' + t + ' while spec.tls.mode is ' + (self.tls.mode == 'Disabled' ? 'Disabled' : 'Permissive') + ': all who reach it could read and change all data. Set type LoadBalancer with spec.service.loadBalancerSourceRanges, or type ClusterIP. With spec.tls.mode Managed any type is allowed')[0]",reason=FieldValueForbidden,fieldPath=".service"
// +kubebuilder:validation:XValidation:rule="!self.?auth.enabled.orValue(false) || self.?tls.mode.orValue('Managed') == 'Managed'",message="spec.auth.enabled needs spec.tls.mode Managed: without certificates neither the operator nor clients could log in. Take spec.auth out, or set it to false, or set spec.tls.mode to Managed",reason=FieldValueForbidden,fieldPath=".auth"
// +kubebuilder:validation:XValidation:rule="self.size != 0 || !self.?storage.ephemeral.hasValue()",message="spec.size cannot be 0 with spec.storage.ephemeral: data in Pods goes with them. Take spec.storage.ephemeral out by the same edit: members move to volumes, and then the cluster sleeps. Or delete the EtcdCluster if its data may go",reason=FieldValueForbidden,fieldPath=".size"
type EtcdClusterSpec struct {
	// Size is the number of voting members: 1, 3, 5 or 7. 3 members survive the loss
	// of one, 5 of two, 7 of three; 1 survives none. Even numbers are refused: they
	// survive no more failures than one member less. 0 puts the cluster to sleep: no
	// member runs, and volumes, certificates and Services stay.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self in [0, 1, 3, 5, 7]",message="spec.size must be 1, 3, 5 or 7, or 0 to have the cluster sleep",messageExpression="'spec.size is ' + string(dyn(self)) + '; it must be 1, 3, 5 or 7, or 0 to have the cluster sleep' + (self % 2 == 0 ? '. An even number of members survives no more failures than one member less, and needs more of them to agree' : '')"
	Size int32 `json:"size"`

	// Version is the etcd version to run, such as "3.6.16". A leading "v" is
	// accepted. Versions that lose data are refused, and so are minors that the
	// operator does not know. The pre-release 3.8.0-alpha.0 is accepted for tests.
	// Another version is reached one member at a time, and one minor at a time, up
	// or down. It may be changed again on the way.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^v?((0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})[.](0|[1-9][0-9]{0,3})|3[.]8[.]0-alpha[.]0)$')",message="spec.version must be a released version of etcd with three numbers, such as 3.6.16",messageExpression="'spec.version is \"' + self + '\"; it must be a released version of etcd with three numbers, such as 3.6.16'"
	Version string `json:"version"`

	// Image says where the etcd image comes from. Default: gcr.io/etcd-development/etcd:v<version>, or what flags of
	// the operator say.
	// +optional
	Image *ImageSpec `json:"image,omitempty"`

	// Storage says where members keep their data. Default: a volume of 8Gi each, which stays when the cluster is
	// deleted.
	// +optional
	Storage *StorageSpec `json:"storage,omitempty"`

	// Etcd holds the settings of the etcd process.
	// +optional
	Etcd *EtcdSpec `json:"etcd,omitempty"`

	// Pod holds the settings of members' Pods.
	// +optional
	Pod *PodSpec `json:"pod,omitempty"`

	// InheritedMetadata is put on every object that is made for this cluster: Pods,
	// Services, volumes, Secrets, the disruption budget, the NetworkPolicy and Jobs
	// of backups. It follows in place, and a key that is taken out here goes
	// from them again. What others put on them stays. spec.pod, spec.service and
	// spec.tasks win over it. An EtcdBackup of a schedule gets it when it is made,
	// and keeps that.
	// +optional
	InheritedMetadata *InheritedMetadata `json:"inheritedMetadata,omitempty"`

	// Tasks holds the settings of the Pods that take, test, prune and restore backups
	// of this cluster.
	// +optional
	Tasks *TaskSpec `json:"tasks,omitempty"`

	// Service holds the settings of the Service that clients connect to, which has the name of the cluster, and the
	// address families of both Services.
	// +optional
	Service *ServiceSpec `json:"service,omitempty"`

	// NetworkPolicy has the operator keep a NetworkPolicy that lets only certain Pods
	// and addresses connect to members. Members, the operator, and the backups and
	// restores of this cluster are always let in. Default: none is kept. It takes
	// effect where the network of the Kubernetes cluster enforces NetworkPolicies.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// TLS says how connections are protected. Default: mode Managed.
	// +optional
	TLS *TLSSpec `json:"tls,omitempty"`

	// Auth says whether etcd's authentication is on. Default: people turn it on and off
	// with etcdctl.
	// +optional
	Auth *AuthSpec `json:"auth,omitempty"`

	// Access says which other namespaces may have EtcdClients of this cluster. Default:
	// none.
	// +optional
	Access *AccessSpec `json:"access,omitempty"`

	// Disruption says how the cluster is protected from drains and evictions.
	// +optional
	Disruption *DisruptionSpec `json:"disruption,omitempty"`

	// Repair says when a dead member is replaced.
	// +optional
	Repair *RepairSpec `json:"repair,omitempty"`

	// Maintenance says when members that serve may be restarted, and when they reclaim
	// the space that they do not use.
	// +optional
	Maintenance *MaintenanceSpec `json:"maintenance,omitempty"`

	// Backups says what backups this cluster should have. The condition BackedUp and
	// the alerts about backups follow it. It makes no backups: an EtcdBackupSchedule
	// does.
	// +optional
	Backups *BackupsSpec `json:"backups,omitempty"`

	// Bootstrap says which data a new cluster starts with. Default: none.
	// +optional
	Bootstrap *BootstrapSpec `json:"bootstrap,omitempty"`

	// Paused stops all changes by the operator. It still observes and reports. With
	// deletionPolicy Retain it still keeps volumes and CAs from being deleted with
	// the cluster. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Mode is Enforce (default) or DryRun. With DryRun the operator publishes the next step in status.nextStep and
	// changes nothing.
	// +optional
	// +kubebuilder:validation:Enum=Enforce;DryRun
	Mode Mode `json:"mode,omitempty"`
}

// BootstrapSpec says which data a new cluster starts with. It has no effect on an existing cluster.
type BootstrapSpec struct {
	// Restore names the backup that is restored: all its keys, users and leases.
	// Revisions are raised by a billion, so that clients notice. The cluster begins
	// with the minor version of the backup, which must not be above that of
	// spec.version, and goes on from there. The operator checks the backup first,
	// before it creates anything. Existing volumes of this name take precedence.
	// +optional
	Restore *RestoreSource `json:"restore,omitempty"`
}

// Mode says whether the operator carries out the steps that it decides on.
type Mode string

// The modes.
const (
	// The operator carries out each step.
	ModeEnforce Mode = "Enforce"
	// The operator publishes each step and changes nothing.
	ModeDryRun Mode = "DryRun"
)

// TLSSpec says how connections are protected.
//
// +kubebuilder:validation:XValidation:rule="!has(self.extraSANs) || size(self.extraSANs) == 0 || self.?mode.orValue('Managed') != 'Disabled'",message="spec.tls.extraSANs needs spec.tls.mode Managed or Permissive: without TLS there is no certificate to put them in",fieldPath=".extraSANs"
// +kubebuilder:validation:XValidation:rule="!has(self.clientCA) && !has(self.peerCA) || self.?mode.orValue('Managed') != 'Disabled'",message="spec.tls.clientCA and spec.tls.peerCA need spec.tls.mode Managed or Permissive: without TLS there is nothing to sign"
// +kubebuilder:validation:XValidation:rule="!has(self.clientCA) || !has(self.peerCA) || !has(self.clientCA.secretRef) || !has(self.peerCA.secretRef) || self.clientCA.secretRef.name != self.peerCA.secretRef.name",message="spec.tls.clientCA and spec.tls.peerCA must name two Secrets: with one CA for both, anyone who has the certificate of a client could connect as a member",fieldPath=".peerCA"
type TLSSpec struct {
	// Mode is Managed (default), Permissive or Disabled. Managed: certificates from two CAs that
	// the operator keeps for this cluster: its own, or those of clientCA and peerCA. Disabled: no encryption and no
	// authentication. Permissive: as Managed among members, and clients connect with TLS or without, while you move
	// them from one to the other. An existing cluster changes while it serves, one step at a time: between Disabled
	// and Permissive, or between Permissive and Managed. Unless it is Managed, spec.service.type NodePort is refused,
	// and LoadBalancer without spec.service.loadBalancerSourceRanges. A cluster that is so already goes on.
	// +optional
	// +kubebuilder:validation:Enum=Managed;Permissive;Disabled
	Mode TLSMode `json:"mode,omitempty"`

	// ExtraSANs are further names by which clients reach the members: IP addresses and DNS names, such as
	// "etcd.example.com", "*.etcd.example.com" or "203.0.113.7". The certificate of each member's client port has them
	// beside those of the Services, and beside the addresses of the load balancer with spec.service.type LoadBalancer.
	// It follows in place, without a restart, within two minutes. Not with mode Disabled. At most 32. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="isIP(self) || self.matches('^([*][.])?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])*[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="spec.tls.extraSANs must be IP addresses and DNS names in lower case, such as etcd.example.com",messageExpression="'spec.tls.extraSANs names \"' + self + '\"; each must be an IP address, or a DNS name in lower case, such as etcd.example.com or *.etcd.example.com'"
	ExtraSANs []string `json:"extraSANs,omitempty"`

	// ClientCA is a CA of your own for clients: it signs what members show to clients, and what clients show. It comes
	// from a Secret, or is that of an issuer. Anyone who has a certificate of it is a client. A change is followed
	// while members run: each is restarted twice. Not with mode Disabled. Default: a CA that the operator makes.
	// +optional
	ClientCA *CASource `json:"clientCA,omitempty"`

	// PeerCA is a CA of your own for members among themselves. Anyone who has a certificate of it can be a member. It
	// has to be another one than that for clients. A change is followed as that of clientCA is. Not with mode Disabled.
	// Default: a CA that the operator makes.
	// +optional
	PeerCA *CASource `json:"peerCA,omitempty"`
}

// CASource says where a CA comes from: a Secret with a CA and its key, or an issuer that signs each certificate.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.issuerRef)",message="a CA comes from a Secret or from an issuer: set secretRef or issuerRef, and not both"
type CASource struct {
	// SecretRef names a Secret of this namespace with the keys tls.crt and tls.key: a CA, which may be an intermediate
	// one, and its key. ca.crt may hold the CAs above it. The operator keeps a copy, and signs with it.
	// +optional
	SecretRef *CASecretReference `json:"secretRef,omitempty"`

	// IssuerRef names an issuer of cert-manager. It signs each certificate, by a CertificateRequest that the operator
	// makes, and the key of the CA stays with it. Members and clients trust the CA that signs directly, and none above
	// it. Anyone for whom this issuer signs is a client, or a member.
	// +optional
	IssuerRef *CAIssuerReference `json:"issuerRef,omitempty"`
}

// CAIssuerReference names an issuer of cert-manager.
type CAIssuerReference struct {
	// Name is the name of the issuer.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="issuerRef.name must be the name of an issuer",messageExpression="'issuerRef.name is \"' + self + '\"; it must be the name of an issuer'"
	Name string `json:"name"`

	// Kind is Issuer, which lies in the namespace of the cluster, ClusterIssuer, or a kind of another group. Default:
	// Issuer.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="issuerRef.kind must be a kind such as Issuer or ClusterIssuer",messageExpression="'issuerRef.kind is \"' + self + '\"; it must be a kind such as Issuer or ClusterIssuer'"
	Kind string `json:"kind,omitempty"`

	// Group is the group of the API that has this kind. Default: cert-manager.io.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="issuerRef.group must be a group of the API such as cert-manager.io",messageExpression="'issuerRef.group is \"' + self + '\"; it must be a group of the API such as cert-manager.io'"
	Group string `json:"group,omitempty"`
}

// CASecretReference names a Secret with a CA.
type CASecretReference struct {
	// Name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="secretRef.name must be the name of a Secret of this namespace",messageExpression="'secretRef.name is \"' + self + '\"; it must be the name of a Secret of this namespace'"
	Name string `json:"name"`
}

// TLSMode says where certificates come from.
type TLSMode string

// The TLS modes.
const (
	// Certificates come from two CAs that the operator keeps for the cluster.
	TLSManaged TLSMode = "Managed"
	// As Managed among members. Clients connect with TLS or without.
	TLSPermissive TLSMode = "Permissive"
	// No certificates: connections are neither encrypted nor authenticated.
	TLSDisabled TLSMode = "Disabled"
)

// DisruptionSpec says how the cluster is protected from drains and evictions.
type DisruptionSpec struct {
	// PodDisruptionBudget is Auto (default) or None. Auto: a budget that keeps a
	// quorum of the voters. When the node of an only member is drained, the budget
	// holds the drain back until a new member has its data on another node. None:
	// the operator keeps no budget.
	// +optional
	// +kubebuilder:validation:Enum=Auto;None
	PodDisruptionBudget BudgetPolicy `json:"podDisruptionBudget,omitempty"`
}

// RepairSpec says when a dead member is replaced.
type RepairSpec struct {
	// ReplaceAfter is how long a member must be dead before it is replaced. Dead
	// means: the operator cannot reach it and its Pod is not ready, while the others
	// have quorum. A time such as 10m or 1h30m, at least 30s; 0 means never. Default
	// 5m. A member whose data is certainly lost is replaced at once. A refused time
	// counts as the default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]{1,5}([.][0-9]{1,3})?(h|m|s|ms))+)$') && (duration(self) == duration('0s') || duration(self) >= duration('30s'))",message="spec.repair.replaceAfter must be a time of at least 30s, such as 5m, or 0 for never",messageExpression="'spec.repair.replaceAfter is \"' + self + '\"; it must be a time of at least 30s, such as 5m, or 0 for never'"
	ReplaceAfter *metav1.Duration `json:"replaceAfter,omitempty"`

	// KeepVolumes is how long the volume of a replaced member is kept, so that
	// a person can take a wrong judgement back. A time such as 24h; 0 deletes
	// the volume at once. Default 24h. The volume of a member whose data
	// differs from that of the others is kept until a person deletes it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]{1,5}([.][0-9]{1,3})?(h|m|s|ms))+)$')",message="spec.repair.keepVolumes must be a time such as 24h, or 0 to keep none",messageExpression="'spec.repair.keepVolumes is \"' + self + '\"; it must be a time such as 24h, or 0 to keep none'"
	KeepVolumes *metav1.Duration `json:"keepVolumes,omitempty"`
}

// MaintenanceSpec says when members that serve may be restarted, and when they reclaim the space that they do not use.
type MaintenanceSpec struct {
	// Window says when members that serve may be restarted or replaced for a change of
	// the spec, and be defragmented for what spec.maintenance.defragment says.
	// Repairs, alarms, certificates and the size never wait for it. Default: at any
	// time.
	// +optional
	Window *WindowSpec `json:"window,omitempty"`

	// Defragment says when members are defragmented, beside where that ends the alarm
	// NOSPACE, and where a person asks for it. Default: at no other time.
	// +optional
	Defragment *DefragmentSpec `json:"defragment,omitempty"`

	// CompactOnNoSpace has the operator compact the history of keys where the
	// database reached its quota and what is in use leaves no room. Default true.
	// +optional
	CompactOnNoSpace *bool `json:"compactOnNoSpace,omitempty"`

	// KeepHistory is how much of the history stays then: a client that watched at
	// some time since finds all that came after. A time such as 10m, at most 1h; 0 keeps
	// none. Default 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]{1,5}([.][0-9]{1,3})?(h|m|s|ms))+)$') && duration(self) <= duration('1h')",message="spec.maintenance.keepHistory must be a time of at most 1h, such as 5m, or 0 to keep none",messageExpression="'spec.maintenance.keepHistory is \"' + self + '\"; it must be a time of at most 1h, such as 5m, or 0 to keep none'"
	KeepHistory *metav1.Duration `json:"keepHistory,omitempty"`

	// AutoGrow lets the operator raise the quota of the database where keys fill it,
	// and expand volumes that have no room for that.
	// Default: it does not.
	// +optional
	AutoGrow *AutoGrowSpec `json:"autoGrow,omitempty"`
}

// WindowSpec says when a window of maintenance opens, and for how long. No member is stopped once it closed. A member
// that was stopped before starts again.
type WindowSpec struct {
	// Schedule says when a window opens, in the format of a CronJob, such as
	// "0 2 * * 0". Also @daily and the like. It must name a time in every year.
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="spec.maintenance.window.schedule must name no time zone: put it into timeZone beside it",messageExpression="'spec.maintenance.window.schedule is \"' + self + '\"; it must name no time zone: put it into timeZone beside it'"
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *(@[a-z]+|[^ @]+( +[^ ]+){4}) *$') || self.contains('TZ')",message="spec.maintenance.window.schedule must have five fields or be a word such as @daily",messageExpression="'spec.maintenance.window.schedule is \"' + self + '\"; it must have five fields (minute, hour, day of month, month, day of week), such as \"0 2 * * 0\", or be a word such as @daily'"
	Schedule string `json:"schedule"`

	// Duration is for how long a window is open: a time such as 2h, from 10m to 168h.
	// One member is restarted after the other, so a window that is too short for all
	// of them leaves the others for the next.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(h|m|s))+$') && duration(self) >= duration('10m') && duration(self) <= duration('168h')",message="spec.maintenance.window.duration must be a time from 10m, so that one member can be restarted, to 168h, such as 2h",messageExpression="'spec.maintenance.window.duration is \"' + self + '\"; it must be a time from 10m, so that one member can be restarted, to 168h, such as 2h'"
	Duration metav1.Duration `json:"duration"`

	// TimeZone is the time zone of the schedule, such as Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self != 'Local'",message="spec.maintenance.window.timeZone must be the name of a time zone, such as Europe/Berlin",messageExpression="'spec.maintenance.window.timeZone is \"' + self + '\"; it must be the name of a time zone, such as Europe/Berlin'"
	TimeZone string `json:"timeZone,omitempty"`
}

// AutoGrowSpec says how far the quota of the database may grow.
type AutoGrowSpec struct {
	// Limit is the largest quota, such as 8Gi, at most 32Gi. Where keys fill the
	// database, the operator restarts one member at a time with more than
	// spec.etcd.quotaBackendBytes. A volume must have twice the quota and 1Gi more:
	// one with less is expanded first, where spec.storage.expand is InPlace.
	// It changes no field of the spec. Members keep a quota that has grown, also when
	// keys are deleted. Remove autoGrow to lower it.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^(.*[eE][+-]?[0-9]{1,2}|.*[^0-9.]|[^eE]*)$`
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') || quantity(string(self)).compareTo(quantity('16Mi')) >= 0 && quantity(string(self)).compareTo(quantity('32Gi')) <= 0",message="spec.maintenance.autoGrow.limit must be from 16Mi to 32Gi",messageExpression="'spec.maintenance.autoGrow.limit is ' + string(self) + '; it must be from 16Mi to 32Gi'"
	Limit resource.Quantity `json:"limit"`
}

// DefragmentSpec says when members are defragmented: one after the other, the leader last. Those that would give less
// than a tenth of their database back are left out. A member answers nothing meanwhile, and clients are led to the
// others.
type DefragmentSpec struct {
	// Schedule says when, in the format of a CronJob, such as "0 3 * * 6". Also
	// @daily and the like. What has not begun two hours later, because a member was
	// not well, waits for the next time. Default: at no fixed time.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="spec.maintenance.defragment.schedule must name no time zone: put it into timeZone beside it",messageExpression="'spec.maintenance.defragment.schedule is \"' + self + '\"; it must name no time zone: put it into timeZone beside it'"
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *(@[a-z]+|@every +[0-9.a-z]+|[^ @]+( +[^ ]+){4}) *$') || self.contains('TZ')",message="spec.maintenance.defragment.schedule must have five fields or be a word such as @daily",messageExpression="'spec.maintenance.defragment.schedule is \"' + self + '\"; it must have five fields (minute, hour, day of month, month, day of week), such as \"0 3 * * *\", or be a word such as @daily'"
	Schedule string `json:"schedule,omitempty"`

	// TimeZone is the time zone of the schedule, such as Europe/Berlin. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self != 'Local'",message="spec.maintenance.defragment.timeZone must be the name of a time zone, such as Europe/Berlin",messageExpression="'spec.maintenance.defragment.timeZone is \"' + self + '\"; it must be the name of a time zone, such as Europe/Berlin'"
	TimeZone string `json:"timeZone,omitempty"`

	// Reclaimable is the share of a member's database file, in percent, from which on
	// it is defragmented: what it does not use. 10 to 90, such as 50. Files below
	// 100Mi are left alone. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=90
	Reclaimable *int32 `json:"reclaimable,omitempty"`
}

// BackupsSpec says what backups a cluster should have.
type BackupsSpec struct {
	// Expected is false for a cluster that needs no backups: it has no condition
	// BackedUp, and no alert about backups fires. Default: true, and false with
	// spec.storage.ephemeral.
	// +optional
	Expected *bool `json:"expected,omitempty"`

	// MaxAge is how old the newest proven backup may be. The age counts from the
	// moment when its snapshot started. A time such as 26h; 0 means any age. Default:
	// as old as the EtcdBackupSchedules of the cluster promise, and 48h where there
	// is none. A refused time counts as the default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]{1,5}([.][0-9]{1,3})?(h|m|s|ms))+)$') && (duration(self) == duration('0s') || duration(self) >= duration('1m'))",message="spec.backups.maxAge must be a time of at least 1m, such as 26h, or 0 for any age",messageExpression="'spec.backups.maxAge is \"' + self + '\"; it must be a time of at least 1m, such as 26h, or 0 for any age'"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
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

// InheritedMetadata are labels and annotations for what is made for a cluster.
type InheritedMetadata struct {
	// Labels that every object gets. Refused: the operator's prefix etcdsteward.dev/,
	// and those of app.kubernetes.io/ that the operator sets (name, instance,
	// managed-by and component).
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/component']))",message="spec.inheritedMetadata.labels must not contain labels that the operator sets: the prefix etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63)",message="spec.inheritedMetadata.labels must have values of at most 63 characters"
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations that every object gets. Refused: the operator's prefix
	// etcdsteward.dev/, and what loosens seccomp or AppArmor of Pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('etcdsteward.dev/') && !k.contains('.etcdsteward.dev/'))",message="spec.inheritedMetadata.annotations must not contain the prefix etcdsteward.dev/: the operator sets those"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('seccomp.security.alpha.kubernetes.io/') && (!k.startsWith('container.apparmor.security.beta.kubernetes.io/') || self[k] == 'runtime/default' || self[k].startsWith('localhost/')))",message="spec.inheritedMetadata.annotations must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the value runtime/default or localhost/<profile>"
	Annotations map[string]string `json:"annotations,omitempty"`
}
