package changes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// ApplyObjects creates or corrects Services, Secrets and the NetworkPolicy that are missing or drifted. It deletes
// the NetworkPolicy where the spec asks for none any more.
type ApplyObjects struct {
	Objects []facts.Object
	Secrets []string // names of members
}

func (c ApplyObjects) traits() Traits {
	if len(c.Secrets) > 0 {
		return Traits{Secrets: true} // certificates of a member that was removed would count as its vote
	}
	return Traits{Secrets: true, Unconfirmed: "an object is written as it is wanted, and nothing of it is lost"}
}

func (c ApplyObjects) words() Words {
	what := names(c.Objects, func(o facts.Object) string { return o.Kind + " " + o.Name })
	if len(c.Secrets) > 0 {
		what = append(what, "the certificates of "+strings.Join(c.Secrets, ", "))
	}
	return says("Apply", "applies", "Applied", strings.Join(what, ", "), EventObjectsApplied)
}

func (c ApplyObjects) veto(o facts.View) Veto { return guardTrust(o, c.Objects, len(c.Secrets) > 0) }

// FollowPolicy puts the ownership of volumes and CAs as deletionPolicy says.
type FollowPolicy struct {
	Retain bool
	Items  []facts.DataRef
}

func (c FollowPolicy) traits() Traits {
	if c.Retain {
		return Traits{Secrets: true,
			Unconfirmed: "what is owned goes with the cluster: nothing waits for a second look"}
	}
	return Traits{Secrets: true}
}

func (c FollowPolicy) words() Words {
	if c.Retain {
		return says("Follow", "follows", "Followed", "deletionPolicy Retain", EventPolicyApplied)
	}
	return says("Follow", "follows", "Followed", "deletionPolicy Delete", EventPolicyApplied)
}

func (FollowPolicy) veto(facts.View) Veto { return Veto{} }

const kindSecret = "Secret"

// guardTrust lets no CA be made in the place of one that members live by, and no certificate be issued from another one
// than they trust: members' certificates, or another Secret among the objects that are written.
func guardTrust(o facts.View, written []facts.Object, issues bool) Veto {
	secrets := facts.Filter(written, func(object facts.Object) bool { return object.Kind == kindSecret })
	issues = issues || slices.ContainsFunc(secrets, func(object facts.Object) bool { return !object.CA })
	for _, ca := range o.Objects {
		isMade := slices.ContainsFunc(secrets, func(made facts.Object) bool { return made.Name == ca.Name })
		switch {
		case !ca.CA:
		case isMade && ca.State == facts.ObjectAbsent && ca.Source.Fault != "":
			return identityAtRisk("the CA of %s cannot be used: %s.", ca.Source.From, ca.Source.Fault)
		case isMade && isLivedBy(o, ca):
			return identityAtRisk("members trust the CA that was in Secret %s, and would trust no new one.", ca.Name)
		case issues && ca.State == facts.ObjectCurrent && ca.Trusted != "" && ca.Trusted != ca.Holds:
			return identityAtRisk("Secret %s holds another CA than the one that members trust.", ca.Name)
		}
	}
	return Veto{}
}

// isLivedBy reports a CA that is gone, and that members, or clients of the data, trust. Members without certificates
// trust none.
func isLivedBy(o facts.View, ca facts.Object) bool {
	mayTrust := (o.IsAlive() || o.HasSwitchedOver()) && o.MayHaveCertificates()
	return ca.State == facts.ObjectAbsent && (ca.Trusted != "" || mayTrust)
}

// DeleteSecret deletes the certificates of a member that is gone, and no other Secret of that name.
type DeleteSecret struct{ Name, UID string } // of the member; of the Secret

func (DeleteSecret) traits() Traits { return Traits{Secrets: true} }

func (c DeleteSecret) words() Words {
	return says("Delete", "deletes", "Deleted", "the certificates of "+c.Name, EventSecretDeleted).about(c.Name)
}

