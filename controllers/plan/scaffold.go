package plan

import "github.com/etcdsteward/etcd-steward/pkg/etcdutil"

// scaffold puts Services and Secrets right. An authority that is gone is not made anew under members that trust the old one.
func scaffold(o Observation) *proposal {
	c := ApplyObjects{Secrets: neededSecrets(o)}
	var lost *Object
	for _, object := range needed(o.Objects) {
		if object.Authority && object.State == ObjectAbsent {
			lost = &object
			continue
		}
		c.Objects = append(c.Objects, object)
	}
	if len(c.Objects) > 0 || (lost == nil && len(c.Secrets) > 0) {
		return act(c, ReasonScaffold, "%d Services or Secrets are missing or differ from what the cluster needs; they are put right.", len(c.Objects)+len(c.Secrets))
	}
	if lost != nil {
		return refuse(ReasonAuthorityLost, "Secret %s, which holds the authority of this cluster, is gone. Members serve on with the certificates they have; put the Secret back from a copy.",
			lost.Name).byHuman().yielding()
	}
	return nil
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
