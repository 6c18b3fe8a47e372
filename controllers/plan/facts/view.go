package facts

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// View is an observation with the one incarnation of it that is looked at. The guard reads it as it is, the rules with
// how each member is judged.
type View struct {
	Observation
	Incarnation
	Approved map[string]bool // the requests, by ID, whose approval quotes the evidence of this observation
}

// On is the view of one incarnation.
func (o Observation) On(in Incarnation) View { return View{Observation: o, Incarnation: in} }

// IsAsleep reports a cluster that sleeps, or is about to: that is written down, and spec.size is still 0.
func (o View) IsAsleep() bool { return o.Bootstrap.Asleep && o.Desired.Sleep }

// LastKnownVoters are the members that the cluster had as far as anything left says: a survivor's own list, with who
// joined since by what is written on volumes; else these alone, with the certificates; else the bootstrap record.
func (o View) LastKnownVoters(gone func(Replica) bool) []Replica {
	var out []Replica
	listed := map[string]bool{}
	for _, m := range o.Membership.LastKnown {
		name, ok := etcdutil.MemberFromPeerURL(FirstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		listed[name] = true
		if ok && !m.Learner {
			out = append(out, o.Find(name))
		}
	}
	if len(out) > 0 {
		return append(out, Filter(o.Members, func(r Replica) bool {
			return !listed[r.Name] && o.isVoterByRecord(r) &&
				!gone(r)
		})...)
	}
	out = Filter(o.Members, func(r Replica) bool { return o.isVoterByRecord(r) || o.isBereft(r) })
	if len(out) == 0 {
		out = o.BootstrapReplicas()
	}
	return out
}

// isBereft reports a member of which nothing is left but its certificates. Those of a member that was removed go before
// the next name is promised, so this one was not. Who was promised last may never have had a vote.
func (o View) isBereft(r Replica) bool {
	hasSecret := r.Secret.State == ObjectCurrent || r.Secret.State == ObjectDrifted
	ordinal, isFirst := o.OrdinalOf(r.Name), slices.Contains(o.Bootstrap.Names, r.Name)
	wasGiven := isFirst || r.Name != o.Bootstrap.Promised && ordinal >= o.Bootstrap.FirstOrdinal(o.Cluster.Name) &&
		ordinal < o.Bootstrap.NextOrdinal
	return hasSecret && !r.Ephemeral && r.Volume == nil && o.Bootstrap.ClusterID != 0 && wasGiven &&
		!o.isOfFormer(r.Name)
}

// OwnIncarnations are those that this object may have begun, by their counters.
func (o Observation) OwnIncarnations() []string { return incarnationsOf(o.Cluster.UID) }

func incarnationsOf(uid string) []string {
	const voidedAtMost = 64
	out := make([]string, voidedAtMost)
	for counter := range out {
		out[counter] = IncarnationID(uid, counter)
	}
	return out
}

// IncarnationID names one incarnation of a cluster: a short hash of the object's UID and a counter.
func IncarnationID(uid string, counter int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", uid, counter)
	return fmt.Sprintf("%08x", uint32(h.Sum64()^h.Sum64()>>32))
}

// OrdinalOf is the number in a member's name; 0 where there is none.
func (o Observation) OrdinalOf(name string) int {
	ordinal, _ := etcdutil.Ordinal(o.Cluster.Name, name)
	return ordinal
}

// IsQuorumGone reports that the members whose data is left are no quorum, and that none of them serves where the
// operator cannot see it.
func (o View) IsQuorumGone() bool {
	if o.HasQuorum() || o.IsServedUnseen() {
		return false
	}
	voters := o.LastKnownVoters(o.IsGone)
	left := Filter(voters, func(r Replica) bool { return !o.IsGone(r) })
	return len(left) < len(voters) && len(left) < etcdutil.Quorum(len(voters))
}

// BudgetFor is minAvailable for so many voters: a quorum of them and of those that were added by hand, whose Pods it
// does not count. An only voter has one while it is known that it may stay on its node. Then a drain is seen, and a new
// member follows it elsewhere.
func BudgetFor(o View, voters int) int {
	if !o.Desired.HasBudget || voters < 1 || voters == 1 && !o.mayStay() {
		return 0
	}
	return etcdutil.Quorum(voters + len(o.Membership.VotingStrangers()))
}

// mayStay reports an only voter of which it is known that it may stay on its node.
func (o View) mayStay() bool {
	voters := o.Voters()
	return len(voters) == 1 && voters[0].Pod != nil && voters[0].Pod.Drain.IsKnown && voters[0].Pod.Drain.Why == ""
}

// NewBytes is the size of a new member's volume: that of the spec, or the largest that a voter has, whose data it may
// have to hold. Those that the spec wants smaller do not count.
func (o View) NewBytes() int64 {
	largest := o.Desired.StorageBytes
	for _, r := range o.Voters() {
		isToShrink := r.Volume != nil && r.Volume.isTooLarge(o.Desired)
		if r.Volume != nil && !r.Volume.IsUnbound() && !isToShrink {
			largest = max(largest, r.Volume.Room())
		}
	}
	return largest
}

// SmallestVolume is the member whose claim asks for least; nil where none has one. A tool or a person may have made
// volumes larger than the spec asks for.
func SmallestVolume(members []Replica) *Replica {
	members = Filter(members, func(r Replica) bool { return r.Volume != nil })
	if len(members) == 0 {
		return nil
	}
	smallest := slices.MinFunc(members, func(a, b Replica) int { return cmp.Compare(a.Volume.Bytes, b.Volume.Bytes) })
	return &smallest
}

// IsMadeForOther reports a replica whose volume was never made, while the spec asks for another class of either kind, a
// smaller volume or another one for its write-ahead log by now. No process ever ran without its volume, so there is no
// data to lose.
func (o View) IsMadeForOther(r Replica) bool {
	v := r.Volume
	return v != nil && !v.Terminating && v.IsUnbound() && o.Desired.Fault == "" && !r.MayHaveRun() &&
		(v.MadeFor != o.Desired.StorageClass || v.Bytes > o.NewBytes() || v.WAL.isMadeForOther(o.Desired.WAL) ||
			v.isMadeForOtherAttributes(o.Desired))
}

// LacksVolume reports a replica without a volume that it could start on.
func (o View) LacksVolume(r Replica) bool {
	return r.Volume == nil || r.Volume.Terminating || r.Volume.IsSpoilt() || o.IsMadeForOther(r)
}

// MayRebirth reports whether the replica is a first member that was interrupted, with the volume it was bootstrapped
// on, before a quorum of first members was recorded. Until then none was sealed, and no client was ever led to one.
func (o View) MayRebirth(r Replica) bool {
	if o.Membership.Known || o.Bootstrap.ClusterID != 0 || r.IsRecorded() ||
		!slices.Contains(o.Bootstrap.Names, r.Name) ||
		!o.IsFilled(r) {
		return false
	}
	return r.Ephemeral || r.Volume != nil && !o.HasLostVolume(r)
}

// IsOverRetained reports whether a cluster is to begin, or to be resumed, where an earlier one left data. What lies
// beside a cluster that was bootstrapped under this very object is nothing to it.
func (o View) IsOverRetained() bool {
	return len(o.Retained) > 0 && !o.Bootstrap.Exists() && !slices.ContainsFunc(o.Members, o.IsBootstrappedHere)
}

// DataLeft names what may hold data of an earlier cluster of this name, or a backup to begin with; "" where there is
// neither. CAs hold no data.
func (o View) DataLeft() string {
	for _, r := range o.Retained {
		if !r.IsCA() {
			return r.String()
		}
	}
	for _, v := range o.Kept {
		return "PersistentVolumeClaim " + v.Name
	}
	for _, r := range o.EveryReplica() {
		if r.Volume != nil || r.Pod != nil || r.Restoring != nil {
			return "member " + r.Name
		}
	}
	if !o.Desired.Restore.IsZero() {
		return "spec.bootstrap.restore"
	}
	return o.BackupLeft
}

// BeginsEmpty reports a cluster that a person asks to begin without data, where no data is left, and CAs are of the
// earlier cluster that the person named. Taken over they name this one, so that it is asked once.
func (o View) BeginsEmpty() bool {
	isOther := func(r Retained) bool { return r.Owner != o.Desired.BeginEmpty }
	return o.Desired.BeginEmpty != "" && len(o.Retained) > 0 && !slices.ContainsFunc(o.Retained, isOther) &&
		o.DataLeft() == ""
}

// IsBootstrappedHere reports a recorded member of an incarnation that this very object began.
func (o Observation) IsBootstrappedHere(r Replica) bool {
	return r.IsRecorded() && slices.Contains(o.OwnIncarnations(), r.Incarnation())
}

// EndedWith names a member of a former incarnation that is of this etcd cluster and has another incarnation written on
// it than this one; "" where none has. An etcd cluster is of one incarnation, so a person changed one of the two: it
// ended, under both.
func (o Observation) EndedWith(cluster etcdutil.ID, incarnation string) string {
	for _, r := range o.FormerMembers() {
		if r.IsRecorded() && r.Record().ClusterID == cluster && r.Incarnation() != incarnation {
			return r.Name
		}
	}
	return ""
}

// OfNext is the view of the incarnation that a restore in place prepares.
func (o Observation) OfNext() View {
	in := o.Next
	in.Bootstrap, in.Membership.Why = o.Current.Bootstrap.Next.Bootstrap(), "nothing of it runs"
	if !o.Desired.NextSettings.IsZero() {
		o.Desired.Settings, o.Desired.Needs = o.Desired.NextSettings, etcdutil.NeedNothing
	}
	return o.On(in)
}

// FormerMembers are what is left of every former incarnation.
func (o Observation) FormerMembers() []Replica {
	var out []Replica
	for _, in := range o.Former {
		out = append(out, in.Members...)
	}
	return out
}

// HasLostVolume reports a first member whose volume, which was there, is not there any more.
func (o View) HasLostVolume(r Replica) bool {
	if r.Ephemeral || !o.Bootstrap.Begun {
		return false
	}
	v := r.Volume
	return v == nil || v.Phase == VolumeLost || v.Terminating || v.Stranded != "" ||
		o.Bootstrap.Volumes[r.Name] != v.UID
}

// IsRelabelled reports a first member on the very volume that the bootstrap record names, which is said to be of
// another incarnation: a person changed that.
func (o View) IsRelabelled(r Replica) bool {
	return r.Volume != nil && r.Volume.Incarnation != o.Bootstrap.Incarnation &&
		r.Volume.UID != "" && o.Bootstrap.Volumes[r.Name] == r.Volume.UID
}

// FirstEnd is when the first certificate ends that a member, a client or the operator has; zero where nothing tells.
func (o Observation) FirstEnd() time.Time {
	var ends []time.Time
	for _, object := range o.Objects {
		if !object.CA {
			ends = append(ends, object.NotAfter)
		}
	}
	for _, r := range o.Current.Members {
		ends = append(ends, r.Secret.NotAfter)
	}
	ends = slices.DeleteFunc(ends, time.Time.IsZero)
	if len(ends) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(ends, time.Time.Compare)
}

// Note is what a rule says that lets later rules act.
type Note struct {
	Rule, Reason, Message string
	NeedsHuman, Overdue   bool
	IsAnswer              bool // it tells a person what holds a request up
}

// PodRef is one Pod and no other of that name.
type PodRef struct{ Name, UID string }

// VolumeRef is one volume and no other of that name.
type VolumeRef struct{ Name, UID string }

// DataRef is a volume or a Secret that outlives the cluster, and no other of its name.
type DataRef struct{ Kind, Name, UID string }

// Values of the role label.
const (
	RoleVoter   = "voter"
	RoleLeaving = "leaving" // a voter that clients are led away from, before it is removed
	RoleCounted = "counted" // a voter that clients are not led to, and whose vote is needed: the budget counts it
	RoleLearner = "learner"
)
