package facts

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// A restore in place never writes to a volume that a member lived on. The next incarnation of the cluster is restored
// beside the one that serves, on new volumes under names that were never used; then the bootstrap record moves to it.
// The incarnation that ends is kept.

// Request is an EtcdRestore that names the cluster.
type Request struct {
	Name         string
	ID           string    // its UID and what its source asks for: an incarnation that came of it says so
	Created      time.Time // the older of two goes first
	Source       record.Source
	WantedBackup WantedBackup // of SourceBackup; its Fault speaks for every source
	Survivor     string       // of SourceSurvivor: the member
	Bump         int64        // by how much revisions are raised
	IsBumpFixed  bool         // the EtcdRestore says so; otherwise they are raised by more where that is needed
	Approval     string       // the digest of the evidence that it was approved on; empty without an approval
	DeletesOld   bool         // the volumes of former incarnations are given up, once this one serves
}

// WantedBackup is the backup that the spec asks to begin with. The zero value asks for an empty cluster.
type WantedBackup struct {
	Hash  string // of the canonical form of what names it
	Fault string // a sentence, when it names nothing that could be begun with; empty otherwise
	Later bool   // with a fault: it ends by itself, as that of a backup that is still being taken
	// OneNode: the store is a claim that one node mounts at a time. What reads it has to run there, so one member
	// does, and the others join that one
	OneNode bool
}

// FirstMembers is how many members an incarnation of the wanted size begins with.
func (w WantedBackup) FirstMembers(size int) int {
	if w.OneNode {
		return min(size, 1)
	}
	return size
}

// Inquiry is what a preflight is to find out: whether a cluster that is to run this etcd can begin with the wish, on
// volumes of this size.
type Inquiry struct {
	WantedBackup
	Version etcdutil.Version
	Bytes   int64
}

// Inquiry is what has to be known before a bootstrap.
func (o Observation) Inquiry() Inquiry {
	wish := o.Desired.Restore
	wish.OneNode = false // no preflight says so
	return Inquiry{WantedBackup: wish, Version: o.Desired.Newest(), Bytes: o.Desired.StorageBytes}
}

// Preflight is a Pod that looks at a backup before anything is made.
type Preflight struct {
	Task
	Asked Inquiry
	Found record.Origin // what it found, once it succeeded
}

// RestorePod is a Pod that restores a backup on the volume of one first member, before that member's own Pod exists.
type RestorePod struct {
	Task
	Incarnation string
	Settings    Settings // what it was made from: the etcd whose tools it runs
	// Holds: the volume was restored before this Pod was made. It holds the member's place: see HoldsPlace
	Holds    bool
	Unwanted string // why its node takes no such Pod any more; empty where it does, and where nodes may not be read
}

// Task is a Pod that runs to its end once.
type Task struct {
	UID         string
	Created     time.Time
	Phase       Phase     // Pending as long as one of its first steps runs
	Started     bool      // a container of it has run
	Terminating bool      //
	GoneBy      time.Time // when a terminating Pod should be gone; zero otherwise
	HeldBy      string    // the finalizers of a terminating Pod that ended, by its kubelet's word; empty otherwise
	Finished    time.Time // when it ended; zero while it did not, or when nothing says
	Waiting     string    // why a container or the scheduler waits
	Message     string    // what Kubernetes says about it
	OtherImage  bool      // it waits for an image, and made now it would wait for another one
	Step        string    // the container that runs: fetch, restore or activate; empty when none does
	Done, Total int64     // bytes that the step has moved, and is to move; zero when it does not say
	Reason      string    // in one word of its own why it failed; empty when it had none
	Failure     string    // its own last words, when it failed; empty when it had none
}

// WhyFailed is what is known of why the Pod failed.
func (t Task) WhyFailed() string {
	switch {
	case t.Failure != "":
		return t.Failure
	case t.Message != "":
		return t.Message
	}
	return "its Pod ended without a word"
}

// Unmarked are the volumes of former incarnations on which nothing says so yet.
func (o Observation) Unmarked() []VolumeRef {
	var out []VolumeRef
	for _, r := range o.FormerMembers() {
		if r.Volume != nil && r.Volume.Superseded == "" {
			out = append(out, r.VolumeRef())
		}
	}
	return out
}