// veto takes no certificates from a member: it could not start again.
func (c DeleteSecret) veto(o facts.View) Veto {
	former, isFormer := facts.Find(o.FormerMembers(), c.Name)
	next, isNext := facts.Find(o.Next.Members, c.Name)
	holds := func(object facts.Object) bool {
		holder, isIt := object.HolderOf()
		return isIt && holder == c.Name && object.UID == c.UID
	}
	switch r := o.Find(c.Name); {
	case c.UID == "":
		return identityAtRisk("nothing says which certificates of %s these are.", c.Name)
	case isFormer:
		return cmp.Or(guardSame(former, c), guardSwitched(o, c.Name))
	case isNext:
		return cmp.Or(guardSame(next, c), guardUnwanted(o))
	case slices.ContainsFunc(o.Objects, holds):
		return guardUnused(o)
	case r.Member != nil && !o.Desired.TLS && !guardSame(r, c).Holds():
		return guardUnused(o)
	case !o.Membership.Known || r.Member != nil:
		return identityAtRisk("it is not certain that %s is no member.", c.Name)
	default:
		return guardSame(r, c)
	}
}

// guardUnused lets certificates go that no member shows, or would: TLS is off.
func guardUnused(o facts.View) Veto {
	if o.Desired.TLS || !o.Membership.Known || o.KeepsCertificates(o.Desired.Transport) {
		return identityAtRisk("a member may have certificates.")
	}
	return Veto{}
}

func guardSame(r facts.Replica, c DeleteSecret) Veto {
	if r.Secret.UID != c.UID {
		return identityAtRisk("the certificates of %s are others by now.", c.Name)
	}
	return Veto{}
}

// SealPods patches Pods so that etcd can neither join nor bootstrap from an empty directory, and labels their role.
type SealPods struct{ Pods []Seal }

func (SealPods) traits() Traits {
	return Traits{Unconfirmed: "no process stops, and none starts without data for it"}
}

func (c SealPods) words() Words {
	pods := names(c.Pods, func(s Seal) string { return s.Pod.Name })
	return says("Record", "records", "Recorded", "on the Pod", EventRecorded).of(pods)
}

func (c SealPods) veto(o facts.View) Veto {
	return first(c.Pods, func(s Seal) Veto { return guardSeal(o, s) })
}

// Seal is a Pod to seal, with what is said of it by the same patch.
type Seal struct {
	Pod      facts.PodRef
	Role     string // empty leaves it as it is
	LeadAway bool   // the role is taken off
	Process  string // whose copy of the data needs no comparison any more; empty leaves that as it is
}

// guardSeal calls no copy compared that may be another one than its peers', and leads no client to one that was not.
func guardSeal(o facts.View, s Seal) Veto {
	r := o.Find(s.Pod.Name)
	switch {
	case s.Process == "" && s.Role != facts.RoleVoter:
		return Veto{} // then it seals, and leads no client there
	case r.Pod == nil || r.Pod.UID != s.Pod.UID || r.Pod.Process != s.Process:
		return identityAtRisk("%s runs another process by now, or none.", s.Pod.Name)
	case !r.Pod.Flags.NeedData():
		return guardFirstSeal(r)
	case isOnlyVoter(o):
		return Veto{}
	case mayDiffer(o, r) || !isOfMajority(o, r) && !r.Pod.HadStartTime(o.Now):
		return dataAtRisk("nothing shows that the copy of %s is that of a majority.", s.Pod.Name)
	}
	return Veto{}
}

// guardFirstSeal takes the copy of a process for its peers' that began empty with them.
func guardFirstSeal(r facts.Replica) Veto {
	if r.BeganWithPeers() {
		return Veto{}
	}
	return dataAtRisk("the process of %s may have started from data that was not compared.", r.Name)
}

// LabelRole sets or removes the role label of a sealed Pod.
type LabelRole struct {
	Pod  facts.PodRef
	Role string // empty removes it; with RoleLeaving and RoleCounted no client is led there, and the budget counts it
	// IsUncount: clients are not led there, and the budget is to count it no more
	IsUncount bool
	Before    StartDefrag // what it is removed for: Kubernetes is asked for that Pod first; zero for anything else
}

