package changes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
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
	return says("Apply", "Applied", strings.Join(what, ", "), EventObjectsApplied)
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
		return says("Follow", "Followed", "deletionPolicy Retain", EventPolicyApplied)
	}
	return says("Follow", "Followed", "deletionPolicy Delete", EventPolicyApplied)
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
		case isMade && isLivedBy(o, ca):
			return identityAtRisk("members trust the CA that was in Secret %s, and would trust no new one.", ca.Name)
		case issues && ca.State == facts.ObjectCurrent && ca.Trusted != "" && ca.Trusted != ca.Holds:
			return identityAtRisk("Secret %s holds another CA than the one that members trust.", ca.Name)
		}
	}
	return Veto{}
}

// isLivedBy reports a CA that is gone, and that members, or clients of the data, trust.
func isLivedBy(o facts.View, ca facts.Object) bool {
	return ca.State == facts.ObjectAbsent && (ca.Trusted != "" || o.IsAlive() || o.HasSwitchedOver())
}

// DeleteSecret deletes the certificates of a member that is gone, and no other Secret of that name.
type DeleteSecret struct{ Name, UID string } // of the member; of the Secret

func (DeleteSecret) traits() Traits { return Traits{Secrets: true} }

func (c DeleteSecret) words() Words {
	return says("Delete", "Deleted", "the certificates of "+c.Name, EventSecretDeleted).about(c.Name)
}

// veto takes no certificates from a member: it could not start again.
func (c DeleteSecret) veto(o facts.View) Veto {
	former, isFormer := facts.Find(o.FormerMembers(), c.Name)
	next, isNext := facts.Find(o.Next.Members, c.Name)
	switch r := o.Find(c.Name); {
	case c.UID == "":
		return identityAtRisk("nothing says which certificates of %s these are.", c.Name)
	case isFormer:
		return cmp.Or(guardSame(former, c), guardSwitched(o, c.Name))
	case isNext:
		return cmp.Or(guardSame(next, c), guardUnwanted(o))
	case !o.Membership.Known || r.Member != nil:
		return identityAtRisk("it is not certain that %s is no member.", c.Name)
	default:
		return guardSame(r, c)
	}
}

func guardSame(r facts.Replica, c DeleteSecret) Veto {
	if r.Secret.UID != c.UID {
		return identityAtRisk("the certificates of %s are others by now.", c.Name)
	}
	return Veto{}
}
