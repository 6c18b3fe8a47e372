package world

import (
	"fmt"
	"maps"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// World is the whole of it. Objects are what the API server holds; disks, processes and clusters are what is really
// there.
type World struct {
	Now     time.Time
	Steps   int // how often something happened by itself, or was left to
	Cluster facts.Identity
	Spec    facts.Desired

	// Nodes is how many there are, each for one member; 0 is enough for all. Where none is left, the scheduler says
	// that a rule keeps Pods apart, or Crowded. With Nowhere no node takes a member that was on none before.
	Nodes   int
	Crowded string
	Nowhere bool

	// Windows says when windows of maintenance are open, by the API server's clock; nil: the spec says so itself.
	Windows func(now time.Time) facts.Window
	// Unwanted is the member that a person asked to be replaced; empty for none.
	Unwanted string
	// drained are the UIDs of Pods whose nodes are drained.
	drained []string
	// Fenced is the member that a person wants stopped, on its volume; empty for none.
	Fenced string
	// Lead is who is to lead, because a person asked for it, and until when.
	Lead facts.Lead
	// Rotation is which CAs a person wants replaced.
	Rotation facts.Rotation
	// Given is the CA that a person has the spec name.
	Given givenCA
	// issuer is how that is, whether the spec names it or not.
	issuer givenCA

	// Broken names settings whose Pods cannot start, such as an image that does not exist.
	Broken map[facts.Settings]bool
	// Withdrawn names StorageClasses that are gone: of these no volume is made any more.
	Withdrawn map[string]bool
	// NeverServes names settings with which a process runs and never serves. With those of Unheard it serves its peers,
	// and neither the operator nor a client can connect. Whoever restarts an unheard one takes it from nobody.
	NeverServes, Unheard map[facts.Settings]bool
	// Violations of invariants. Empty is the point of it all.
	Violations []Violation
	// Log is what happened, one line each, for a failure to be read.
	Log []string

	// Deeds are what happened by the seed.
	Deeds []Deed

	script    Script // what happens in the place of what the seed draws; nil for that
	refusing  bool   // Kubernetes admits no new Pod
	seed      uint64
	questions map[question]int // how often each was asked in this step
	serial    int
	requested int                  // EtcdRestores
	recreated int                  // how often the cluster was
	replaced  int                  // how often its CA was, by anybody
	given     int                  // CAs that a person had
	firstCA   string               // the CA that the cluster was made with
	madeAt    map[string]time.Time // CAs
	hasRolled bool                 // a person asked for another CA
	hasTurned bool                 // a person asked for another mode of TLS
	// a person wrote a CA into the Secret, which may cut members off from each other
	hasForeignCA bool
	started      int // processes
	objects      objects
	past         []objects       // what a stale cache may still show
	specs        []facts.Desired // and what a user asked for then
	disks        map[string]*disk
	procs        map[string]*process // by Pod UID
	clusters     map[etcdutil.ID]*cluster
	stores       map[facts.WantedBackup]*store
	nodesFull    bool                 // no node takes a Pod that holds a place
	sealed       map[etcdutil.ID]bool // members whose kubelet knows the seal
	recordLost   bool                 // a person deleted the peer Service at least once
	// a directory was emptied before its kubelet knew the seal: the one window that is left
	unsealedLoss bool
	// the first cluster ID of this incarnation that was written down; it never changes
	bootstrapped etcdutil.ID
	moves        map[string]int    // how often the cluster moved, by EtcdRestore
	approved     map[string]string // on what the cluster moved, by incarnation
	ended        map[string]bool   // incarnations that a move ended
	served       map[string]bool   // incarnations that were written down as a cluster
	spent        map[string]bool   // approvals, with their EtcdRestore, from before the cluster last went back
	revision     int64             // the highest one that clients of this object were served
	ledger       ledger
	trouble      trouble
}

// objects is the API server's part: plain values, so that a copy is a snapshot.
type objects struct {
	bootstrap record.Bootstrap
	claim     string             // the install that claims the cluster on the peer Service
	made      map[string]bool    // Services and Secrets that are not a member's
	beside    caSecret           // and what it holds beside that
	trusts    map[string]trustIn // by member: the CAs that its certificates name; never changed in place
	asked     map[string]string  // by member: the CA that signs what the issuer was asked; never changed in place
	caOwner   string             // UID of the object that the CA says it belongs to
	ca        string             // the CA that the CA's Secret holds
	secrets   map[string]string  // by member: the CA that its certificates are of
	budget    int
	pods      map[string]pod
	volumes   map[string]volume

	collected map[string]bool // what the garbage collector has yet to take, by kind and name

	preflight *facts.Preflight       // never changed in place
	restores  map[string]restoreTask // by member
	defrags   map[string]facts.DefragPod
	requests  []facts.Request // EtcdRestores; never changed in place
}

type pod struct {
	facts.Pod
	seen     facts.Flags // the flags as the kubelet last saw them
	initial  []etcdutil.NamedURL
	cutOff   bool           // its node does not answer: once the Pod is to go, it stays
	disk     string         // UID of what holds the data: the volume's, or the Pod's own
	storage  facts.Storage  // where that is
	made     facts.Settings // what it was really made from; its annotations may say otherwise by now
	compared string         // the process whose copy of the data was compared
	claim    string         // the install that it says looks after the cluster, where its data is in it
}

type volume struct {
	facts.Volume
	owner string // UID of the object that it says it belongs to
	claim string // the install that it says looks after the cluster

	kept      facts.Cause // why it was put aside; NoCause while it is a member's
	keptSince time.Time

	isHalfGoing  bool   // of what is going, the claim of the log alone
	isHalfMade   bool   // and a person made another one in its place
	pool         string // of the node that it is on
	isUnlabelled bool   // the label that says of which cluster it is was taken off
	isReleased   bool   // its owner is as deletionPolicy Delete wants it
}

// New is an empty world in which a person just created a cluster.
func New(seed uint64, spec facts.Desired) *World {
	if !spec.TLS {
		spec.Transport = etcdutil.TransportPlain
	}
	return &World{
		Now:         time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		Cluster:     facts.Identity{Namespace: "default", Name: "demo", UID: "uid-1", Operator: "steward"},
		Spec:        spec,
		Broken:      map[facts.Settings]bool{},
		Withdrawn:   map[string]bool{},
		NeverServes: map[facts.Settings]bool{},
		Unheard:     map[facts.Settings]bool{},
		seed:        seed,
		questions:   map[question]int{},
		objects: objects{
			made: map[string]bool{}, ca: ownCA, secrets: map[string]string{}, trusts: map[string]trustIn{},
			pods: map[string]pod{}, volumes: map[string]volume{}, restores: map[string]restoreTask{},
			defrags: map[string]facts.DefragPod{},
		},
		firstCA:  ownCA,
		madeAt:   map[string]time.Time{ownCA: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
		disks:    map[string]*disk{},
		procs:    map[string]*process{},
		clusters: map[etcdutil.ID]*cluster{},
		stores:   map[facts.WantedBackup]*store{},
		sealed:   map[etcdutil.ID]bool{},
		moves:    map[string]int{},
		approved: map[string]string{},
		served:   map[string]bool{},
		ended:    map[string]bool{},
		spent:    map[string]bool{},
		ledger:   newLedger(),
	}
}

// Spec3 is the usual wish: so many members of one version, with volumes and TLS.
func Spec3(size int) facts.Desired {
	return facts.Desired{
		Size: size, StorageBytes: 8 << 30, TLS: true, Retain: true, HasBudget: true, ReplaceAfter: 5 * time.Minute,
		KeepVolumes: 10 * time.Minute, ClientUser: "demo-client",
		Settings: facts.Settings{Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}, Inputs: "a"},
	}
}

func (o objects) clone() objects {
	o.bootstrap.Names = append([]string(nil), o.bootstrap.Names...)
	o.bootstrap.Volumes = maps.Clone(o.bootstrap.Volumes)
	o.made, o.secrets, o.collected = maps.Clone(o.made), maps.Clone(o.secrets), maps.Clone(o.collected)
	o.pods, o.volumes, o.restores = maps.Clone(o.pods), maps.Clone(o.volumes), maps.Clone(o.restores)
	o.defrags = maps.Clone(o.defrags)
	return o
}

func (w *World) uid(kind string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", kind, w.serial)
}

func (w *World) logf(format string, args ...any) {
	w.Log = append(w.Log, fmt.Sprintf(format, args...))
}

// remember keeps a few snapshots of the objects, for a cache to lag behind.
func (w *World) remember() {
	const kept = 6
	w.past = append(w.past, w.objects.clone())
	w.specs = append(w.specs, w.Spec)
	if len(w.past) > kept {
		w.past, w.specs = w.past[1:], w.specs[1:]
	}
}
