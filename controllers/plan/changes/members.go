package changes

import (
	"cmp"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// PrepareMember promises a name in the bootstrap record, which never gives it again, and creates the Secret and the
// volume of the member to be added.
type PrepareMember struct {
	Volume NewVolume
	Secret bool
}

func (PrepareMember) traits() Traits {
	return Traits{Secrets: true, Unconfirmed: "a name that was promised meanwhile is refused by the write itself"}
}

func (c PrepareMember) words() Words {
	return says("Prepare", "prepares", "Prepared", "member "+c.Volume.Name, EventObjectsApplied)
}

func (c PrepareMember) veto(o facts.View) Veto { return guardTrust(o, nil, c.Secret) }

// AddLearner adds a learner to the member list, under the URL that it will listen at with that transport.
type AddLearner struct {
	Name      string
	Transport etcdutil.Transport
}

func (AddLearner) traits() Traits { return Traits{} }

func (c AddLearner) words() Words {
	return says("Add", "adds", "Added", "learner "+c.Name, EventAdded).about(c.Name)
}

func (c AddLearner) veto(o facts.View) Veto {
	switch {
	case !o.Membership.Known:
		return quorumAtRisk("the member list is not known.")
	case len(o.Learners()) > 0 || len(o.Membership.Strangers) > 0:
		return quorumAtRisk("another member is being added.")
	case len(o.HealthyVoters()) < etcdutil.Quorum(len(o.Voters())):
		return quorumAtRisk("the voters have no quorum.")
	case saysThatCopiesDiffer(o) && !allHoldTheSame(o):
		return dataAtRisk("members hold different data, and a new one would copy either.")
	case o.Find(c.Name).Member != nil || o.Find(c.Name).Pod != nil || o.Find(c.Name).IsRecorded():
		return identityAtRisk("the name %s is in use.", c.Name)
	}
	return guardDialling(o, c.Name, c.Transport)
}

// Promote makes a learner a voter.
type Promote struct {
	Name string
	ID   etcdutil.ID
}

func (Promote) traits() Traits { return Traits{} }

func (c Promote) words() Words {
	return says("Promote", "promotes", "Promoted", "learner "+c.Name, EventPromoted).about(c.Name)
}

// veto projects the membership with one voter more, which counts as dead unless it is sealed and caught up now.
func (c Promote) veto(o facts.View) Veto {
	r := o.Find(c.Name)
	if !o.Membership.Known || !r.IsLearner() || r.Member.ID != c.ID {
		return identityAtRisk("it is not certain that %s is learner %s.", c.Name, c.ID)
	}
	if !r.IsSealed() {
		return identityAtRisk("%s could still start from an empty directory.", c.Name)
	}
	if saysThatCopiesDiffer(o) && !allHoldTheSame(o) {
		return dataAtRisk("members hold different data, and nothing shows which of them it was copied from.")
	}
	if leader := o.Leader(); !isOnlyVoter(o) && !r.Pod.WasReadyLong(o.Now) &&
		(leader.Answer == nil || !isOfMajority(o, leader)) {
		return dataAtRisk("nothing shows that the leader, whose data %s has copied, holds what most hold.", c.Name)
	}
	if len(o.Membership.VotingStrangers()) > 0 {
		return quorumAtRisk("a member that the operator did not add has a vote.")
	}
	voters, healthy := len(o.Voters())+1, len(o.HealthyVoters())
	if o.IsCaughtUp(r) {
		healthy++
	}
	if healthy < etcdutil.Quorum(voters) {
		return quorumAtRisk("with %s as a voter only %d of %d would be healthy, which is no quorum.", c.Name, healthy,
			voters)
	}
	return Veto{}
}

// RecordMembers writes on volumes (or ephemeral Pods) which members live there.
type RecordMembers struct{ Members []MemberRecord }

func (RecordMembers) traits() Traits {
	return Traits{Unconfirmed: "what the member said in this very pass does not change"}
}

func (c RecordMembers) words() Words {
	members := names(c.Members, func(m MemberRecord) string { return m.Name })
	return says("Record", "records", "Recorded", "the answer", EventRecorded).of(members)
}

func (c RecordMembers) veto(o facts.View) Veto {
	return first(c.Members, func(m MemberRecord) Veto { return guardRecord(o, m) })
}

// MemberRecord is a record to write, on this volume or (ephemeral data) on this Pod.
type MemberRecord struct {
	Name      string
	VolumeUID string
	PodUID    string
	Record    record.Member
}

// guardRecord writes an identity down only when that very member said it in this very observation.
func guardRecord(o facts.View, m MemberRecord) Veto {
	r, says := o.Find(m.Name), m.Record
	isSaid := o.IsAnsweringFor(r) && says.IsOf(r.Answer.ClusterID, r.Member.ID) && !says.Version.IsZero()
	isOurs := o.Bootstrap.ClusterID == 0 || says.ClusterID == o.Bootstrap.ClusterID
	if !isSaid || !isOurs || r.Incarnation() != o.Bootstrap.Incarnation || !isWhere(r, m) {
		return identityAtRisk("%s did not answer as member %s of this cluster.", m.Name, says.MemberID)
	}
	return guardLogMark(o, r, says.LogMark)
}

// isWhere reports that a record goes to the very volume, or the very Pod, that the member's data is in.
func isWhere(r facts.Replica, m MemberRecord) bool {
	if r.Volume != nil {
		return r.Pod != nil && m.VolumeUID == r.Volume.UID
	}
	return r.Pod != nil && m.PodUID == r.Pod.UID
}

// guardLogMark lets a mark be written only of what the member says now, and while no 3.5 can write.
func guardLogMark(o facts.View, r facts.Replica, mark record.LogMark) Veto {
	if mark == r.Record().LogMark || mark == (record.LogMark{}) {
		return Veto{}
	}
	if !o.MayMarkLog() || mark != o.NextLogMark(r) {
		return dataAtRisk("%s does not say how far it is in raft's log while every voter runs 3.6.", r.Name)
	}
	return Veto{}
}

// MoveLeader hands leadership from one voter to another.
type MoveLeader struct {
	From, To     string
	FromID, ToID etcdutil.ID
}

func (MoveLeader) traits() Traits { return Traits{} }

func (c MoveLeader) words() Words {
	return says("Move", "moves", "Moved", "leadership from "+c.From+" to "+c.To, EventLeaderMoved).about(c.To)
}

func (c MoveLeader) veto(o facts.View) Veto {
	if !o.Membership.Known || o.Membership.Leader != c.FromID {
		return quorumAtRisk("it is not certain that %s leads.", c.From)
	}
	taker := o.Find(c.To)
	if !taker.IsVoter() || taker.Member.ID != c.ToID || !taker.IsHealthy(o.Membership) {
		return quorumAtRisk("%s is not a healthy voter.", c.To)
	}
	return guardHeir(o, taker)
}

// guardHeir lets leadership go only to a copy that most voters have, while copies are said to differ.
func guardHeir(o facts.View, taker facts.Replica) Veto {
	if !saysThatCopiesDiffer(o) || allHoldTheSame(o) {
		return Veto{}
	}
	if h := taker.Answer.Hash; h != nil && 2*countHashes(o)[*h] > len(o.Voters()) {
		return Veto{}
	}
	return dataAtRisk("members hold different data, and %s is not known to hold what most of them hold.", taker.Name)
}

// RemoveMember takes a member out of the list. A promise of its name ends before that.
type RemoveMember struct {
	Name string
	ID   etcdutil.ID
	// what takes its place: whether Kubernetes would admit that is tried first. Zero where nothing does, or where
	// it is there
	Successor NewVolume
	Frees     bool // its own volume is deleted then, which makes room for another one
}

func (RemoveMember) traits() Traits { return Traits{} }

func (c RemoveMember) words() Words {
	return says("Remove", "removes", "Removed", "member "+c.Name, EventRemoved).about(c.Name)
}

// veto projects the membership without the member: what is left must be a quorum of itself.
func (c RemoveMember) veto(o facts.View) Veto {
	r := o.Find(c.Name)
	if !o.Membership.Known || r.Member == nil || r.Member.ID != c.ID {
		return identityAtRisk("it is not certain that %s is member %s.", c.Name, c.ID)
	}
	if r.Member.Learner {
		return Veto{}
	}
	if c.ID == o.Membership.Leader {
		return quorumAtRisk("%s leads; it must hand over first.", c.Name)
	}
	if veto := cmp.Or(guardCopies(o, c.Name), guardFenced(o, r), guardDoomed(o, r), guardBusy(o, r)); veto.Holds() {
		return veto
	}
	if len(o.Membership.VotingStrangers()) > 0 {
		return quorumAtRisk("a member that the operator did not add has a vote.")
	}
	voters, healthy := len(o.Voters())-1, len(o.HealthyVoters())
	if r.IsHealthy(o.Membership) {
		healthy--
	}
	if voters < 1 || healthy < etcdutil.Quorum(voters) {
		return quorumAtRisk("without %s only %d healthy of %d voters would be left, which is no quorum.", c.Name,
			healthy, voters)
	}
	return Veto{}
}

// guardFenced removes no member that a person fenced while its data is there: its volume would go with it.
func guardFenced(o facts.View, r facts.Replica) Veto {
	if o.IsFenced(r) && !saysThatCopiesDiffer(o) {
		return dataAtRisk("a person fenced %s, and its volume would go with it.", r.Name)
	}
	return Veto{}
}

// guardDoomed lets a member that serves on a volume which is going leave before its successor votes only while all
// others serve on data that stays, and are more than one. A copy that differs is worth nothing.
func guardDoomed(o facts.View, r facts.Replica) Veto {
	if !r.IsDoomed() || !r.IsHealthy(o.Membership) || len(o.Voters()) > o.Desired.Size || saysThatCopiesDiffer(o) {
		return Veto{}
	}
	stay := facts.Filter(o.Voters(), func(other facts.Replica) bool { return !other.IsDoomed() && o.IsServing(other) })
	if len(stay) < 2 || len(stay) < len(o.Voters())-1 {
		return dataAtRisk("%s serves, and of the other voters only %d serve on volumes that stay.", r.Name, len(stay))
	}
	return Veto{}
}
