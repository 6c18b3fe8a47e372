package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// Rules that are safe while etcd cannot be asked, because it may not answer exactly because this was not done. And what
// is said of a list that cannot be had, or that members do not agree on: membersDisagree and membershipUnknown are
// parts of the rule membership.

// seal makes recorded members unable to start from an empty directory, and puts stripped seals back.
func seal(o pass) *proposal {
	if p := hearCopy(o); p != nil {
		return p
	}
	var seals []changes.Seal
	for _, r := range o.Members {
		if o.Bootstrap.ClusterID != 0 && isToBeSealed(r) && !saidCopiesDiffer(r) {
			seals = append(seals, sealOf(o, r))
		}
	}
	if len(seals) == 0 {
		return nil
	}
	return act(changes.SealPods{Pods: seals}, "a member that has its data must never start there without it.")
}

// isToBeSealed reports the Pod of a recorded member that could start from an empty directory.
func isToBeSealed(r facts.Replica) bool {
	return r.IsRecorded() && r.IsUp() && !r.Pod.HasEnded() && !r.Pod.Flags.NeedData()
}

// sealOf seals a Pod. Clients are led to the first process of a first member: it began empty with all others. What one
// that joined holds was copied from the leader, or lay there from an earlier Pod: it is compared once it votes.
func sealOf(o pass, r facts.Replica) changes.Seal {
	s := changes.Seal{Pod: r.PodRef(), Role: roleOf(o, r)}
	if r.BeganWithPeers() {
		s.Process = r.Pod.Process
	}
	if s.Process == "" && s.Role == facts.RoleVoter {
		s.Role = ""
	}
	return s
}

// roleOf is the role label that a Pod should carry: what the list says, else what it carries already.
func roleOf(o pass, r facts.Replica) string {
	switch {
	case o.Membership.Known && r.IsVoter():
		return facts.RoleVoter
	case o.Membership.Known && r.IsLearner():
		return facts.RoleLearner
	case r.Pod != nil:
		return r.Pod.Role
	}
	return ""
}

func membersDisagree(o pass) *proposal {
	if o.Membership.Known && o.Bootstrap.ClusterID != 0 && o.Membership.ClusterID != o.Bootstrap.ClusterID {
		return refuse(facts.ReasonMembersDisagree,
			"The members answer as cluster %s; this cluster was bootstrapped as %s. "+
				"Nothing is changed. Put the members' own volumes back, or restore a backup: "+
				pages.Docs+"docs/disaster-recovery.md.",
			o.Membership.ClusterID, o.Bootstrap.ClusterID).byHuman()
	}
	if o.Membership.Conflict == "" {
		return nil
	}
	return refuse(facts.ReasonMembersDisagree, "Members of this cluster answer with different cluster IDs (%s). "+
		"Nothing is changed until they agree. Put back the volumes of those that hold other data.",
		o.Membership.Conflict).byHuman()
}

// leadAway keeps clients from a process with other data than its member's, which would take their writes. And from one
// that stopped answering, or lost its leader, while others serve: its kubelet goes on calling it ready for a while, and
// each new connection that lands there waits.
func leadAway(o pass) *proposal {
	for _, r := range o.Members {
		isLedTo := r.Pod != nil && (r.Pod.Role == facts.RoleVoter || r.Pod.Role == facts.RoleLearner)
		if !isLedTo || r.Pod.Terminating && !o.LeadsByRole(o.Now) {
			continue
		}
		if why := whyLeadAway(o, r); why != "" {
			return act(changes.LabelRole{Pod: r.PodRef()}, "it %s.", why)
		}
	}
	return nil
}

// whyLeadAway says why clients are led to others than this member, or "".
func whyLeadAway(o pass, r facts.Replica) string {
	j := o.Judge(r)
	switch {
	case r.Pod.Terminating:
		return "is being stopped"
	case j.Cause == facts.CauseIdentity && (j.IsLost() || o.HasQuorum()):
		return fmt.Sprintf("answers, and %s", j.Says)
	case isToLeaveUncompared(o.Incarnation, r):
		return "started anew, and its copy of the data is not compared with the others yet"
	case isIdleBesideQuorum(o.Incarnation, r, o.Now):
		return whyIdle(r) + ", and the others serve"
	}
	return ""
}

// isIdleBesideQuorum reports a voter that clients are led to and that serves no client, while those who do, and that
// clients are led to, are a quorum: so hiccups in turn take no more labels than the cluster can do without.
func isIdleBesideQuorum(o facts.Incarnation, r facts.Replica, now time.Time) bool {
	isLedTo := r.IsUp() && (r.Pod.Ready || o.LeadsByRole(now))
	if !r.IsVoter() || !servesNothing(r) || !isLedTo || !o.HasQuorum() {
		return false
	}
	return isQuorumLedTo(o)
}

