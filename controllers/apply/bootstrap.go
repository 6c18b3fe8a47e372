package apply

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// parallelWrites bounds how many writes of one step are under way at a time. A birth is bounded below by the start of
// its Pods, so nothing before them may wait in line.
const parallelWrites = 8

// bootstrap makes what is missing of a birth. Pods come last, only when every volume is there, and only once the birth
// record says which volumes these are: one that is missing or another from then on is a lost one.
func (s step) bootstrap(ctx context.Context, c changes.Bootstrap) error {
	var made map[string]string
	objects := changes.ApplyObjects{Objects: c.Objects, Secrets: c.Secrets}
	err := together(
		func() error { return s.applyObjects(ctx, objects) },
		func() (err error) { made, err = s.createVolumes(ctx, c.Volumes); return err },
	)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, made); err != nil {
		return err
	}
	if err := s.startRestores(ctx, c.Restores); err != nil {
		return err
	}
	return each(ctx, c.Pods, s.startPod)
}

// createVolumes makes the volumes of first members, and tells the UID of each by its name.
func (s step) createVolumes(ctx context.Context, missing []changes.NewVolume) (map[string]string, error) {
	var (
		mu   sync.Mutex
		made = map[string]string{}
	)
	err := each(ctx, missing, func(ctx context.Context, v changes.NewVolume) error {
		there, err := s.createVolume(ctx, v)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		made[v.Name] = string(there.GetUID())
		return nil
	})
	return made, err
}

// begin writes into the birth record that Pods may be made, and on which volumes: those that were just made, and those
// that were there.
func (s step) begin(ctx context.Context, made map[string]string) error {
	if s.view.Current.Birth.Begun {
		return nil
	}
	volumes := map[string]string{}
	for _, name := range s.view.Current.Birth.Names {
		if s.cluster.Spec.IsEphemeral() {
			break
		}
		if volumes[name] = made[name]; volumes[name] != "" {
			continue
		}
		claim, err := s.find(ctx, resources.KindVolume, claimNamed(name))
		if err != nil {
			return err
		}
		if claim == nil || claim.GetDeletionTimestamp() != nil {
			return ErrStale
		}
		volumes[name] = string(claim.GetUID())
	}
	return s.editBirth(ctx, func(b *record.Birth) bool { return b.Begin(s.view.Current.Birth.Incarnation, volumes) })
}

// each does the same for all, a few at a time. One that fails keeps none of the others from being tried; the first
// error is returned.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// together does what need not wait for each other. One that fails keeps none of the others from being tried; each error
// is returned.
func together(steps ...func() error) error {
	failed := make([]error, len(steps))
	var group sync.WaitGroup
	for i, do := range steps {
		group.Go(func() { failed[i] = do() })
	}
	group.Wait()
	return errors.Join(failed...)
}
