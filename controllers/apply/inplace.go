package apply

import (
	"context"
	"slices"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// prepareNext makes what is missing of the next incarnation: members' Secrets, volumes, restore Pods. Nothing of it
// runs etcd.
func (s step) prepareNext(ctx context.Context, c changes.PrepareNext) error {
	next := s.view.Current.Birth.Next
	if next.Incarnation != c.Incarnation {
		return ErrStale
	}
	err := s.editBirth(ctx, func(b *record.Birth) bool { return b.Prepares(next.Incarnation, next.Restore) })
	if err != nil {
		return err
	}
	if err := each(ctx, c.Secrets, (&issuer{step: s}).ensureMember); err != nil {
		return err
	}
	err = each(ctx, c.Volumes, func(ctx context.Context, v changes.NewVolume) error {
		if !slices.Contains(next.Names, v.Name) {
			return ErrStale
		}
		_, err := s.createVolumeOf(ctx, next, v)
		return err
	})
	if err != nil {
		return err
	}
	return s.lay(ctx, laidLife{Next: next, clusterID: s.view.Current.Birth.ClusterID}, c.Restores)
}

// markFormer writes on volumes that another incarnation took the place of theirs. The first such mark stays.
func (s step) markFormer(ctx context.Context, c changes.MarkFormer) error {
	return s.editMarked(ctx, c.Volumes, "", func(annotations map[string]string) {
		annotations[v1alpha1.AnnotationSuperseded] = c.By
	})
}

// markCurrent takes that off volumes, and writes in the same patch which incarnation the cluster went back from.
func (s step) markCurrent(ctx context.Context, c changes.MarkCurrent) error {
	return s.editMarked(ctx, c.Volumes, c.After, func(annotations map[string]string) {
		delete(annotations, v1alpha1.AnnotationSuperseded)
		annotations[v1alpha1.AnnotationGoesBack] = c.After
	})
}

// editMarked edits the annotations of the volumes with this mark, and leaves every other volume as it is.
func (s step) editMarked(ctx context.Context, volumes []facts.VolumeRef, mark string,
	edit func(map[string]string)) error {
	return each(ctx, volumes, func(ctx context.Context, volume facts.VolumeRef) error {
		claim, err := s.find(ctx, resources.KindVolume, claimNamed(volume.Name))
		switch {
		case err != nil:
			return err
		case claim == nil || string(claim.GetUID()) != volume.UID:
			return ErrStale
		case claim.GetAnnotations()[v1alpha1.AnnotationSuperseded] != mark:
			return nil
		}
		return s.update(ctx, resources.KindVolume, claim, func() {
			annotations := merged(claim.GetAnnotations(), nil)
			edit(annotations)
			claim.SetAnnotations(annotations)
		})
	})
}
