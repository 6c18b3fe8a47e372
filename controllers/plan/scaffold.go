package plan

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// scaffold puts Services and Secrets right. An authority that is gone is not made anew under members that trust the old one,
// and without it no certificate can be.
func scaffold(o Observation) *proposal {
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
func neededSecrets(o Observation) []string {
	if !o.Desired.TLS {
		return nil
	}
	var out []string
	for _, r := range o.Replicas {
		wanted := r.Member != nil || (!o.Membership.Known && r.IsRecorded())
		if wanted && (r.Secret.State == ObjectAbsent || r.Secret.State == ObjectDrifted) {
			out = append(out, r.Name)
		}
	}
	return out
}

// budgetFor is minAvailable for so many voters: a quorum of them, and no budget for a single one, which could never be drained.
func budgetFor(o Observation, voters int) int {
	if !o.Desired.HasBudget || voters < 2 {
		return 0
	}
	return etcdutil.Quorum(voters)
}

// raiseBudget never lets a drain take more than the voters can spare.
func raiseBudget(o Observation) *proposal {
	if !o.Membership.Known || o.Budget.State == ObjectForeign || o.Budget.State == ObjectTerminating {
		return nil
	}
	want := budgetFor(o, len(o.Voters()))
	if want <= o.Budget.MinAvailable && (o.Budget.State != ObjectDrifted || want == 0) {
		return nil
	}
	return act(SetBudget{MinAvailable: max(want, o.Budget.MinAvailable)}, ReasonBudget, "The disruption budget is set to %d of %d voters.",
		max(want, o.Budget.MinAvailable), len(o.Voters()))
}

// lowerBudget comes last: the careful side of every crash on the way is a budget that allows too little.
func lowerBudget(o Observation) *proposal {
	want := budgetFor(o, len(o.Voters()))
	if want >= o.Budget.MinAvailable || o.Budget.State == ObjectForeign || o.Budget.State == ObjectTerminating {
		return nil
	}
	return act(SetBudget{MinAvailable: want}, ReasonBudget, "The disruption budget follows the %d voters down to %d.", len(o.Voters()), want)
}
