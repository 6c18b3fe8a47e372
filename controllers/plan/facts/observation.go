// Package facts is what was observed of a cluster: plain values, and the questions about them that more
// than one of judgement, guard and rules asks. Nothing here judges a member or proposes a change.
package facts

import (
	"cmp"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Observation is everything Decide may know. It is a plain value: printable, and easy to write down in a test.
type Observation struct {
	// Now is the time by the API server's clock, as its last answer has it. Deadlines count from times that it wrote.
	Now       time.Time
	Ahead     time.Duration // of the clock of the operator's own machine: see IsPast and Latest
	Hashing   time.Duration // what members took of this look to say what they hold; zero where none was asked
	Cluster   Identity
	Desired   Desired
	ClaimedBy string     // namespace/name of the install that claims the cluster on the peer Service; empty for none
	DataClaim string     // the same by what the cluster's data says, on volumes or, without them, on Pods
	TakenOver time.Time  // when that install took the cluster over from another; zero when it never did
	Keeping   Lease      // of the install that looks after the cluster, where that is another one than this
	Preflight *Preflight // nil when no Pod looks at a backup to begin with
	// Services, CAs' and clients' Secrets, NetworkPolicy: what the cluster needs beside its members
	Objects []Object
	Budget  Budget
	// SelectedByName says that one of these still selects members by the name that Pods had in earlier releases
	SelectedByName bool
	// LoadBalancer are the addresses that the client Service got from its load balancer: IPs and host names, sorted
	LoadBalancer []string

	Auth Auth
	// EtcdClients of this cluster, by name. They are looked for only where certificates are to go
	AccessClients []string

	Current Incarnation
	// prepared beside the current one by a restore in place: nothing of it runs, and Current.Bootstrap.Next is its
	// record
	Next   Incarnation
	Former []Incarnation // ended by restores in place; nothing of them is a member

	Kept     []KeptVolume // of members that were replaced, in no list any more
	Astray   []DataRef    // volumes and Secrets of CAs whose owner is not as deletionPolicy asks
	Strays   []Stray      // what is left of volumes whose claim for the data is gone
	Answered []RequestRef // CertificateRequests that nothing waits for any more
	Requests []Request    // EtcdRestores that name this cluster, the oldest first
	// EtcdBackupSchedules that back this cluster up and are not suspended
	Schedules []Schedule
	// Proven is the newest backup that was restored and compared; nil when none is known. A restore begins above it.
	Proven *Backup
	// HeldUp is the newest EtcdBackup of the cluster that does not get on; nil when none is known. It is for display.
	HeldUp *HeldUp
	// Failed is the newest EtcdBackup of the cluster where that failed; nil otherwise. It is for display.
	Failed *FailedBackup
	// BackupLeft names a complete EtcdBackup of a cluster of this name while none is bootstrapped; empty where there is
	// none
	BackupLeft string
	History    History
	// Streaming names a Pod that may read a member's data for a backup now; empty where there is none
	Streaming string
	Retained  []Retained // what an earlier cluster of this name left behind, volumes first, each by name
	Refused   []Note     // rules whose change Kubernetes or etcd refused in this very pass: they give way
}

// Schedule is an EtcdBackupSchedule of the cluster.
type Schedule struct {
	Name     string
	UpToDate bool   // it has a verified backup of its last two runs
	New      bool   // it has not had two runs since it was created
	Never    bool   // none of its runs was complete so far; for display
	Failed   string // how its last run failed, by its own status, as sentences; empty where it did not; for display
}

// Backup is a backup of the cluster.
type Backup struct {
	Key       string // of the snapshot in its store
	ClusterID string // which a restore changes; empty where it is not known; for display
	Revision  int64
	Time      time.Time // when the snapshot started: what was written before is in it
	Largest   string    // which prefixes of keys take most, as a part of a sentence; for display
}

// HeldUp is an EtcdBackup that something holds up.
type HeldUp struct {
	Name    string
	Created time.Time
	Why     string // by its own status, in sentences
}

// FailedBackup is an EtcdBackup that failed.
type FailedBackup struct {
	Name    string
	Created time.Time
	Reason  string // by its own status
}

// Identity names the object that is looked after.
type Identity struct {
	Namespace, Name, UID string
	Operator             string // namespace/name of this install, which claims the cluster on the peer Service
	Created              time.Time
}

// Lease is what the replicas of an install elect their leader by. It tells whether any of them runs.
type Lease struct {
	Known   bool      // it could be read
	Why     string    // why it could not
	Renewed time.Time // by the API server's clock; zero when there is none
}

// keeperGone is longer than a leader goes on that cannot renew its Lease, and than an install takes to be replaced.
const keeperGone = 2 * time.Minute

// IsPast reports a time that is over by both clocks. What cannot be undone asks for that: no volume is deleted and no
// member replaced before its time because one of them is wrong, or one answer of an API server is.
func (o Observation) IsPast(at time.Time) bool {
	return !o.Now.Before(at) && !o.Now.Add(-o.Ahead).Before(at)
}

// Latest is the time by the clock that is ahead. What may have expired is judged by it.
func (o Observation) Latest() time.Time { return o.Now.Add(max(0, -o.Ahead)) }

// Keeper names the install that looks after the cluster: the one that claims it, or where none does the one that a
// person asks for, or the one that the data names, or else this one.
func (o Observation) Keeper() string {
	return cmp.Or(o.ClaimedBy, o.Desired.Operator, o.DataClaim, o.Cluster.Operator)
}

// IsAnothers reports a cluster that another install looks after. This one changes nothing of it.
func (o Observation) IsAnothers() bool { return o.Keeper() != o.Cluster.Operator }

// IsKeeperUp reports another install that is known to run.
func (o Observation) IsKeeperUp() bool {
	return o.Keeping.Known && o.Now.Sub(o.Keeping.Renewed) < keeperGone
}

// IsKeeperGone reports another install that is known not to run.
func (o Observation) IsKeeperGone() bool { return o.Keeping.Known && !o.IsKeeperUp() }

// Desired is what the user asks for.
type Desired struct {
	Size         int              // of the spec
	Settings     Settings         // of the next stop on the way to Target: what members are to run now
	NextSettings Settings         // as Settings, of the incarnation that a restore in place prepares; zero without one
	AtTarget     Settings         // as Settings, at the end of the way
	Target       etcdutil.Version // of the spec
	Needs        etcdutil.Need    // what keeps members at the stop
	// what the user asks of etcd that the stop's minor does not know, and members run without: flags, and feature gates
	LeftOut      string
	Held         Hold          // what keeps members at the minor that they run
	NoWay        string        // why members cannot be brought to Target; then Settings are the Target's
	GrownFrom    int64         // the quota that the spec names, where that of the members has grown; 0 where it has not
	StorageFrom  int64         // the size of volumes that the spec names, where a quota that grows needs more; else 0
	StorageBytes int64         // size of a new volume
	StorageClass string        // of a new volume, as Volume.MadeFor has it
	Attributes   string        // the VolumeAttributesClass of volumes; empty for none
	AccessMode   string        // of a new volume
	WAL          WAL           // of a new volume
	LeavesFirst  bool          // a member that another one follows goes before that joins
	SnapshotEach int64         // entries after which etcd writes a snapshot of raft's state; 0 for its default
	Auth         AuthWish      // what is asked of etcd's authentication
	ClientUser   string        // who a client is that uses the shared certificate
	Storage                    // of new members
	Retain       bool          // deletionPolicy
	HasBudget    bool          // a PodDisruptionBudget is wanted
	Paused       bool          //
	Deleting     bool          //
	Sleep        bool          // Size was 0: no member is to run. Size is then the number of voters that there are
	KeepVolumes  time.Duration // for how long the volume of a replaced member is kept; 0 not at all
	ReplaceAfter time.Duration // how long a member must be dead before it is replaced; 0 never
	Operator     string        // namespace/name of the install that is asked to look after it; empty for none
	Upkeep       Upkeep        // when members are defragmented
	Rotation     Rotation      // when CAs are replaced
	Window       Window        // when members that serve may be stopped for the spec
	Lead         Lead          // who is to lead, because a person asked for that a moment ago
	// UID of an earlier cluster of this name: where it left CAs alone, the cluster is to begin without its data
	BeginEmpty string
	Fault      string       // a sentence, when the spec itself is refused; empty otherwise
	Restore    WantedBackup // the backup to begin with; it counts at bootstrap only
	// TLS: certificates are kept, see KeepsCertificates. Transport is how the spec asks for members to be reached.
	TLS       bool
	Transport etcdutil.Transport
	// SpreadsOverZones: spec.pod itself wants members in different zones. The default of all clusters does not count.
	SpreadsOverZones bool
	// ExpandsByMove: a larger size moves members to new volumes, instead of expanding those that there are.
	ExpandsByMove bool
}

// Newest is the newest version that members may come to run: that of the spec.
func (d Desired) Newest() etcdutil.Version {
	if d.Target.IsZero() {
		return d.Settings.Version
	}
	return d.Target
}

// IsMetBy reports settings of the version and the transport that the spec asks for, and not only of a stop on the way.
func (d Desired) IsMetBy(c Settings) bool {
	return c == d.Settings && d.IsAtTarget() && c.Transport == d.Transport
}

// IsAtTarget reports that the next stop is the version of the spec.
func (d Desired) IsAtTarget() bool { return d.Target.IsZero() || d.Settings.Version == d.Target }

// ObjectState says how an object that the cluster needs stands.
type ObjectState string

// The states of an object.
const (
	ObjectCurrent     ObjectState = "Current"     // there, ours and as it should be
	ObjectAbsent      ObjectState = "Absent"      // not there
	ObjectDrifted     ObjectState = "Drifted"     // ours, but not as it should be; Detail says why
	ObjectTerminating ObjectState = "Terminating" // on its way out, with an earlier owner or by somebody's delete
	ObjectForeign     ObjectState = "Foreign"     // somebody else's: never adopted
)

// Object is one object that the cluster needs beside Pods and volumes.
type Object struct {
	Kind, Name string
	State      ObjectState
	CA         bool // the key that members' certificates are signed with: it cannot be made again while they live by it
	Detail     string
	HeldBy     string // the finalizers of one that is being deleted; empty otherwise
	// of the client Service: whether Kubernetes calls their Pods ready does not count, the role alone leads to members
	ByRole   bool
	Unmarked bool   // its labels or annotations have to be put right; what it holds is as State says
	UID      string // of a Secret with certificates that is ours; empty otherwise
	// of a CA, by fingerprints: the CA in its Secret, and the one that members trust by theirs; empty where
	// there is none. They are the same where members trust what it signs.
	Holds, Trusted string
	Port           Port      // of a CA
	CAs            CAs       // of a CA: all that its Secret holds; see trust.go
	Source         CASource  // of a CA: where the spec wants it from
	Awaits         Awaited   // of certificates: what others have yet to sign
	Names          Trust     // of certificates: the CAs beside them, which their holder trusts
	Made           Made      // of certificates: when the last of them was issued
	NotAfter       time.Time // end of the certificate in it; zero when there is none
}

// Budget is the PodDisruptionBudget.
type Budget struct {
	Object
	MinAvailable int // 0 when there is none
}

// Replica joins the member, the Pod and the volume of one name.
type Replica struct {
	Name       string
	Ordinal    int
	Storage                     // where its data is: see StorageOf
	IsUnwanted bool             // a person asked for a new member in its place
	ToFence    bool             // a person wants it stopped, and its volume kept: see IsFenced
	Member     *etcdutil.Member // nil when it is not in the list, or the list is not known
	Answer     *Answer          // nil when the member did not answer just now
	// what another etcd said at the address of its Pod, where no certificate proves who is asked
	Impostor  *Answer
	Pod       *Pod
	Volume    *Volume // nil as well when data is ephemeral
	Restoring *RestorePod
	// the Pod of the agent that has it defragmented, or had; nil where there is none
	Defragmenting *DefragPod
	Secret        Object // the member's certificates
}

// Answer is what a member said of itself in this pass.
type Answer struct {
	ID, ClusterID, Leader etcdutil.ID
	Version               etcdutil.Version
	Versions              Versions
	Revision              int64
	Applied               uint64 // raft index
	Learner               bool
	DBSize, DBSizeInUse   int64   // bytes
	Alarms                []Alarm // that it knows of, of whomever
	Snapshots             *uint64 // of raft's state that its process wrote; nil where that was not asked for
	Hash                  *Hash   // of its keys; nil unless copies have to be compared: see plan.AsksForHashes
}

// Versions are what a member says of its cluster and of its data. Each is a minor, as 3.6.0.
type Versions struct {
	Cluster   etcdutil.Version // that the members agreed on; zero where that was not asked for
	Storage   etcdutil.Version // of the format of its data; zero below 3.6, which does not say it
	Downgrade etcdutil.Version // to which a downgrade is enabled; zero while none is
}

// Phase is the phase of a Pod.
type Phase string

// The phases of a Pod.
const (
	PodPending   Phase = "Pending"
	PodRunning   Phase = "Running"
	PodSucceeded Phase = "Succeeded"
	PodFailed    Phase = "Failed"
)

// Flags says with which membership flags the next container of a Pod starts.
type Flags string

// The kinds of flags. Only FlagsBootstrap and FlagsJoin can start from an empty directory.
const (
	FlagsBootstrap Flags = "Birth"  // new, with the full list of the first members
	FlagsJoin      Flags = "Join"   // existing, with the list the learner was added to
	FlagsSealed    Flags = "Sealed" // existing, with only itself: starts from its own data or not at all
	// as Sealed, of an earlier release: etcd compares its copy of the data with those of its peers first
	FlagsComparing Flags = "Comparing"
	FlagsNone      Flags = "None" // stripped or foreign: etcd stops
)

// NeedData reports whether etcd starts from the data it has or not at all.
func (f Flags) NeedData() bool { return f == FlagsSealed || f == FlagsComparing }

// Drain is whether a Pod has to leave its node. The zero Drain is: that is not known.
type Drain struct {
	IsKnown bool
	Why     string    // as a part of a sentence; empty where it may stay
	Since   time.Time // zero where Kubernetes does not say it
	IsGoing bool      // the node itself is about to be deleted, by an autoscaler
}

// Pod is a member's process.
type Pod struct {
	UID            string
	Created        time.Time
	Phase          Phase
	Terminating    bool
	GoneBy         time.Time // when a terminating Pod should be gone, its grace period included; zero otherwise
	HeldBy         string    // the finalizers of a terminating Pod that ended, by its kubelet's word; empty otherwise
	Node           string
	Zone           string    // its node's, where Kubernetes says it on the Pod; for display
	NodeGone       string    // why its node will not come back; empty otherwise, and when nodes may not be read
	NodeUnheard    time.Time // since when its kubelet is not heard of; zero while it is, and when nodes may not be read
	NodeNotReady   string    // since when its node is not ready, and why in a word; empty otherwise; for display
	Drain          Drain     // whether it has to leave its node; of the members of a cluster of one
	Scheduled      bool
	UnplacedFrom   time.Time // since when no node takes it, by the scheduler's clock; zero once one does
	OtherScheduler bool      // than Kubernetes' own looks for its node: its words are not known
	Started        bool      // the etcd container has run in this Pod at least once
	Running        bool      // it runs now
	RunningSince   time.Time // when it last began to; zero while it does not run
	Booted         bool      // and by now it has read its log: its startup probe was answered
	Process        string    // names what runs; empty while nothing does
	Uncompared     bool      // it started from data that was not compared with the other members' since
	Ready          bool
	StatusAt       time.Time // when its status was last written, by the API server's clock; zero when that is not known
	ReadySince     time.Time // when Ready last changed; zero when never
	HeldUnready    bool      // something beside etcd in the Pod is not ready; Ready and ReadySince are etcd's alone
	Sidecars       []Sidecar // of spec.pod.sidecars, which the Pod was made with
	StartsAfter    string    // what starts before etcd and cannot: Waiting and Message tell of it; or empty
	Waiting        string    // why a container or the scheduler waits: ImagePullBackOff, Unschedulable …
	Message        string    // what Kubernetes says about it
	Exit           *Exit     // how the container last ended; nil when it never did
	Flags          Flags
	Role           string // voter, learner or empty
	Incarnation    string
	Settings       Settings
	Transport      etcdutil.Transport // how its process is reached, by the flags that it started with
	Record         record.Member      // of data in the Pod's emptyDir
	Undressed      bool               // labels or annotations of the spec are missing, or were taken back
	OtherImage     bool               // it waits for an image, and made now it would wait for another one
	Resize         Resize             // of the amounts in Settings; nothing where others changed the Pod's since
}

// Resize says what came of amounts of CPU and memory that a running Pod was given.
type Resize struct {
	State   ResizeState
	Message string    // the kubelet's
	Since   time.Time // by the kubelet's clock; zero where it says none
}

// ResizeState says how far the kubelet is with other amounts.
type ResizeState string

// The states of a resize.
const (
	ResizeNone       ResizeState = ""           // none was asked for, or it is done
	ResizeInProgress ResizeState = "InProgress" // the kubelet has yet to see it, or works on it
	ResizeDeferred   ResizeState = "Deferred"   // its node has no room now
	ResizeInfeasible ResizeState = "Infeasible" // its node never has room, or cannot change a Pod that runs
	ResizeFailed     ResizeState = "Failed"     // the kubelet tried and tries again
)

// Exit is how a container ended.
type Exit struct {
	Reason  etcdutil.ExitReason
	Code    int
	Message string // etcd's own words
	At      time.Time
}

// VolumePhase is the phase of a PersistentVolumeClaim.
type VolumePhase string

// The phases of a volume.
const (
	VolumePending VolumePhase = "Pending"
	VolumeBound   VolumePhase = "Bound"
	VolumeLost    VolumePhase = "Lost"
)

// Volume is what holds a member's data.
type Volume struct {
	UID         string
	Created     time.Time
	Phase       VolumePhase
	Terminating bool
	HeldBy      string // the finalizers of one that is terminating, beside Kubernetes' own of what is in use
	Incarnation string
	Settings    Settings // what the member's Pod is made from
	Bytes       int64    // requested size
	Capacity    int64    // what it has, as its status says; zero where that does not
	Growth      Growth
	Attributes  Attributes
	AskedBytes  int64 // the size that the spec asked for when it was made; zero where that is not written
	Record      record.Member
	Request     string // the Request.ID of the EtcdRestore that it was made for; empty for none
	Restored    string // the incarnation whose data was restored there from its backup, completely; empty when none was
	Superseded  string // the incarnation that a restore in place put in the place of this one's; empty when none did
	// the incarnation that the cluster went back from to the one of this volume; empty when it did from none
	GoesBackFrom string
	// the incarnation that this volume is to be read for: its member ran alone and wrote out all that it had
	Flushed    string
	RemovedFor Cause  // why its member is to be removed, or was; NoCause while nothing asks for that
	Backing    string // the PersistentVolume that it is bound to; empty while it is bound to none
	Class      string // its StorageClass, as the claim says; for display
	MadeFor    string // the StorageClass that the spec asked for when it was made; empty for the default one
	AccessMode string // that the spec asked for when it was made
	WAL        WAL    // the half that its member's write-ahead log has for itself
	Half       Half   // the claim of that half; zero where it is not there
	isLog      bool   // this is one of Claims, and stands for that claim
	// what became of that half, as a part of a sentence: it is gone, or another one has its place. Empty while all is
	// there. Such a volume is lost (Phase): etcd begins an empty log beside data whose own is gone.
	Torn string
	// why no node that can use it would take a Pod of the spec; empty where one may, and where that is not known
	Misplaced string
	// the directory of a node that it is, whose disk it shares; empty where it is a disk of its own, and where that is
	// not known; for display
	Directory string
	IsOwnDisk bool   // it is known to be no such directory; for display
	Unmade    string // why Kubernetes cannot make it, while its Pod waits for that; empty otherwise; for display
	Stranded  string // why the only node that can use it will not come back; empty otherwise
}

// Usage is whether Pods use a volume, as Kubernetes says since 1.37; zero where it does not.
type Usage struct {
	InUse       bool
	UnusedSince time.Time
}

// KeptVolume is the volume of a member that was replaced. It is kept for a while, so that a wrong judgement can be
// taken back.
type KeptVolume struct {
	Name, UID string
	Ordinal   int
	For       Cause
	ClusterID etcdutil.ID // of the member that was replaced; zero when that cannot be read
	Since     time.Time   // when it was put aside, by the operator's clock; zero when that cannot be read
	Usage     Usage       // for display
}
