package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdClusterStatus is what the operator last saw and what it wants to do next. It is written for people and tools; the
// operator decides nothing from it, and it may be wiped at any time.
type EtcdClusterStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of; -1 before the first look.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Available, Degraded, UpToDate; Reconciling and Stalled are present only while True.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// NextStep is what the operator wants to do next, or what it waits for.
	// +optional
	NextStep *NextStep `json:"nextStep,omitempty"`

	// Size is the number of voting members that there are.
	// +optional
	Size int32 `json:"size"`

	// ReadyMembers is the number of voting members that answered just now and are up to date with the leader.
	// +optional
	ReadyMembers int32 `json:"readyMembers"`

	// UpdatedMembers is the number of members that run with the settings of this spec.
	// +optional
	UpdatedMembers int32 `json:"updatedMembers"`

	// Selector selects members' Pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// Version is the lowest etcd version that a member runs.
	// +optional
	Version string `json:"version,omitempty"`

	// TargetVersion is the etcd version that is asked for.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// ClusterID is etcd's own identity of the cluster, in hex. It never changes without a restore.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// Incarnation names the life of the cluster: from a bootstrap or restore to the next.
	// +optional
	Incarnation string `json:"incarnation,omitempty"`

	// RestoredFrom is the backup that this life of the cluster began with; absent
	// when it began empty.
	// +optional
	RestoredFrom *RestoredFrom `json:"restoredFrom,omitempty"`

	// DeletionPolicy is the policy that volumes follow as they are now.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Leader is the name of the member that leads.
	// +optional
	Leader string `json:"leader,omitempty"`

	// DBSize is the size of the largest member's database, rounded.
	// +optional
	DBSize *resource.Quantity `json:"dbSize,omitempty"`

	// Members are the members of the cluster, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Members []MemberStatus `json:"members,omitempty"`

	// Quorum says how many failures the cluster survives now.
	// +optional
	Quorum *QuorumStatus `json:"quorum,omitempty"`

	// Endpoints are the URLs that clients connect to.
	// +optional
	// +listType=atomic
	Endpoints []string `json:"endpoints,omitempty"`

	// ClientSecretRef names the Secret with ca.crt, tls.crt and tls.key for clients; absent without TLS.
	// +optional
	ClientSecretRef *SecretReference `json:"clientSecretRef,omitempty"`

	// Evidence is what is known of the data that a restore would give up: present while quorum is lost or an EtcdRestore
	// names the cluster.
	// +optional
	Evidence *EvidenceStatus `json:"evidence,omitempty"`
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// Name of the Secret.
	Name string `json:"name"`
}

// NextStep is what the operator wants to do next, or what it waits for.
type NextStep struct {
	// Rule is the rule that spoke; the rules are listed in docs/rules.md.
	Rule string `json:"rule"`
	// Verdict is Act, Wait, Refuse or Settled.
	Verdict string `json:"verdict"`
	// Reason is one CamelCase word for machines.
	Reason string `json:"reason"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when this rule began to say this.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
}

// MemberStatus is one member as it was last seen.
type MemberStatus struct {
	// Name of the member, of its Pod and of its volume.
	Name string `json:"name"`
	// ID is etcd's identity of the member, in hex; empty before it is in the member list.
	// +optional
	ID string `json:"id,omitempty"`
	// Role is voter or learner; empty when it is not in the member list.
	// +optional
	Role string `json:"role,omitempty"`
	// Version of etcd that the member runs.
	// +optional
	Version string `json:"version,omitempty"`
	// Healthy is true when the member answered just now, as part of this cluster.
	Healthy bool `json:"healthy"`
	// PodName is the member's Pod, when there is one.
	// +optional
	PodName string `json:"podName,omitempty"`
	// NodeName is the node that the Pod runs on.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// DBSize is the size of the database file; written when it moved by a tenth of the quota.
	// +optional
	DBSize *resource.Quantity `json:"dbSize,omitempty"`
	// DBSizeInUse is the part of it that is in use.
	// +optional
	DBSizeInUse *resource.Quantity `json:"dbSizeInUse,omitempty"`
	// CertificateExpiry is when the member's certificate ends; it is renewed long before.
	// +optional
	CertificateExpiry *metav1.Time `json:"certificateExpiry,omitempty"`
	// Reason says in one word why the member is not healthy.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// QuorumStatus says how many failures the cluster survives now.
type QuorumStatus struct {
	// Margin is the number of further voters that may fail before writes stop; negative when they have stopped.
	Margin int32 `json:"margin"`
}

// RestoredFrom is a backup that a cluster began with.
type RestoredFrom struct {
	// Key is the name of the snapshot in its store.
	Key string `json:"key"`

	// Revision is the revision of the old cluster that the backup holds. The new
	// cluster counts on from a billion above it.
	Revision int64 `json:"revision"`

	// EtcdVersion is the version of etcd that wrote it.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
}
