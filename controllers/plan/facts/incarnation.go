package facts

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Incarnation is one continuous history of the cluster's data: from a bootstrap or a restore to the next.
type Incarnation struct {
	Bootstrap  record.Bootstrap // as read from the peer Service; zero when none was
	Membership Membership
	Members    []Replica // sorted by ordinal; one for each name seen as member, Pod, volume or Secret
}

// Membership is etcd's own list, asked linearizably.
type Membership struct {
	Known     bool // false means "could not ask", which is not "empty"
	ClusterID etcdutil.ID
	Leader    etcdutil.ID
	Members   []etcdutil.Member
	Conflict  string // members answer with different cluster IDs: which, and with what
	// members with a peer URL that is not ours; one added by hand under a URL of ours is taken for the member of that
	// name
	Strangers []etcdutil.Member
	LastKnown []etcdutil.Member // what a survivor without quorum remembers; evidence, never ground for a removal
	Why       string            // why it is not known: the first error
	Denied    bool              // because etcd lets nobody in who has no user, or not this one
}

// VotingStrangers are those with a vote, which counts of our voters leave out.
func (m Membership) VotingStrangers() []etcdutil.Member {
	return Filter(m.Strangers, func(s etcdutil.Member) bool { return !s.Learner })
}

// Find returns the replica of that name, or an empty one.
func (o Incarnation) Find(name string) Replica {
	r, _ := Find(o.Members, name)
	return r
}

// Find returns the replica of that name in a list, and whether it is there.
func Find(in []Replica, name string) (Replica, bool) {
	i := slices.IndexFunc(in, func(r Replica) bool { return r.Name == name })
	if i < 0 {
		return Replica{Name: name}, false
	}
	return in[i], true
}

// Voters are the replicas with a vote.
func (o Incarnation) Voters() []Replica { return Filter(o.Members, Replica.IsVoter) }

// HealthyVoters are the voters that answered just now.
func (o Incarnation) HealthyVoters() []Replica {
	return Filter(o.Voters(), func(r Replica) bool { return r.IsHealthy(o.Membership) })
}

// Learners are the replicas in the member list without a vote.
func (o Incarnation) Learners() []Replica { return Filter(o.Members, Replica.IsLearner) }

// Margin is the number of further voters that may fail before writes stop; negative when they have stopped.
func (o Incarnation) Margin() int {
	return len(o.HealthyVoters()) - etcdutil.Quorum(len(o.Voters()))
}

// IsAlive reports whether the cluster was bootstrapped: its identity is on the bootstrap record or on any volume. What
// a lagging operator recorded of a bootstrap after that was given up does not count: nobody was sealed, and no client
// was led there.
func (o Incarnation) IsAlive() bool {
	return o.Bootstrap.ClusterID != 0 || !o.Bootstrap.Void && slices.ContainsFunc(o.Members, Replica.IsRecorded)
}

// HasSwitchedOver reports whether a restore in place switched over to this incarnation.
func (o Incarnation) HasSwitchedOver() bool { return len(o.Bootstrap.Former) > 0 }

// HasQuorum reports that a quorum of this very cluster answers. Other data where a member has its own may serve by
// itself, and speaks for nobody here.
func (o Incarnation) HasQuorum() bool {
	return o.Membership.Known && (o.Bootstrap.ClusterID == 0 || o.Membership.ClusterID == o.Bootstrap.ClusterID)
}

// IsServedUnseen reports a member that serves by its kubelet's word and does not answer here: then there is a quorum,
// and the operator is the one cut off. Nobody vouches for a kubelet whose node is gone.
func (o Incarnation) IsServedUnseen() bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool {
		return r.Answer == nil && r.Pod != nil && r.Pod.Ready && r.Pod.NodeGone == "" &&
			(r.Volume == nil || r.Volume.Stranded == "")
	})
}

// IsAnyReady reports a member that serves by its kubelet's word: then there is a quorum, and the operator is the one
// cut off.
func (o Incarnation) IsAnyReady() bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool { return r.Pod != nil && r.Pod.Ready })
}

// IsAlone reports whether nothing is left of any other member: this one is the whole cluster, and to restart it for the
// settings of the spec is what a roll would do. Ready or not makes no difference then: with settings by which no client
// can connect, the kubelet still calls it ready.
func (o Incarnation) IsAlone(r Replica) bool {
	return len(o.Membership.LastKnown) == 0 && !slices.ContainsFunc(o.Members, func(other Replica) bool {
		return other.Name != r.Name && (other.Pod != nil || other.IsRecorded())
	})
}

