package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// scaffold puts Services and Secrets right. An authority that is gone is not made anew under members that trust the old one,
// and without it no certificate can be.
func scaffold(o view) *proposal {
	c := ApplyObjects{Objects: needed(o.Objects), Secrets: neededSecrets(o)}
	name := o.lostAuthority()
	if name == "" {
		return putRight(c)
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(object Object) bool { return object.Kind == kindSecret })
	c.Secrets = nil
	if p := putRight(c); p != nil {
		return p
	}
	return refuse(ReasonAuthorityLost, "Secret %s, which holds the authority of this cluster, is gone. Members serve on with the certificates they have; put the Secret back from a copy.",
		name).byHuman().yielding()
}

// lostAuthority names the Secret of an authority that is gone, or "".
func (o Observation) lostAuthority() string {
	for _, object := range o.Objects {
		if object.Authority && object.State == ObjectAbsent {
			return object.Name
		}
	}
	return ""
}

const kindSecret = "Secret"

func putRight(c ApplyObjects) *proposal {
	n := len(c.Objects) + len(c.Secrets)
	if n == 0 {
		return nil
	}
	return act(c, ReasonScaffold, "%d Services or Secrets are missing or differ from what the cluster needs; they are put right.", n)
}

// neededSecrets are the members whose certificates are missing or due: those in the list, and those with data.
func neededSecrets(o view) []string {
	if !o.Desired.TLS {
		return nil
	}
	var out []string
	for _, r := range o.Members {
		wanted := r.Member != nil || (!o.Membership.Known && r.IsRecorded())
		if wanted && (r.Secret.State == ObjectAbsent || r.Secret.State == ObjectDrifted) {
			out = append(out, r.Name)
		}
	}
	return out
}

// budgetFor is minAvailable for so many voters: a quorum of them, and no budget for a single one, which could never be drained.
func budgetFor(o view, voters int) int {
	if !o.Desired.HasBudget || voters < 2 {
		return 0
	}
	return etcdutil.Quorum(voters)
}

// budget lets the disruption budget follow the voters. It never allows a drain to take more than the voters can spare; while a learner
// is on its way it may already count that one.
func budget(o view) *proposal {
	if !o.hasQuorum() || o.Budget.State == ObjectForeign || o.Budget.State == ObjectTerminating {
		return nil
	}
	voters, has := len(o.Voters()), o.Budget.MinAvailable
	want := min(max(has, budgetFor(o, voters)), budgetFor(o, voters+len(o.Learners())))
	if want == has && (o.Budget.State != ObjectDrifted || want == 0) {
		return nil
	}
	return act(SetBudget{MinAvailable: want}, ReasonBudget, "The disruption budget is set to %d of %d voters.", want, voters)
}
