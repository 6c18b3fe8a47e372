package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// createVolume makes the volume of one member. One that is ours but of another incarnation is not this one.
func (s step) createVolume(ctx context.Context, v plan.NewVolume) error {
	if s.view.Birth.Void {
		return ErrStale
	}
	return s.createVolumeOf(ctx, plan.Life{Incarnation: s.view.Birth.Incarnation}, v)
}

func (s step) createVolumeOf(ctx context.Context, life plan.Life, v plan.NewVolume) error {
	if life.Incarnation == "" {
		return ErrStale
	}
	there, err := s.create(ctx, resources.KindVolume, resources.BuildVolume(s.cluster, resources.Volume{
		Name: v.Name, Incarnation: life.Incarnation, Bytes: v.Bytes, Inputs: v.Choices.Inputs, Request: life.Restore,
	}))
	if err != nil {
		return err
	}
	if there.GetLabels()[v1alpha1.LabelIncarnation] != life.Incarnation {
		return ErrStale
	}
	return nil
}

// prepareMember promises a name in the birth record, and makes what the member will live on. A name that was given before is
// never given again: whoever asks for one was behind.
func (s step) prepareMember(ctx context.Context, c plan.PrepareMember) error {
	if err := s.promise(ctx, c.Volume.Name); err != nil {
		return err
	}
	if c.Secret {
		issuer := &issuer{step: s}
		if err := issuer.ensureMember(ctx, c.Volume.Name); err != nil {
			return err
		}
	}
	if s.cluster.Spec.IsEphemeral() {
		return nil
	}
	return s.createVolume(ctx, c.Volume)
}

func (s step) promise(ctx context.Context, name string) error {
	ordinal, ok := etcdutil.Ordinal(s.cluster.Name, name)
	if !ok {
		return fmt.Errorf("promising %s: not a name of this cluster", name)
	}
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		switch {
		case r.Promised == name:
			return nil
		case ordinal < r.Next || r.Void || r.Incarnation != s.view.Birth.Incarnation:
			return ErrStale
		}
		r.Promised, r.Next = name, ordinal+1
		return nil
	})
}

// breakPromise ends a promise before the member is removed, so that its name and what is left of it are not used again.
func (s step) breakPromise(ctx context.Context, name string) error {
	if s.view.Birth.Promised != name {
		return nil
	}
	return s.editBirth(ctx, func(r *resources.BirthRecord) error {
		if r.Promised == name {
			r.Promised = ""
		}
		return nil
	})
}

// setChoices writes on volumes what their members' next Pods are made from.
func (s step) setChoices(ctx context.Context, c plan.SetChoices) error {
	patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationInputs: &c.Choices.Inputs}}
	return each(ctx, c.Volumes, func(ctx context.Context, volume plan.VolumeRef) error {
		return s.patchMetadata(ctx, resources.KindVolume, claimNamed(volume.Name), volume.UID, patch)
	})
}

// recordMembers writes down which members live where, beside their data: on the volume, or on the Pod whose emptyDir it is.
func (s step) recordMembers(ctx context.Context, c plan.RecordMembers) error {
	return each(ctx, c.Members, func(ctx context.Context, m plan.MemberRecord) error {
		record := resources.EncodeMember(resources.MemberRecord(m.Record))
		patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationRecord: &record}}
		if m.VolumeUID != "" {
			return s.patchMetadata(ctx, resources.KindVolume, claimNamed(m.Name), m.VolumeUID, patch)
		}
		return s.patchMetadata(ctx, resources.KindPod, podNamed(m.Name), m.PodUID, patch)
	})
}

// deleteVolumes deletes volumes on which no member lives.
func (s step) deleteVolumes(ctx context.Context, c plan.DeleteVolumes) error {
	return each(ctx, c.Volumes, func(ctx context.Context, volume plan.VolumeRef) error {
		return s.delete(ctx, resources.KindVolume, claimNamed(volume.Name), volume.UID)
	})
}

func claimNamed(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