func (c LabelRole) traits() Traits {
	if c.leadsAway() {
		return Traits{} // that a member does not answer is believed at the second look
	}
	return Traits{Unconfirmed: "clients are led to a member that answered in this very pass"}
}

func (c LabelRole) words() Words {
	w := says("Take", "takes", "Took", c.Pod.Name+" out of the client Service", EventPodLabelled)
	if c.IsUncount {
		w = says("Take", "takes", "Took", c.Pod.Name+" out of the disruption budget", EventPodLabelled)
	}
	if !c.leadsAway() {
		w = says("Label", "labels", "Labelled", "the Pod of "+c.Pod.Name+" as "+c.Role, EventPodLabelled)
	}
	return w.about(c.Pod.Name)
}

func (c LabelRole) leadsAway() bool { return c.Role == "" || c.Role == facts.RoleLeaving }

// veto leads clients to no member that could still start empty, or has another role. It takes them from a ready
// member that does not serve only while those that they are led to are a quorum: the operator itself may be cut off,
// and the disruption budget counts labelled Pods alone. One that is not ready is in no endpoint and no budget anyway.
func (c LabelRole) veto(o facts.View) Veto {
	if _, isFormer := facts.Find(o.FormerMembers(), c.Pod.Name); isFormer {
		return Veto{}
	}
	r := o.Find(c.Pod.Name)
	switch {
	case r.Pod == nil || r.Pod.UID != c.Pod.UID:
		return identityAtRisk("the Pod %s is another one by now.", c.Pod.Name)
	case c.Role != "":
		return guardRole(r, c.Role)
	case ledTo(o, r.Name) >= etcdutil.Quorum(len(o.Voters())):
		return Veto{}
	case r.Pod.Ready && servesNobody(o, r):
		return quorumAtRisk("%s does not serve, and the members that clients reach are no quorum.", r.Name)
	case isNotHeardYet(o, r):
		return quorumAtRisk("the copy of %s is not compared yet, and the members that clients reach are no quorum.",
			r.Name)
	}
	return Veto{}
}

func guardRole(r facts.Replica, role string) Veto {
	switch {
	case !r.IsSealed() || (role == facts.RoleLearner) == r.IsVoter():
		return identityAtRisk("%s is no sealed %s.", r.Name, role)
	case role == facts.RoleVoter && r.Pod.Uncompared:
		return dataAtRisk("the copy of %s was not compared with the others' since it started.", r.Name)
	}
	return Veto{}
}

// servesNobody reports a member that does not answer, or belongs here and knows no leader.
func servesNobody(o facts.View, r facts.Replica) bool {
	return r.Answer == nil || r.Answer.Leader == 0 && r.Answer.ClusterID == o.Bootstrap.ClusterID
}

// isNotHeardYet reports a member that serves, and of whose copy nothing is known but that it started with it.
func isNotHeardYet(o facts.View, r facts.Replica) bool {
	return r.IsVoter() && r.IsHealthy(o.Membership) && r.Pod.Uncompared && r.Answer.Hash == nil
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

// SetBudget creates, changes or (0) deletes the PodDisruptionBudget.
type SetBudget struct{ MinAvailable int }

func (SetBudget) traits() Traits { return Traits{} }

func (c SetBudget) words() Words {
	if c.MinAvailable == 0 {
		return says("Delete", "deletes", "Deleted", "the disruption budget", EventObjectsApplied)
	}
	what := fmt.Sprintf("minAvailable of the disruption budget to %d", c.MinAvailable)
	return says("Set", "sets", "Set", what, EventObjectsApplied)
}

func (c SetBudget) veto(o facts.View) Veto {
	if o.IsAsleep() {
		return Veto{} // no member runs that it could keep
	}
	if o.Membership.Known && c.MinAvailable < facts.BudgetFor(o, len(o.Voters())) {
		return quorumAtRisk("%d voters need a larger budget.", len(o.Voters()))
	}
	return Veto{}
}
