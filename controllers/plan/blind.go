package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that are safe while etcd cannot be asked, because it may not answer exactly because this was not done. And what
// is said of a list that cannot be had, or that members do not agree on: membersDisagree and membershipUnknown are
// parts of the rule membership.

// seal makes recorded members unable to start from an empty directory, and puts stripped seals back.
func seal(o view) *proposal {
	if p := hearCopy(o); p != nil {
		return p
	}
	var seals []Seal
	for _, r := range o.Members {
		if o.Birth.ClusterID == 0 || !r.isToBeSealed() || r.saidCopiesDiffer() && o.mayStillDiffer() {
			continue
		}
		seals = append(seals, Seal{Pod: r.podRef(), Flags: FlagsSealed, Role: roleOf(o, r)})
	}
	if len(seals) == 0 {
		return nil
	}
	return act(SealPods{Pods: seals}, ReasonSeal, "%s can from now on only start from the data it has.", sealNames(seals))
}

// isToBeSealed reports the Pod of a recorded member that could start from an empty directory, or without comparing.
func (r Replica) isToBeSealed() bool {
	return r.IsRecorded() && r.isUp() && !r.Pod.HasEnded() && r.Pod.Flags != FlagsSealed
}

// mayStillDiffer reports that a member which stopped because copies differ is still being heard: see hearCopy.
func (o Incarnation) mayStillDiffer() bool { return !o.Membership.Known || o.inDoubt() }

// roleOf is the role label that a Pod should carry: what the list says, else what it carries already.
func roleOf(o view, r Replica) string {
	switch {
	case o.Membership.Known && r.IsVoter():
		return roleVoter
	case o.Membership.Known && r.IsLearner():
		return roleLearner
	case r.Pod != nil:
		return r.Pod.Role
	}
	return ""
}

// Values of the role label.
const (
	roleVoter   = "voter"
	roleLearner = "learner"
)

func membersDisagree(o view) *proposal {
	if o.Membership.Known && o.Birth.ClusterID != 0 && o.Membership.ClusterID != o.Birth.ClusterID {
		return refuse(ReasonMembersDisagree, "The members answer as cluster %s; this cluster was born as %s. Nothing is changed.",
			o.Membership.ClusterID, o.Birth.ClusterID).byHuman()
	}
	if o.Membership.Conflict == "" {
		return nil
	}
	return refuse(ReasonMembersDisagree, "Members of this cluster answer with different cluster IDs (%s). Nothing is changed until they agree.",
		o.Membership.Conflict).byHuman()
}

// leadAway keeps clients from a process with other data than its member's, which would take their writes; and from one that stopped
// answering while others serve. Its kubelet goes on calling it ready for a while, and each new connection that lands there waits.
func leadAway(o view) *proposal {
	for _, r := range o.Members {
		if !r.isUp() || r.Pod.Role == "" {
			continue
		}
		if o.isUnseenBesideQuorum(r) {
			return act(LabelRole{Pod: r.podRef()}, ReasonLabelRole, "%s stopped answering, and the others serve; clients are led to them until it answers again.", r.Name)
		}
		j := o.Judge(r)
		if j.Cause != CauseIdentity || !j.IsLost() && !o.hasQuorum() {
			continue
		}
		return act(LabelRole{Pod: r.podRef()}, ReasonLabelRole, "%s answers, and %s; clients are led away from it.", r.Name, j.Says)
	}
	return nil
}

// isUnseenBesideQuorum reports a voter that its kubelet calls ready and that does not answer, while those who do are a quorum.
func (o Incarnation) isUnseenBesideQuorum(r Replica) bool {
	return r.IsVoter() && r.Answer == nil && r.Pod.Ready && o.hasQuorum() && o.Margin() >= 0
}

// quorumLost speaks when, by what was written down, so many members have certainly lost their data that the rest is no quorum.
func quorumLost(o view) *proposal {
	if o.Membership.Known || o.isServedUnseen() {
		return nil
	}
	voters := o.lastKnownVoters(o.isLost)
	var lost []string
	for _, r := range voters {
		if j := o.Judge(r); j.IsLost() {
			lost = append(lost, r.Name+" ("+j.Says+")")
		}
	}
	if len(lost) == 0 || len(voters)-len(lost) >= etcdutil.Quorum(len(voters)) {
		return nil
	}
	if p := o.rebuilding(); p != nil {
		says := fmt.Sprintf("The data of %d of %d members is lost: %s. %s", len(lost), len(voters), strings.Join(lost, "; "), p.Message)
		p.Message, p.Reason = says, ReasonQuorumLost
		return p
	}
	return refuse(ReasonQuorumLost, "The data of %d of %d members is lost: %s. What is left is no quorum, so etcd serves nothing, and nothing is "+
		"rebuilt by itself. What is left is not touched; if the lost data comes back where it was, the cluster goes on.",
		len(lost), len(voters), strings.Join(lost, "; ")).byHuman()
}

