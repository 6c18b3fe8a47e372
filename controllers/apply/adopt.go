package apply

import (
	"context"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// adoptData writes this cluster's UID on what an earlier cluster of its name left, and this install's claim on what of
// it holds data. It does so one object after the other: an operator that dies in between leaves a set of which some is
// ours, which the next one goes on with. Of two installs that try, one has the first object, and the other one stops.
func (s step) adoptData(ctx context.Context, c changes.AdoptData) error {
	for _, item := range c.Items {
		if err := s.adopt(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

func (s step) adopt(ctx context.Context, item facts.Retained) error {
	live, err := s.dataOf(ctx, item.Kind, item.Name, item.UID)
	switch {
	case err != nil:
		return err
	case live == nil || live.GetDeletionTimestamp() != nil:
		return ErrStale
	}
	switch live.GetLabels()[v1alpha1.LabelClusterUID] {
	case string(s.cluster.UID):
		if claim := live.GetAnnotations()[v1alpha1.AnnotationOperator]; claim != "" && claim != s.Operator {
			return ErrStale
		}
		return nil
	case item.Owner:
		return s.update(ctx, item.Kind, live, func() {
			live.GetLabels()[v1alpha1.LabelClusterUID] = string(s.cluster.UID)
			if item.Kind == resources.KindVolume {
				annotate(live, v1alpha1.AnnotationOperator, s.Operator)
			}
		})
	}
	return ErrStale
}