// IsAnsweringFor reports whether the very member that the list has under this name answered.
func (o Incarnation) IsAnsweringFor(r Replica) bool {
	a := r.Answer
	return r.Member != nil && a != nil && a.ID == r.Member.ID && a.ClusterID == o.Membership.ClusterID
}

// IsServing reports a voter that serves, has all that was committed, can only start from its data, and whose copy of it
// was compared.
func (o Incarnation) IsServing(r Replica) bool {
	isUncompared := r.IsVoter() && r.Pod != nil && r.Pod.Uncompared
	return r.IsSealed() && r.Pod.Ready && !r.Pod.Terminating && !isUncompared && o.IsCaughtUp(r)
}

// caughtUpWithin is how many raft entries a learner may be behind the leader when it gets its vote.
const caughtUpWithin = 1000

// Leader is the voter that leads, or an empty replica where that is not known or it does not answer.
func (o Incarnation) Leader() Replica {
	for _, r := range o.HealthyVoters() {
		if r.Member.ID == o.Membership.Leader {
			return r
		}
	}
	return Replica{}
}

// IsCaughtUp reports whether the replica answered in this very observation, close to the leader. etcd's own test would
// promote a learner whose process is dead.
func (o Incarnation) IsCaughtUp(r Replica) bool {
	if !r.IsHealthy(o.Membership) || r.Answer.Leader != o.Membership.Leader {
		return false // a learner that is cut off goes on calling the leader of the past its leader
	}
	for _, other := range o.Members {
		if other.Answer != nil && other.Answer.ID == o.Membership.Leader {
			return r.Answer.Applied+caughtUpWithin >= other.Answer.Applied
		}
	}
	return false
}

// IsServedWith reports whether a Pod that was made from these settings is ready.
func (o Incarnation) IsServedWith(c Settings) bool {
	return slices.ContainsFunc(o.Members, func(r Replica) bool {
		return r.Pod != nil && r.Pod.Settings == c &&
			r.Pod.Running && r.Pod.Ready
	})
}

// LastPodChange is the last time that something is known to have happened to any Pod, or that a volume was made.
func (o Incarnation) LastPodChange() time.Time {
	var last time.Time
	for _, r := range o.Members {
		if at := PodChange(r.Pod); at.After(last) {
			last = at
		}
		if r.Volume != nil && r.Volume.Created.After(last) {
			last = r.Volume.Created
		}
	}
	return last
}

// MayRestart reports whether the replica's volume holds a member of this incarnation that is not known to be removed.
func (o Incarnation) MayRestart(r Replica) bool {
	if !r.IsRecorded() || !r.IsOnOwnVolume() || !r.Volume.isUsable() {
		return false
	}
	if r.Volume.Incarnation != o.Bootstrap.Incarnation || o.Bootstrap.ClusterID != 0 &&
		r.Volume.Record.ClusterID != o.Bootstrap.ClusterID {
		return false
	}
	return !o.Membership.Known || r.Member != nil && r.Member.ID == r.Volume.Record.MemberID
}

// MaySleep reports a Pod that can be stopped for any time: all that it holds is on its member's own volume, and starts
// from there or not at all.
func (o Incarnation) MaySleep(r Replica) bool { return r.HasLastingData() && o.MayRestart(r) }

// IsGone reports data that certainly is not there any more, or is another's: by the volume, by the node, by what
// answers, or by the member's own last words.
func (o Incarnation) IsGone(r Replica) bool {
	isDown := r.Pod == nil || r.Pod.HasEnded()
	switch {
	case r.Answer != nil:
		return o.Bootstrap.ClusterID != 0 && r.Answer.ClusterID != o.Bootstrap.ClusterID
	case r.Ephemeral:
		return isDown || r.Pod.NodeGone != "" || r.SaidItsDataIsGone()
	case r.Volume == nil:
		return !r.IsRunning()
	}
	return !r.Volume.IsThere(isDown) || r.isCopy() || !isDown && r.SaidItsDataIsGone()
}

// IsQuorumOf reports so many members of a former incarnation that they might be a quorum of it. Of one that is not
// known, each might.
func (o Incarnation) IsQuorumOf(incarnation string, n int) bool {
	i := slices.IndexFunc(o.Bootstrap.Former, func(f record.Former) bool { return f.Incarnation == incarnation })
	return i < 0 || n >= etcdutil.Quorum(len(o.Bootstrap.Former[i].Voters))
}

