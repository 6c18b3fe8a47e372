// Package changes is the closed set of effects that the operator may have on a cluster, each with its traits.
package changes

import (
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Change is one effect on one system, or one idempotent set of effects that cannot hurt. The set of changes is closed.
//
//sumtype:decl
type Change interface {
	traits() Traits
}

// Start says how a Pod is to be started.
type Start struct {
	Name     string
	Flags    facts.Flags
	Initial  []etcdutil.NamedURL // for FlagsBootstrap and FlagsJoin: the list to start with
	Settings facts.Settings
	Role     string // the role label it is bootstrapped with; only for sealed Pods
}

// Restoring is a restore Pod to make: it restores the bootstrap's backup on the volume of one first member.
type Restoring struct {
	Name     string              // of the member
	Initial  []etcdutil.NamedURL // the first members, which the restored data will know
	Settings facts.Settings

	Survivor string // the member whose data is restored there instead of a backup; empty for a backup
	Mounts   string // the volume of that member, where it does not run: read there instead of asked of it

	Holds bool // nothing is restored: it was, and the Pod holds the place of the member
}

// NewVolume is a volume to make, for one named member.
type NewVolume struct {
	Name     string
	Bytes    int64
	Settings facts.Settings
}

type (
	// TakeOver moves the claim on the cluster from that install to this one.
	TakeOver struct{ From string }

	// FollowPolicy puts the ownership of volumes and CAs as deletionPolicy says.
	FollowPolicy struct {
		Retain bool
		Items  []facts.DataRef
	}

	// AdoptData writes this cluster's UID on what an earlier cluster of this name left.
	AdoptData struct{ Items []facts.Retained }

	// BeginBootstrap creates the peer Service with this bootstrap record. It is created, never applied over. Its
	// cluster ID is known when the lost record of a living cluster is written anew.
	BeginBootstrap record.Bootstrap

	// StartPreflight creates the Pod that looks at the backup to begin with.
	StartPreflight struct{ Asked facts.Inquiry }

	// DeletePreflight deletes that Pod.
	DeletePreflight struct{ UID string }

	// RecordRestored writes on volumes that the backup of this incarnation lies there completely.
	RecordRestored struct {
		Incarnation string
		Volumes     []facts.VolumeRef
	}

	// DeleteRestores deletes restore Pods, which are named by their members.
	DeleteRestores struct{ Pods []facts.PodRef }

	// Bootstrap creates what is missing of a bootstrap, in this order: objects, members' Secrets, volumes; then it
	// writes into the bootstrap record which volumes these are; then restore Pods or members' Pods. So beside a Pod a
	// missing volume is a lost one.
	Bootstrap struct {
		Objects  []facts.Object
		Secrets  []string // names of members
		Volumes  []NewVolume
		Restores []Restoring
		Pods     []Start
	}

	// VoidBootstrap marks the bootstrap record as given up, so that every later pass knows.
	VoidBootstrap struct{ Incarnation string }

	// NextBootstrap replaces a voided bootstrap record, whose Pods and volumes are gone, by the next incarnation's.
	NextBootstrap struct {
		Voided string // the incarnation that ends
		BeginBootstrap
	}

	// BeginNext writes into the bootstrap record which incarnation is prepared beside the one that serves, and that the
	// ordinals below NextOrdinal are promised.
	BeginNext struct {
		From string // the incarnation that serves
		record.Next
		NextOrdinal int
	}

	// PrepareNext creates what is missing of that incarnation, in this order: members' Secrets, volumes, restore Pods.
	// It starts no member.
	PrepareNext struct {
		Incarnation string // of the next incarnation
		Secrets     []string
		Volumes     []NewVolume
		Restores    []Restoring
	}

	// DropNext takes that incarnation out of the bootstrap record again, once nothing is left of it.
	DropNext struct{ Incarnation string }

	// SwitchOver makes that incarnation the one that the bootstrap record is of. It is the point of no return: the
	// previous incarnation ends.
	SwitchOver struct {
		From, To string            // incarnations
		Volumes  map[string]string // the UIDs of the new first members' volumes, by name; empty when data is ephemeral
		Voters   []string          // who had a vote in the incarnation that ends; nil when that is not known

		Successors []Start // how its first members start
	}

	// GoBack makes the previous incarnation the one that the bootstrap record is of again, in the place of one that
	// never served.
	GoBack struct {
		From           string // the incarnation that never served
		Restore        string // the request for it
		BeginBootstrap        // the record of the previous incarnation, by what its volumes say
	}

	// MarkCurrent takes from volumes of the current incarnation the mark that another one took its place, and writes on
	// them that the cluster went back from that one.
	MarkCurrent struct {
		After   string // the incarnation that the cluster went back from
		Volumes []facts.VolumeRef
	}

	// MarkFlushed writes on a survivor's volume that all it holds is in its database, for the incarnation that begins
	// with it.
	MarkFlushed struct {
		Incarnation string // that it serves for
		Volume      facts.VolumeRef
	}

	// MarkFormer writes on volumes of former incarnations which incarnation took their place.
	MarkFormer struct {
		By      string // the incarnation that lives
		Volumes []facts.VolumeRef
	}

	// RecordBootstrap writes the cluster ID into the bootstrap record.
	RecordBootstrap struct{ ClusterID etcdutil.ID }

	// RecordMembers writes on volumes (or ephemeral Pods) which members live there.
	RecordMembers struct{ Members []MemberRecord }

	// SealPods patches Pods so that etcd can neither join nor bootstrap from an empty directory, and labels their role.
	SealPods struct{ Pods []Seal }

	// LabelRole sets or removes the role label of a sealed Pod.
	LabelRole struct {
		Pod  facts.PodRef
		Role string // empty removes it
	}

	// ApplyObjects creates or corrects Services, Secrets and the NetworkPolicy that are missing or drifted. It deletes
	// the NetworkPolicy where the spec asks for none any more.
	ApplyObjects struct {
		Objects []facts.Object
		Secrets []string // names of members
	}

	// MarkVolume writes on a volume why its member is to be removed, so that it is kept when that is done.
	MarkVolume struct {
		Volume facts.VolumeRef
		For    facts.Cause
	}

	// KeepVolume puts the volume of a removed member aside: from then on it belongs to no member. The time for which it
	// is kept begins, also of one that was put aside before.
	KeepVolume struct {
		Volume facts.VolumeRef
		For    facts.Cause
	}

	// SetBudget creates, changes or (0) deletes the PodDisruptionBudget.
	SetBudget struct{ MinAvailable int }

	// StartPods creates members' Pods on the data they have, or the first Pod of a learner.
	StartPods struct{ Pods []Start }

	// WriteSettings writes on volumes what their members' Pods are to be made from.
	WriteSettings struct {
		Volumes  []facts.VolumeRef
		Settings facts.Settings
		Rehearse bool // the members run: first make sure that Kubernetes would admit Pods made from these
	}

	// DressPods puts the labels and annotations that the spec asks for on Pods, in place.
	DressPods struct{ Pods []facts.PodRef }

	// RestoreInputs writes on a Pod again what it was made from, where somebody took that off.
	RestoreInputs struct {
		Pod      facts.PodRef
		Settings facts.Settings
	}

	// ResizePod gives a Pod that runs the CPU and memory of these settings, and writes on it that it was made from
	// them. All else of them it was made from already.
	ResizePod struct {
		Pod      facts.PodRef
		Settings facts.Settings
	}

	// EvictPod stops a member on purpose, within the disruption budget, once Kubernetes would admit its successor.
	EvictPod struct {
		Pod       facts.PodRef
		Successor Start
		// the budget would refuse it, for Pods that Kubernetes does not call ready although etcd in them is: the Pod is
		// deleted, and the guard alone says whether the members can spare it
		PastBudget bool
	}

	// DeletePods deletes Pods that ended, never started, or belong to no member.
	DeletePods struct{ Pods []facts.PodRef }

	// DeleteVolumes deletes volumes that belong to no member.
	DeleteVolumes struct{ Volumes []facts.VolumeRef }

	// DeleteSecret deletes the certificates of a member that is gone, and no other Secret of that name.
	DeleteSecret struct{ Name, UID string } // of the member; of the Secret

	// PrepareMember promises a name in the bootstrap record, which never gives it again, and creates the Secret and the
	// volume of the member to be added.
	PrepareMember struct {
		Volume NewVolume
		Secret bool
	}

	// AddLearner adds a learner to the member list.
	AddLearner struct{ Name string }

	// Promote makes a learner a voter.
	Promote struct {
		Name string
		ID   etcdutil.ID
	}

	// MoveLeader hands leadership from one voter to another.
	MoveLeader struct {
		From, To     string
		FromID, ToID etcdutil.ID
	}

	// DisarmAlarms takes back alarms that etcd raised.
	DisarmAlarms struct{ Alarms []facts.Alarm }

	// AppendEntries adds entries to raft's log that change no key, until the leader has applied this many, or one where
	// that is zero. So etcd writes a snapshot of what was applied before sooner, and a member that got one serves.
	AppendEntries struct{ Until uint64 }

	// EnableDowngrade has etcd lower the cluster version, and let members of this minor take the place of the others.
	EnableDowngrade struct{ Minor etcdutil.Version }

	// CancelDowngrade ends that. While one is enabled, etcd lets no new member join.
	CancelDowngrade struct{ Minor etcdutil.Version }

	// RemoveMember takes a member out of the list. A promise of its name ends before that.
	RemoveMember struct {
		Name string
		ID   etcdutil.ID
		// what takes its place: whether Kubernetes would admit that is tried first. Zero where nothing does, or where
		// it is there
		Successor NewVolume
		Frees     bool // its own volume is deleted then, which makes room for another one
	}
)

// MemberRecord is a record to write, on this volume or (ephemeral data) on this Pod.
type MemberRecord struct {
	Name      string
	VolumeUID string
	PodUID    string
	Record    record.Member
}

// Seal is a Pod to seal, with what is said of it by the same patch.
type Seal struct {
	Pod      facts.PodRef
	Role     string // empty leaves it as it is
	LeadAway bool   // the role is taken off
	Process  string // whose copy of the data needs no comparison any more; empty leaves that as it is
}