// lastKnownVoters are the members that the cluster had as far as anything left says: a survivor's own list, with who joined since
// by what is written on volumes; else these alone, with the certificates; else the birth record.
func (o view) lastKnownVoters(gone func(Replica) bool) []Replica {
	var out []Replica
	listed := map[string]bool{}
	for _, m := range o.Membership.LastKnown {
		name, ok := etcdutil.MemberFromPeerURL(firstURL(m), o.Cluster.Name, o.Cluster.Namespace)
		listed[name] = true
		if ok && !m.Learner {
			out = append(out, o.Find(name))
		}
	}
	if len(out) > 0 {
		return append(out, filter(o.Members, func(r Replica) bool { return !listed[r.Name] && o.isVoterByRecord(r) && !gone(r) })...)
	}
	out = filter(o.Members, func(r Replica) bool { return o.isVoterByRecord(r) || o.isBereft(r) })
	if len(out) == 0 {
		out = o.birthReplicas()
	}
	return out
}

// isVoterByRecord reports a member of this incarnation that has answered once, and that nothing calls a learner.
func (o Incarnation) isVoterByRecord(r Replica) bool {
	isLearner := r.Pod != nil && r.Pod.Role == roleLearner
	wasRemoved := r.Pod != nil && r.Pod.Exit != nil && r.Pod.Exit.Reason == etcdutil.ExitRemoved // its peers said so
	return r.IsRecorded() && r.Incarnation() == o.Birth.Incarnation && !isLearner && !wasRemoved
}

// isBereft reports a member of which nothing is left but its certificates. Those of a member that was removed go before its volume
// does, and before the next name is promised, so this one was not. Who was promised last may never have had a vote.
func (o view) isBereft(r Replica) bool {
	hasSecret := r.Secret.State == ObjectCurrent || r.Secret.State == ObjectDrifted
	ordinal, isFirst := o.ordinalOf(r.Name), slices.Contains(o.Birth.Names, r.Name)
	wasGiven := isFirst || r.Name != o.Birth.Promised && ordinal >= o.Birth.FirstOrdinal(o.Cluster.Name) && ordinal < o.Birth.NextOrdinal
	return hasSecret && !r.Ephemeral && r.Volume == nil && o.Birth.ClusterID != 0 && wasGiven
}

func firstURL(m etcdutil.Member) string {
	if len(m.PeerURLs) == 0 {
		return ""
	}
	return m.PeerURLs[0]
}

// membershipUnknown waits for an answer, naming what keeps members from giving one.
func membershipUnknown(o view) *proposal {
	if o.Membership.Known {
		return nil
	}
	for _, r := range o.Members {
		if p := startTrouble(o, r); p != nil {
			return p
		}
	}
	if o.Membership.Denied {
		return o.denied()
	}
	p := wait(ReasonMembershipUnknown, "No member could be asked for the member list (%s). Nothing is added or removed meanwhile.%s", o.Membership.Why, o.helpFor())
	return p.due(o, lastPodChange(o), listDeadline)
}

// denied says what the operator lacks to look after a cluster whose authentication was turned on.
func (o view) denied() *proposal {
	help := "Its certificate is that of the user root: see that this user exists and has the role root"
	if !o.Desired.TLS {
		help = "Without certificates (spec.tls.mode is Disabled) it has no user: turn authentication off (etcdctl auth disable), take a backup, and create a cluster with spec.tls.mode Managed from it"
	}
	return refuse(ReasonAuth, "etcd's authentication is on and does not let the operator in (%s). Members that stop are started again, and nothing else is done. %s.", o.Membership.Why, help).byHuman()
}

// helpFor says what a person can do for members that run with the settings of the spec and never answered.
func (o view) helpFor() string {
	failing := filter(o.Members, func(r Replica) bool { return o.hasNeverServed(r) && r.Pod.Choices == o.Desired.Choices })
	if len(failing) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s runs and has never answered. Put the spec right if its settings are why; it is then started anew with them.", strings.Join(names(failing), ", "))
}
