package guard

import (
	"cmp"
	"fmt"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

func guardMembership(o facts.View, c changes.Change) string {
	switch c := c.(type) {
	case changes.RemoveMember:
		return guardRemove(o, c)
	case changes.Promote:
		return guardPromote(o, c)
	case changes.AddLearner:
		return guardAdd(o, c)
	case changes.MoveLeader:
		return guardMove(o, c)
	default:
		return fmt.Sprintf("%T does not change the membership.", c)
	}
}

// guardRemove projects the membership without the member: what is left must be a quorum of itself.
func guardRemove(o facts.View, c changes.RemoveMember) string {
	r := o.Find(c.Name)
	if !o.Membership.Known || r.Member == nil || r.Member.ID != c.ID {
		return fmt.Sprintf("it is not certain that %s is member %s.", c.Name, c.ID)
	}
	if r.Member.Learner {
		return ""
	}
	if c.ID == o.Membership.Leader {
		return fmt.Sprintf("%s leads; it must hand over first.", c.Name)
	}
	if veto := cmp.Or(guardCopies(o, c.Name), guardDoomed(o, r)); veto != "" {
		return veto
	}
	if len(o.Membership.VotingStrangers()) > 0 {
		return "a member that the operator did not add has a vote."
	}
	voters, healthy := len(o.Voters())-1, len(o.HealthyVoters())
	if r.IsHealthy(o.Membership) {
		healthy--
	}
	if voters < 1 || healthy < etcdutil.Quorum(voters) {
		return fmt.Sprintf("without %s only %d healthy of %d voters would be left, which is no quorum.", c.Name,
			healthy, voters)
	}
	return ""
}

// guardDoomed lets a member that serves on a volume which is going leave before its successor votes only while all
// others serve on data that stays, and are more than one. A copy that differs is worth nothing.
func guardDoomed(o facts.View, r facts.Replica) string {
	if !r.IsDoomed() || !r.IsHealthy(o.Membership) || len(o.Voters()) > o.Desired.Size || saysThatCopiesDiffer(o) {
		return ""
	}
	stay := facts.Filter(o.Voters(), func(other facts.Replica) bool { return !other.IsDoomed() && o.IsServing(other) })
	if len(stay) < 2 || len(stay) < len(o.Voters())-1 {
		return fmt.Sprintf("%s serves, and of the other voters only %d serve on volumes that stay.", r.Name, len(stay))
	}
	return ""
}

// guardPromote projects the membership with one voter more, which counts as dead unless it is sealed and caught up now.
func guardPromote(o facts.View, c changes.Promote) string {
	r := o.Find(c.Name)
	if !o.Membership.Known || !r.IsLearner() || r.Member.ID != c.ID {
		return fmt.Sprintf("it is not certain that %s is learner %s.", c.Name, c.ID)
	}
	if !r.IsSealed() {
		return fmt.Sprintf("%s could still start from an empty directory.", c.Name)
	}
	if saysThatCopiesDiffer(o) && !allHoldTheSame(o) {
		return "members hold different data, and nothing shows which of them it was copied from."
	}
	if len(o.Membership.VotingStrangers()) > 0 {
		return "a member that the operator did not add has a vote."
	}
	voters, healthy := len(o.Voters())+1, len(o.HealthyVoters())
	if o.IsCaughtUp(r) {
		healthy++
	}
	if healthy < etcdutil.Quorum(voters) {
		return fmt.Sprintf("with %s as a voter only %d of %d would be healthy, which is no quorum.", c.Name, healthy,
			voters)
	}
	return ""
}

func guardAdd(o facts.View, c changes.AddLearner) string {
	switch {
	case !o.Membership.Known:
		return "the member list is not known."
	case len(o.Learners()) > 0 || len(o.Membership.Strangers) > 0:
		return "another member is being added."
	case len(o.HealthyVoters()) < etcdutil.Quorum(len(o.Voters())):
		return "the voters have no quorum."
	case saysThatCopiesDiffer(o) && !allHoldTheSame(o):
		return "members hold different data, and a new one would copy either."
	case o.Find(c.Name).Member != nil || o.Find(c.Name).Pod != nil || o.Find(c.Name).IsRecorded():
		return fmt.Sprintf("the name %s is in use.", c.Name)
	}
	return ""
}

func guardMove(o facts.View, c changes.MoveLeader) string {
	if !o.Membership.Known || o.Membership.Leader != c.FromID {
		return fmt.Sprintf("it is not certain that %s leads.", c.From)
	}
	taker := o.Find(c.To)
	if !taker.IsVoter() || taker.Member.ID != c.ToID || !taker.IsHealthy(o.Membership) {
		return fmt.Sprintf("%s is not a healthy voter.", c.To)
	}
	return guardHeir(o, taker)
}

// guardVotes asks whether the cluster can do without a member for a while. The only one of a cluster of one is away for
// as long as it takes, whatever is done.
func guardVotes(o facts.View, r facts.Replica) string {
	voters := o.Voters()
	if len(voters) == 1 || !r.IsVoter() {
		return ""
	}
	if r.Member.ID == o.Membership.Leader {
		return fmt.Sprintf("%s leads; it must hand over first.", r.Name)
	}
	return guardOthers(o, r)
}

// guardOthers asks whether the voters are a quorum without a member.
func guardOthers(o facts.View, r facts.Replica) string {
	voters := o.Voters()
	others := facts.Filter(o.HealthyVoters(), func(other facts.Replica) bool { return other.Name != r.Name })
	if len(others) < etcdutil.Quorum(len(voters)) {
		return fmt.Sprintf("without %s only %d healthy of %d voters would serve, which is no quorum.", r.Name,
			len(others), len(voters))
	}
	return ""
}

// guardResize lets a process go on with other amounts. It may end for want of memory, so the others are a quorum.
func guardResize(o facts.View, c changes.ResizePod) string {
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", c.Pod.Name)
	case !c.Settings.IsLike(r.Pod.Settings):
		return fmt.Sprintf("the Pod %s was made from other settings, which a process that runs cannot take.", r.Name)
	case r.IsOverMemory(c.Settings):
		return fmt.Sprintf("the database of %s has no room in that much memory.", r.Name)
	case len(o.Voters()) > 1 && r.IsVoter():
		return guardOthers(o, r)
	}
	return ""
}