// WhyKeepFormer says why the volume of a former incarnation is kept, or "".
func (o View) WhyKeepFormer(r Replica) string {
	switch {
	case r.Pod != nil || r.Restoring != nil:
		return "a Pod still uses it"
	case r.Volume.Superseded == "" || r.Volume.Incarnation == o.Bootstrap.Incarnation:
		return "it is not marked as a volume of a previous incarnation"
	case o.Bootstrap.ClusterID == 0 || !o.Membership.Known ||
		o.Membership.ClusterID != o.Bootstrap.ClusterID || o.Margin() < 0:
		return "what took its place does not serve"
	case !slices.ContainsFunc(o.Requests, func(request Request) bool {
		return request.DeletesOld && o.IsEndedBy(request.ID, r.Volume)
	}):
		return "no EtcdRestore asks to delete it"
	}
	return ""
}

// incarnationOfRequest is the incarnation that came of a request, or "".
func (o Incarnation) incarnationOfRequest(id string) string {
	if id == "" {
		return ""
	}
	if o.Bootstrap.Restore == id {
		return o.Bootstrap.Incarnation
	}
	for _, past := range o.Bootstrap.Former {
		if past.Restore == id {
			return past.Incarnation
		}
	}
	return ""
}

// Members that serve are stopped only once the next ones have a place. A volume may be tied to a node that takes its
// member no more: it is full, tainted, or another member has to be alone there. Kubernetes' scheduler alone knows, so a
// Pod is scheduled beside each volume by the member's rules, for the amounts that the member asks for.

// NeedsPlaces reports whether the places of the next members are held before the cluster switches over. Without a
// backup an incarnation is followed only where its quorum is lost: nothing that serves is stopped.
func (o Incarnation) NeedsPlaces() bool { return o.Bootstrap.Next.Source == record.SourceBackup }

// HoldsPlace reports that a node takes a member of the next incarnation, made from the settings that are written on its
// volume, and has that volume mounted.
func (r Replica) HoldsPlace() bool {
	p := r.Restoring
	return p != nil && p.Holds && p.Phase == PodRunning && !p.Terminating && p.Unwanted == "" &&
		r.Volume != nil && p.Settings == r.Volume.Settings
}

// IsPreparing reports whether another incarnation is on its way.
func (o Incarnation) IsPreparing() bool { return !o.Bootstrap.Next.IsZero() }

