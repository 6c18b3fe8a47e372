package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// carryOutInPlace has one case per change that lays another life beside the one that serves, or moves to it.
func (s step) carryOutInPlace(ctx context.Context, change plan.Change) error {
	switch c := change.(type) {
	case plan.BeginNext:
		return s.beginNext(ctx, c)
	case plan.LayNext:
		return s.layNext(ctx, c)
	case plan.DropNext:
		return s.dropNext(ctx, c)
	case plan.MoveLife:
		return s.moveLife(ctx, c)
	case plan.MarkFlushed:
		return s.markFlushed(ctx, c)
	case plan.MarkFormer:
		return s.markFormer(ctx, c)
	default:
		return fmt.Errorf("carrying out %s: it is no part of a restore in place", change.Kind())
	}
}

// beginNext writes down which life is laid, before anything of it is made. Its ordinals and its counter are used up by that,
// whatever becomes of it.
func (s step) beginNext(ctx context.Context, c plan.BeginNext) error {
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		switch {
		case r.Coming != nil && r.Coming.Incarnation == c.Incarnation:
			return nil // begun already
		case r.Incarnation != c.From || r.Void || r.Coming != nil || c.Counter <= max(r.Counter, r.Laid):
			return ErrStale
		}
		r.Coming, r.Laid, r.Next = lifeRecord(c.Life), c.Counter, max(r.Next, c.Next)
		return nil
	})
}

func lifeRecord(l plan.Life) *resources.LifeRecord {
	record := &resources.LifeRecord{
		Incarnation: l.Incarnation, Counter: l.Counter, Token: l.Token, Names: l.Names, Source: string(l.Source), Survivor: l.Survivor,
		Bump: l.Bump, Restore: l.Restore,
	}
	if !l.Origin.IsZero() {
		origin := resources.BackupOrigin(l.Origin)
		record.Backup = &origin
	}
	return record
}

// layNext makes what is missing of the life that is laid: members' Secrets, volumes, restore Pods. Nothing of it runs etcd.
func (s step) layNext(ctx context.Context, c plan.LayNext) error {
	life := s.view.Birth.Coming
	if life.Incarnation != c.Incarnation {
		return ErrStale
	}
	err := s.editBirth(ctx, func(r *resources.BirthRecord) error {
		if r.Coming == nil || r.Coming.Incarnation != c.Incarnation || r.Coming.Restore != life.Restore || r.Incarnation == c.Incarnation {
			return ErrStale // of a record that was lost and written anew, a life of the same name may be another one
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := each(ctx, c.Secrets, (&issuer{step: s}).ensureMember); err != nil {
		return err
	}
	err = each(ctx, c.Volumes, func(ctx context.Context, v plan.NewVolume) error {
		if !slices.Contains(life.Names, v.Name) {
			return ErrStale
		}
		return s.createVolumeOf(ctx, life, v)
	})
	if err != nil {
		return err
	}
	return s.lay(ctx, laidLife{Life: life, clusterID: s.view.Birth.ClusterID}, c.Restores)
}

// dropNext takes the life that is laid out of the record again. What it used up stays used up.
func (s step) dropNext(ctx context.Context, c plan.DropNext) error {
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		switch {
		case r.Incarnation == c.Incarnation:
			return ErrStale // it is the one that lives
		case r.Coming == nil:
			return nil
		case r.Coming.Incarnation != c.Incarnation:
			return ErrStale
		}
		r.Coming = nil
		return nil
	})
}

// moveLife makes the life that was laid the one that the record is of, in one write: from here on the old members are those of
// a life that ended, whoever looks.
func (s step) moveLife(ctx context.Context, c plan.MoveLife) error {
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		if r.Incarnation == c.To {
			return nil // moved already
		}
		next := r.Coming
		if r.Incarnation != c.From || r.Void || next == nil || next.Incarnation != c.To {
			return ErrStale
		}
		*r = resources.BirthRecord{
			Incarnation: next.Incarnation, Counter: next.Counter, Token: next.Token, Names: next.Names, Origin: resources.OriginOf(next.Source), Backup: next.Backup,
			Begun: true, Volumes: c.Volumes, Next: r.Next,
			Past:    append(slices.Clone(r.Past), resources.PastRecord{Incarnation: c.From, Restore: r.Restore, Voters: c.Voters}),
			Restore: next.Restore, Laid: r.Laid,
		}
		return nil
	})
}

// markFlushed writes on a survivor's volume for which life it may be read. That of an earlier one is nobody's any more.
func (s step) markFlushed(ctx context.Context, c plan.MarkFlushed) error {
	patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationFlushed: &c.Life}}
	return s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), c.Volume.UID, patch)
}

// markFormer writes on volumes that another life took the place of theirs. The first such mark stays.
func (s step) markFormer(ctx context.Context, c plan.MarkFormer) error {
	patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationSuperseded: &c.By}}
	return each(ctx, c.Volumes, func(ctx context.Context, volume plan.VolumeRef) error {
		claim, err := s.find(ctx, resources.KindVolume, claimNamed(volume.Name))
		switch {
		case err != nil:
			return err
		case claim == nil || string(claim.GetUID()) != volume.UID:
			return ErrStale
		case claim.GetAnnotations()[v1alpha1.AnnotationSuperseded] != "":
			return nil
		}
		return s.patchMetadata(ctx, resources.KindVolume, &corev1.PersistentVolumeClaim{ObjectMeta: claimNamed(volume.Name).ObjectMeta}, volume.UID, patch)
	})
}