// guardLabel leads clients to no member that could still start empty, or has another role. It takes them from a ready
// member that does not serve only while those that they are led to are a quorum: the operator itself may be cut off,
// and the disruption budget counts labelled Pods alone. One that is not ready is in no endpoint and no budget anyway.
func guardLabel(o facts.View, c changes.LabelRole) string {
	if _, isFormer := facts.Find(o.FormerMembers(), c.Pod.Name); isFormer {
		return ""
	}
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return fmt.Sprintf("the Pod %s is another one by now.", c.Pod.Name)
	case c.Role != "":
		return guardRole(r, c.Role)
	case ledTo(o, r.Name) >= etcdutil.Quorum(len(o.Voters())):
		return ""
	case r.Pod.Ready && servesNobody(o, r):
		return fmt.Sprintf("%s does not serve, and those that clients are led to are no quorum.", r.Name)
	case isNotHeardYet(o, r):
		return fmt.Sprintf("the copy of %s is not compared yet, and those that clients are led to are no quorum.",
			r.Name)
	}
	return ""
}

func guardRole(r facts.Replica, role string) string {
	switch {
	case !r.IsSealed() || (role == facts.RoleVoter) != r.IsVoter():
		return fmt.Sprintf("%s is no sealed %s.", r.Name, role)
	case role == facts.RoleVoter && r.Pod.Uncompared:
		return fmt.Sprintf("the copy of %s was not compared with the others' since it started.", r.Name)
	}
	return ""
}

// servesNobody reports a member that does not answer, or belongs here and knows no leader.
func servesNobody(o facts.View, r facts.Replica) bool {
	return r.Answer == nil || r.Answer.Leader == 0 && r.Answer.ClusterID == o.Bootstrap.ClusterID
}

// ledTo counts the healthy voters that clients are led to, without one.
func ledTo(o facts.View, without string) int {
	if !o.Membership.Known {
		return 0
	}
	return len(facts.Filter(o.HealthyVoters(), func(r facts.Replica) bool {
		return r.Name != without && r.IsUp() && r.Pod.Ready && r.Pod.Role == facts.RoleVoter && !r.Pod.Uncompared
	}))
}

func guardBudget(o facts.View, c changes.SetBudget) string {
	if o.Membership.Known && c.MinAvailable < facts.BudgetFor(o, len(o.Voters())) {
		return fmt.Sprintf("%d voters need a larger budget.", len(o.Voters()))
	}
	return ""
}

// guardDowngrade lets a downgrade begin only from one minor to the next lower one, while every member serves: from then
// on no new one can join.
func guardDowngrade(o facts.View, c changes.EnableDowngrade) string {
	if !o.Membership.Known || len(o.Membership.Members) > len(o.HealthyVoters()) {
		return "no member can join during a downgrade, and not every member is a voter that serves."
	}
	for _, r := range o.Voters() {
		runs, cluster := r.Answer.Version, r.Answer.Versions.Cluster
		if !cluster.SameMinor(runs) || runs.Major != c.Minor.Major || runs.Minor != c.Minor.Minor+1 {
			return fmt.Sprintf("%s runs %s in a cluster of version %s, and %s is not one minor below.", r.Name, runs,
				cluster.MinorString(), c.Minor.MinorString())
		}
	}
	return ""
}

// guardFormat lets the first member go to a lower minor only once each member says that its data followed.
func guardFormat(o facts.View, r facts.Replica, version etcdutil.Version) string {
	if version.Compare(r.Record().Version) > 0 {
		return ""
	}
	for _, other := range o.HealthyVoters() {
		if format := other.Answer.Versions.Storage; format.Compare(version) > 0 && !format.SameMinor(version) {
			return fmt.Sprintf("the data of %s is in the format of %s, which etcd %s cannot read.", other.Name,
				format.MinorString(), version)
		}
	}
	return ""
}

// guardCancel asks for no more than that etcd can agree on it. What runs goes on, and etcd raises the cluster version
// only once every member runs the higher minor.
func guardCancel(o facts.View) string {
	if !o.Membership.Known {
		return "the member list is not known."
	}
	return ""
}
