package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/judge"
)

// scaffold puts Services, Secrets and the NetworkPolicy right. An authority that is gone is not made anew under members
// that trust the old one, and without it no certificate can be. From another one none is issued: etcd reads at its
// start whom it trusts, and would refuse whom that one signed.
func scaffold(o judge.View) *proposal {
	c := changes.ApplyObjects{Objects: needed(o.Objects), Secrets: neededSecrets(o)}
	lost := o.LostAuthorities()
	if len(lost) == 0 {
		return putRight(c)
	}
	c.Objects = slices.DeleteFunc(c.Objects, func(object facts.Object) bool { return object.Kind == kindSecret })
	c.Secrets = nil
	if p := putRight(c); p != nil {
		return p
	}
	return refuse(facts.ReasonLost(lost), "%s. The operator issues no certificate and changes none. Members and "+
		"clients go on with those that they have%s. Put the Secret back from a copy, as "+
		pages.Docs+"docs/disaster-recovery.md "+
		"says. The Secrets of members hold the certificate of the CA, and not its key.", facts.HowLost(lost),
		untilWhen(o)).byHuman().yielding()
}

// untilWhen says when the first of the certificates ends.
func untilWhen(o judge.View) string {
	end := o.FirstEnd()
	if end.IsZero() {
		return ""
	}
	return fmt.Sprintf(", the first of which ends on %s", end.UTC().Format(time.DateOnly))
}

const (
	kindSecret = "Secret"
	kindVolume = "PersistentVolumeClaim"
)

func putRight(c changes.ApplyObjects) *proposal {
	n := len(c.Objects) + len(c.Secrets)
	if n == 0 {
		return nil
	}
	return act(c, facts.ReasonScaffold, "%d of the cluster's Services, Secrets and policies are missing or differ "+
		"from the spec; the operator puts them right.", n)
}

// neededSecrets are the members whose certificates are missing or due: those in the list, and those with data.
func neededSecrets(o judge.View) []string {
	if !o.Desired.TLS {
		return nil
	}
	var out []string
	for _, r := range o.Members {
		wanted := r.Member != nil || (!o.Membership.Known && r.IsRecorded())
		if wanted && (r.Secret.State == facts.ObjectAbsent || r.Secret.State == facts.ObjectDrifted ||
			r.Secret.Unmarked) {
			out = append(out, r.Name)
		}
	}
	return out
}

// budget lets the disruption budget follow the voters. It never allows a drain to take more than the voters can spare;
// while a learner is on its way it may already count that one.
func budget(o judge.View) *proposal {
	if !o.HasQuorum() || o.Budget.State == facts.ObjectForeign || o.Budget.State == facts.ObjectTerminating {
		return nil
	}
	voters, has := len(o.Voters()), o.Budget.MinAvailable
	want := min(max(has, facts.BudgetFor(o.View, voters)), facts.BudgetFor(o.View, voters+len(o.Learners())))
	if want == has && (o.Budget.State != facts.ObjectDrifted || want == 0) {
		return nil
	}
	return act(changes.SetBudget{MinAvailable: want}, facts.ReasonBudget,
		"The disruption budget is set to %d of %d voters.", want,
		voters+len(o.Membership.VotingStrangers()))
}