// IsFirstToSpare reports a first member that starts again as it did before: no client was led to it yet.
func (o Incarnation) IsFirstToSpare(r Replica) bool {
	return r.Volume != nil && !r.Volume.Terminating || r.Ephemeral && !o.IsAnyReady()
}

// isVoterByRecord reports a member of this incarnation that has answered once, and that nothing calls a learner.
func (o Incarnation) isVoterByRecord(r Replica) bool {
	isLearner := r.Pod != nil && r.Pod.Role == RoleLearner
	wasRemoved := r.Pod != nil && r.Pod.Exit != nil && r.Pod.Exit.Reason == etcdutil.ExitRemoved // its peers said so
	return r.IsRecorded() && r.Incarnation() == o.Bootstrap.Incarnation && !isLearner && !wasRemoved
}

// BootstrapReplicas are the first members.
func (o Incarnation) BootstrapReplicas() []Replica {
	out := make([]Replica, 0, len(o.Bootstrap.Names))
	for _, name := range o.Bootstrap.Names {
		out = append(out, o.Find(name))
	}
	return out
}

// Filter returns the items to keep. It makes room once: replicas are large, and each pass filters them often.
func Filter[T any](items []T, keep func(T) bool) []T {
	var out []T
	for i, item := range items {
		if keep(item) {
			if out == nil {
				out = make([]T, 0, len(items)-i)
			}
			out = append(out, item)
		}
	}
	return out
}

// Names are the names of replicas.
func Names(rs []Replica) []string {
	out := make([]string, 0, len(rs))
	for _, r := range rs {
		out = append(out, r.Name)
	}
	return out
}

// FirstURL is the first peer URL of a member, or "".
func FirstURL(m etcdutil.Member) string {
	if len(m.PeerURLs) == 0 {
		return ""
	}
	return m.PeerURLs[0]
}

// HasWrites reports a member that holds more than an empty etcd does.
func HasWrites(r Replica) bool { return r.Answer != nil && r.Answer.Revision > 1 }

// Copies of the data that differ. Only the hashes of voters at one revision show whose copy is right: an alarm may name
// the wrong member. Where etcd itself compares before it serves, it stops when any one peer differs: so a good member
// beside a corrupt one says the same as a corrupt one beside good ones.

// Hash is what a member's keys add up to. Two can be compared when they are of the same revision, compacted at the same
// one.
type Hash struct {
	Sum                 uint32
	Revision, Compacted int64
}

// comparesWith reports whether two hashes speak of the same revisions.
func (h Hash) comparesWith(other Hash) bool {
	return h.Revision == other.Revision && h.Compacted == other.Compacted
}

// sameCopies are the voters with this very hash.
func (o Incarnation) sameCopies(h Hash) []Replica {
	return Filter(o.Voters(), func(r Replica) bool {
		return r.Answer != nil && r.Answer.Hash != nil && *r.Answer.Hash == h
	})
}

// StandsAlone reports a voter whose copy no other voter has, while a majority of all voters has the same other one.
func (o Incarnation) StandsAlone(r Replica) bool {
	if !r.IsVoter() || r.Answer == nil || r.Answer.Hash == nil || len(o.sameCopies(*r.Answer.Hash)) != 1 {
		return false
	}
	return slices.ContainsFunc(o.Voters(), func(other Replica) bool {
		return other.Answer != nil && other.Answer.Hash != nil && other.Answer.Hash.comparesWith(*r.Answer.Hash) &&
			o.HasMajority(*other.Answer.Hash)
	})
}

// HasMajority reports a copy that a majority of all voters holds.
func (o Incarnation) HasMajority(h Hash) bool {
	return len(o.sameCopies(h)) >= max(2, etcdutil.Quorum(len(o.Voters())))
}

// IsToBeCompared reports a voter that answers with all that was committed, and that started from data which was not
// compared since.
func (o Incarnation) IsToBeCompared(r Replica) bool {
	return r.IsVoter() && r.IsUp() && r.IsSealed() && r.Pod.Uncompared && r.Pod.Process != "" && o.IsCaughtUp(r)
}

// CopiesDiffer reports two voters whose copies of the same revisions are not the same.
func (o Incarnation) CopiesDiffer() bool {
	var heard []Hash
	for _, r := range o.Voters() {
		if r.Answer == nil || r.Answer.Hash == nil {
			continue
		}
		own := *r.Answer.Hash
		if slices.ContainsFunc(heard, func(h Hash) bool { return h.comparesWith(own) && h != own }) {
			return true
		}
		heard = append(heard, own)
	}
	return false
}
