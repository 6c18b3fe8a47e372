package apply

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/etcdsteward/etcd-steward/controllers/plan"
)

// parallelWrites bounds how many writes of one step are under way at a time. A birth is bounded below by the start of its
// Pods, so nothing before them may wait in line.
const parallelWrites = 8

// bootstrap makes what is missing of a birth. Pods come last, and only when every volume is there: a volume missing beside
// a Pod then always is a lost one.
func (s step) bootstrap(ctx context.Context, c plan.Bootstrap) error {
	if err := s.applyObjects(ctx, plan.ApplyObjects{Objects: c.Objects, Secrets: c.Secrets}); err != nil {
		return err
	}
	if err := each(ctx, c.Volumes, s.createVolume); err != nil {
		return err
	}
	return each(ctx, c.Pods, s.startPod)
}

// each does the same for all, a few at a time. One that fails keeps none of the others from being tried; the first error
// is returned.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}