// isQuorumLedTo reports that the voters that serve, and that clients are led to, are a quorum.
func isQuorumLedTo(o facts.Incarnation) bool {
	return len(ledTo(o)) >= etcdutil.Quorum(len(o.Voters()))
}

// ledTo are the voters that serve, and that clients are led to.
func ledTo(o facts.Incarnation) []facts.Replica {
	return facts.Filter(o.HealthyVoters(), func(v facts.Replica) bool {
		return v.IsUp() && v.Pod.Ready && v.Pod.Role == facts.RoleVoter && !v.Pod.Uncompared
	})
}

// servesNothing reports a member that can do nothing for a client: it does not answer, or knows no leader.
func servesNothing(r facts.Replica) bool { return r.Answer == nil || r.Answer.Leader == 0 }

func whyIdle(r facts.Replica) string {
	if r.Answer == nil {
		return "stopped answering"
	}
	return "knows no leader"
}

// quorumLost speaks when, by what was written down, so many members have certainly lost their data that the rest is no
// quorum.
func quorumLost(o pass) *proposal {
	if o.Membership.Known || o.IsServedUnseen() {
		return nil
	}
	voters := o.LastKnownVoters(o.IsLost)
	var lost []string
	wayOn := "Approve"
	for _, r := range voters {
		j := o.Judge(r)
		if j.IsLost() {
			lost = append(lost, r.Name+" ("+j.Says+")")
		}
		if j.IsLost() && !r.Ephemeral {
			wayOn = "If the lost volumes come back under their names, the cluster goes on. Else approve"
		}
	}
	if len(lost) == 0 || len(voters)-len(lost) >= etcdutil.Quorum(len(voters)) {
		return nil
	}
	says := fmt.Sprintf("The data of %d of %d members is lost: %s.", len(lost), len(voters), strings.Join(lost, "; "))
	if o.rebuilding == nil {
		return refuse(facts.ReasonQuorumLost, "%s So no quorum is left, and etcd serves nothing. The operator "+
			"rebuilds nothing by itself, and touches no member. %s an EtcdRestore, from what status.evidence says is "+
			"there: "+pages.Docs+"docs/disaster-recovery.md. %s", says, wayOn, howToRebuild(o)).byHuman()
	}
	word := wait(facts.ReasonQuorumLost, "%s %s", says, o.rebuilding.Says())
	word.NeedsHuman, word.Overdue = o.rebuilding.NeedsHuman, o.rebuilding.Overdue
	if word.NeedsHuman || word.Overdue {
		word.Verdict, word.Recheck = Refuse, recheckSlow
	}
	return word
}

// howToRebuild is the command that makes the EtcdRestore, of a member that still holds the data where one answers.
func howToRebuild(o pass) string {
	command := fmt.Sprintf("kubectl etcd-steward restore %s -n %s", o.Cluster.Name, o.Cluster.Namespace)
	if m := evidenceNow(o).Furthest(); m.Name != "" {
		return fmt.Sprintf("%s --survivor %s makes one of what %[2]s holds, and says how to approve it.", command,
			m.Name)
	}
	return command + " shows that, with the backups and the command that makes one."
}

// membershipUnknown waits for an answer, naming what keeps members from giving one.
func membershipUnknown(o pass) *proposal {
	if o.Membership.Known {
		return nil
	}
	if r, isBusy := o.Busy(); isBusy {
		return defragmenting(o, r)
	}
	for _, r := range o.Members {
		if p := startTrouble(o, r); p != nil {
			return p
		}
	}
	if o.Membership.Denied {
		return authRequired(o)
	}
	p := wait(facts.ReasonMembershipUnknown, "No member could be asked for the member list (%s). Nothing is added or "+
		"removed meanwhile.%s", o.Membership.Why, helpFor(o))
	return p.due(o, o.LastPodChange(), facts.ListDeadline)
}

// authRequired says what the operator lacks to look after a cluster whose authentication was turned on.
func authRequired(o pass) *proposal {
	help := "Its certificate is that of the user root: see that this user exists and has the role root " +
		"(etcdctl user grant-role root root)"
	if !o.Desired.TLS {
		help = "Without certificates (spec.tls.mode is Disabled) it has no user. Turn authentication off " +
			"(etcdctl auth disable). Then set spec.tls.mode to Permissive, and later to Managed, to turn it on again"
	}
	return refuse(facts.ReasonAuth, "etcd's authentication is on and does not let the operator in (%s). Members that "+
		"stop are started again, and nothing else is done. %s.", o.Membership.Why, help).byHuman()
}

