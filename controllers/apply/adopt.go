package apply

import (
	"context"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// adoptData writes this cluster's UID on what an earlier cluster of its name left, one object after the other: an
// operator that dies in between leaves a set of which some is ours, which the next one goes on with.
func (s step) adoptData(ctx context.Context, c changes.AdoptData) error {
	return each(ctx, c.Items, s.adopt)
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
		return nil
	case item.Owner:
		return s.update(ctx, item.Kind, live, func() {
			live.GetLabels()[v1alpha1.LabelClusterUID] = string(s.cluster.UID)
		})
	}
	return ErrStale
}
