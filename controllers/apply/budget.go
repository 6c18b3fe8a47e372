package apply

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// setBudget creates, changes or deletes the PodDisruptionBudget. Changing it names the resource version that was read:
// a bound is lowered only from the bound that was seen.
func (s step) setBudget(ctx context.Context, c changes.SetBudget) error {
	want := resources.BuildBudget(s.cluster, c.MinAvailable)
	if c.MinAvailable == 0 {
		return s.delete(ctx, resources.KindBudget, want, "")
	}
	have, err := s.find(ctx, resources.KindBudget, want)
	if err != nil {
		return err
	}
	if have == nil {
		_, err := s.create(ctx, resources.KindBudget, want)
		return err
	}
	budget := have.(*policyv1.PodDisruptionBudget)
	if budget.DeletionTimestamp != nil {
		return Later{Reason: LaterTerminating, Message: "the disruption budget is still being deleted"}
	}
	if budget.Spec.MaxUnavailable != nil { // somebody's, and excludes a bound of ours: it is made anew
		if err := s.delete(ctx, resources.KindBudget, want, string(budget.UID)); err != nil {
			return err
		}
		_, err := s.create(ctx, resources.KindBudget, want)
		return err
	}
	if err := s.remark(ctx, resources.KindBudget, budget); err != nil {
		return err
	}
	if resources.BudgetBound(budget) == c.MinAvailable && resources.BudgetDrift(budget, want) == "" {
		return nil
	}
	want.ResourceVersion = budget.ResourceVersion
	return s.serverSideApply(ctx, budget, want, func(map[string]any) {})
}