// helpFor says what a person can do for members that run with the settings of the spec and never answered.
func helpFor(o pass) string {
	failing := facts.Filter(o.Members, func(r facts.Replica) bool {
		return hasNeverServed(o.Observation, r) && r.Pod.Settings == o.Desired.Settings
	})
	if len(failing) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s runs and has never answered. Put the spec right if its settings are why; it is then "+
		"started anew with them.", strings.Join(facts.Names(failing), ", "))
}

// Which process may be stopped before etcd was asked. While the list is known the rule roll restarts a member. Without
// a list it is not known who votes, so what Kubernetes says alone must show that the cluster loses nothing.

// mayStopUnasked reports a Pod that may be stopped whether the list is known or not: nothing runs in it, or its process
// serves no one.
func mayStopUnasked(o pass, r facts.Replica) bool {
	return !r.Pod.Running || mayStopBlind(o, r) || mayStopFirst(o, r)
}

// hasNeverServed reports a process that has had its time, and of which neither the operator nor the kubelet ever heard
// a word. One that served before in this container is none: what it lacks are others.
func hasNeverServed(o facts.Observation, r facts.Replica) bool {
	return isUnresponsive(o, r) && !r.Pod.Ready && r.Pod.NeverReady()
}

// isUnresponsive reports a process that should answer by now and does not.
func isUnresponsive(o facts.Observation, r facts.Replica) bool {
	pod := r.Pod
	if r.Answer != nil || pod == nil || !pod.Running || pod.Terminating || pod.HasEnded() ||
		pod.RunningSince.IsZero() || r.IsBusy(o.Now) {
		return false
	}
	return o.Now.Sub(pod.RunningSince) > facts.StartDeadline
}

// mayStopBlind reports whether a member that runs may be stopped although no list is known, to start with the settings
// of the spec on the data that it has. It does nothing for anybody, one goes at a time, and none goes twice for the
// same settings.
func mayStopBlind(o pass, r facts.Replica) bool {
	if o.Membership.Known || !r.HasLastingData() || !o.MayRestart(r) ||
		!isOtherwiseMade(o, r) || isAnotherTrying(o, r) {
		return false
	}
	if o.IsAlone(r) {
		return isUnresponsive(o.Observation, r)
	}
	return hasNeverServed(o.Observation, r) && !o.IsAnyReady() && areToBlame(o, r.RunsWith())
}

// isOtherwiseMade reports whether the Pod was made from other settings than the spec asks for, and may be made from
// those.
func isOtherwiseMade(o pass, r facts.Replica) bool {
	c := r.Pod.Settings
	return !c.IsZero() && c != o.Desired.Settings && mayTakeSpec(o, r)
}

// areToBlame reports whether settings may be taken from a member that never served with them. Those that most members
// have served once: such a member may lack nothing but the others, and they come back as they were. Only where a quorum
// runs with them, and no member of it ever served, are they to blame all the same.
func areToBlame(o pass, c facts.Settings) bool {
	voters := o.LastKnownVoters(o.IsLost)
	having, failing := 0, 0
	for _, r := range voters {
		if r.RunsWith() != c || o.Judge(r).IsLost() {
			continue
		}
		having++
		if hasNeverServed(o.Observation, r) {
			failing++
		}
	}
	quorum := etcdutil.Quorum(len(voters))
	return having < quorum || failing >= quorum
}

// isAnotherTrying reports whether another member was just given the settings of the spec, and has its time to show what
// they are worth.
func isAnotherTrying(o pass, r facts.Replica) bool {
	return slices.ContainsFunc(o.Members, func(other facts.Replica) bool {
		return other.Name != r.Name && other.IsRecorded() && other.Settings() == o.Desired.Settings &&
			isStarting(o, other)
	})
}

// isStarting reports a Pod that is on its way, or a process that has not yet had its time.
func isStarting(o pass, r facts.Replica) bool {
	switch {
	case r.Pod == nil:
		return o.MayRestart(r)
	case r.Pod.Terminating:
		return !isStuckLeaving(o.Observation, r)
	case r.Pod.Running:
		return !r.Pod.Ready && o.Now.Sub(r.Pod.RunningSince) <= facts.StartDeadline
	}
	return o.Now.Sub(r.Pod.Created) <= facts.StartDeadline
}

// mayStopFirst reports a first member that does not answer, before anything was written down of any: no client was
// ever led to it. It starts again on its volume as it was bootstrapped. Where its data is in its Pod, it goes only if
// nobody ever was ready.
func mayStopFirst(o pass, r facts.Replica) bool {
	if o.IsAlive() || o.Membership.Known || r.Pod == nil || !r.Pod.Settings.IsZero() &&
		!isOtherwiseMade(o, r) {
		return false
	}
	if r.Volume != nil {
		return !r.Volume.Terminating && isUnresponsive(o.Observation, r)
	}
	return r.Ephemeral && hasNeverServed(o.Observation, r) && !o.IsAnyReady()
}