// Namesake is a member under a name of the next incarnation; nil when there is none. Where the record was lost while
// nobody answered, nobody could say which names were used, and a name of both could be counted for neither.
func (o View) Namesake() *etcdutil.Member {
	list := o.Membership.LastKnown
	if o.HasQuorum() {
		list = o.Membership.Members
	}
	for i, m := range list {
		name, _ := etcdutil.MemberFromPeerURL(FirstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		if slices.Contains(o.Bootstrap.Next.Names, name) {
			return &list[i]
		}
	}
	return nil
}

// Asking is the same world, in which the spec asks for the backup of the request.
func (o View) Asking(request Request) View {
	o.Desired.Restore = request.WantedBackup
	o.Cluster.Created = request.Created // since when it is tried
	return o
}

// HasTraceOf reports whether anything that can be seen is of this incarnation.
func (o View) HasTraceOf(incarnation string) bool {
	isOf := func(r Replica) bool {
		return r.HasAnyOf(incarnation) || r.Volume != nil && r.Volume.Superseded == incarnation
	}
	return slices.ContainsFunc(o.EveryReplica(), isOf) || slices.ContainsFunc(o.Retained, func(r Retained) bool {
		return r.Incarnation == incarnation
	})
}

// EveryReplica is of this incarnation, of the one that is restored, and of those that ended.
func (o View) EveryReplica() []Replica {
	return slices.Concat(o.Members, o.Next.Members, o.FormerMembers())
}

// WhyServedOn says who would serve on when all members of this incarnation are stopped, or "". Where a quorum answers
// it is anybody whom the operator did not add, who can be removed first. Where none does nobody can be removed, and it
// is those who are a quorum by themselves, by what members of this incarnation remember; where none of them answers,
// nobody knows.
func (o View) WhyServedOn(gone func(Replica) bool) string {
	const others = "was not added by the operator, and would serve on beside what was restored. "
	isOurs := func(r Replica) bool { return r.Answer != nil && !gone(r) }
	switch strangers := o.strangersWithQuorum(); {
	case o.HasQuorum() && len(o.Membership.Strangers) > 0:
		return fmt.Sprintf("member %s "+others+"Remove it with etcdctl member remove, or delete the EtcdRestore",
			o.Membership.Strangers[0].ID)
	case o.HasQuorum() || !slices.ContainsFunc(o.Members, isOurs):
		return ""
	case len(o.Membership.LastKnown) == 0:
		return "members answer, and did not say just now who else is one"
	case len(strangers) > 0:
		return fmt.Sprintf("member %s, with others like it, "+others+
			"Remove it with etcdctl member remove. Where that cannot be done, delete the EtcdRestore, and begin "+
			"a new EtcdCluster with the backup", strangers[0].ID)
	}
	return ""
}

// WhyLeftOut says which member would not be known for one of this incarnation once that ended, or "". It would neither
// be marked nor stopped, and would pass for one of the next incarnation.
func (o View) WhyLeftOut() string {
	own := o.Bootstrap.Incarnation
	for _, r := range o.Members {
		if r.Volume != nil && r.IsRecorded() && r.Incarnation() != own {
			return fmt.Sprintf("the label of the volume of %s says that it is of another incarnation, so this member "+
				"would not be stopped with the others. Put the label back: kubectl label pvc %s -n %s --overwrite "+
				"etcdsteward.dev/incarnation=%s", r.Name, r.Name, o.Cluster.Namespace, own)
		}
	}
	return ""
}

// strangersWithQuorum are the members that were added by hand, where they are a quorum by themselves.
func (o View) strangersWithQuorum() []etcdutil.Member {
	voters, strangers := 0, []etcdutil.Member(nil)
	for _, m := range o.Membership.LastKnown {
		if m.Learner {
			continue
		}
		voters++
		if _, isOurs := etcdutil.MemberFromPeerURL(FirstURL(m), o.Cluster.Name, o.Cluster.Namespace); !isOurs {
			strangers = append(strangers, m)
		}
	}
	if len(strangers) < etcdutil.Quorum(voters) {
		return nil
	}
	return strangers
}

// KnownVoters are the members with a vote, where etcd says so just now.
func (o Incarnation) KnownVoters() []string {
	if !o.HasQuorum() {
		return nil
	}
	return Names(o.Voters())
}

// What is different about the beginning of an incarnation that a restore in place switched over to: the one before it
// ended, so it is never given up for another one without a person. What of it is lost before it serves is made up for
// later, as long as a quorum is left.

// IsZero reports that no backup is asked for.
func (w WantedBackup) IsZero() bool { return w == WantedBackup{} }

// Unfit says why a backup that was found is nothing that this cluster could live with, and what would help; empty when
// it is. Where a cluster is there already, what helps is another one beside it.
func (o View) Unfit(origin record.Origin) string {
	switch why := etcdutil.WhyNotBegin(origin.Version, o.Desired.Newest()); {
	case origin.IsZero():
		return ""
	case why != "":
		minor := origin.Version.MinorString()
		if o.IsInPlace() {
			return fmt.Sprintf("%s: create another EtcdCluster with it in spec.bootstrap.restore and spec.version of "+
				"%s, or another EtcdRestore of a backup that fits", why, minor)
		}
		return fmt.Sprintf("%s: set spec.version to %s.x, or name another backup", why, minor)
	case origin.AuthEnabled && !o.Desired.Transport.HasCertificates():
		return "etcd's authentication is on in it, and without certificates the operator cannot look after its " +
			"members (spec.tls.mode is Disabled): set spec.tls.mode to Permissive"
	}
	return o.Desired.WhyNoRoom(origin)
}

// IsInPlace reports that what is restored is for an EtcdRestore, over a cluster that is there: nothing of its spec is
// to be bent for that.
func (o Incarnation) IsInPlace() bool { return o.Bootstrap.Restore != "" || o.CanBeFollowed() }

// IsFilled reports whether the first member has on its volume what the bootstrap begins with, if that is anything.
func (o Incarnation) IsFilled(r Replica) bool { return o.Bootstrap.Origin.IsZero() || r.IsRestored() }

// ApprovedNow is the EtcdRestore of that identity, if it quotes the evidence of this very observation and nothing came
// of it yet.
func (o View) ApprovedNow(id string) (Request, bool) {
	i := slices.IndexFunc(o.Requests, func(r Request) bool { return r.ID == id })
	if id == "" || i < 0 || !o.Approved[id] || o.CameOf(id) {
		return Request{}, false
	}
	return o.Requests[i], true
}

// CanBeFollowed reports whether there is an incarnation that another one can be restored beside: one whose identity is
// written down, or one that a restore in place switched over to and that never got so far.
func (o Incarnation) CanBeFollowed() bool {
	return o.Bootstrap.Exists() && !o.Bootstrap.Void && (o.Bootstrap.ClusterID != 0 || len(o.Bootstrap.Former) > 0)
}

// What one survivor of a lost quorum holds is asked of it while it runs. One that does not answer, because it was
// started without the others, has its data on its volume: it runs once, long enough to take in what it wrote last, is
// stopped, and is read there.

// FlushTime is how long a member runs alone before all that it ever committed is in its database: it replays its log at
// the start, and writes the database out ten times a second (etcd-io/etcd:server/storage/backend/backend.go
// defaultBatchInterval).
const FlushTime = 30 * time.Second

// Survivor is the member whose data the next incarnation begins with, or an empty replica.
func (o Incarnation) Survivor() Replica {
	if o.Bootstrap.Next.Survivor == "" {
		return Replica{}
	}
	return o.Find(o.Bootstrap.Next.Survivor)
}

// IsFlushed reports a member that ran for long enough, and is to be read on its volume.
func (o Incarnation) IsFlushed(r Replica) bool {
	return o.IsPreparing() && r.Name == o.Bootstrap.Next.Survivor && r.Volume != nil &&
		r.Volume.Flushed == o.Bootstrap.Next.Incarnation
}

// IsUnread reports a volume that was to get what a survivor says, and that got nothing before that one had to be read
// on its own.
func (o View) IsUnread(r Replica) bool {
	survivor := o.Survivor()
	return survivor.Name != "" && r.Volume != nil && !r.IsRestored() && !o.IsBeingRead() && !o.IsFlushed(survivor) &&
		o.HasFlushed(survivor)
}

// IsBeingRead reports whether what the survivor holds lies on its next volume already, or is on its way there.
func (o Observation) IsBeingRead() bool {
	return slices.ContainsFunc(o.Next.Members, func(r Replica) bool {
		return r.IsRestored() || r.Restoring != nil &&
			!r.Restoring.HasFailed()
	})
}

// HasFlushed reports a process that can only start from its own data, and has run for long enough without ever serving.
// Reading a long log may take minutes, in which nothing is written out.
func (o Observation) HasFlushed(r Replica) bool {
	return r.Answer == nil && r.HasLastingData() && !r.Pod.Terminating && r.Pod.NeverReady() &&
		r.Pod.Booted && o.Now.Sub(r.Pod.RunningSince) > FlushTime
}

// IsOvertaken reports that the cluster went on since an incarnation without a backup was promised, or may go on once
// its survivor is started again; or that a name of that incarnation turned out to be a member's. What was restored of
// it by then is of the past, also when the quorum is lost once more, by when the evidence is the same again.
func (o View) IsOvertaken() bool {
	l, r := o.Bootstrap.Next, o.Survivor()
	switch {
	case l.IsZero():
		return false
	case o.Namesake() != nil:
		return true
	case l.Source == record.SourceBackup:
		return false
	case o.HasQuorum():
		return true
	case o.IsFlushed(r):
		_, isApproved := o.ApprovedNow(l.Restore)
		return !isApproved || !o.IsQuorumGone()
	}
	return r.Answer != nil && l.Source == record.SourceSurvivor && r.Answer.Revision != l.Origin.Revision
}

// IsAsRestored reports whether the survivor holds what it held when that was restored: it says so, or it was stopped
// for it and never ran since.
func (o Incarnation) IsAsRestored() bool {
	r := o.Survivor()
	return o.IsFlushed(r) && r.Pod == nil || r.Answer != nil && r.Answer.Revision == o.Bootstrap.Next.Origin.Revision
}

// HasSucceeded reports whether the Pod did all that it was to do.
func (t Task) HasSucceeded() bool { return t.Phase == PodSucceeded }

// HasFailed reports whether the Pod ended without that.
func (t Task) HasFailed() bool { return t.Phase == PodFailed }
