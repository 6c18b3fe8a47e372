package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// createVolume makes the volume of one member. One that is ours but of another incarnation is not this one.
func (s step) createVolume(ctx context.Context, v changes.NewVolume) (ctrlclient.Object, error) {
	if s.view.Current.Birth.Void {
		return nil, ErrStale
	}
	return s.createVolumeOf(ctx, record.Next{Incarnation: s.view.Current.Birth.Incarnation}, v)
}

func (s step) createVolumeOf(ctx context.Context, life record.Next, v changes.NewVolume) (ctrlclient.Object, error) {
	if life.Incarnation == "" {
		return nil, ErrStale
	}
	there, err := s.create(ctx, resources.KindVolume, s.claimOf(life.Incarnation, life.Restore, v))
	if err != nil {
		return nil, err
	}
	if there.GetLabels()[v1alpha1.LabelIncarnation] != life.Incarnation {
		return nil, ErrStale
	}
	return there, nil
}

func (s step) claimOf(incarnation, request string, v changes.NewVolume) *corev1.PersistentVolumeClaim {
	return resources.BuildVolume(s.cluster, resources.Volume{
		Name: v.Name, Incarnation: incarnation, Bytes: v.Bytes, Inputs: v.Choices.Inputs, Request: request,
		Operator: s.Operator,
	})
}

// prepareMember promises a name in the birth record, and makes what the member will live on. A name that was given
// before is never given again: a pass that asks for one was behind.
func (s step) prepareMember(ctx context.Context, c changes.PrepareMember) error {
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
	_, err := s.createVolume(ctx, c.Volume)
	return err
}

func (s step) promise(ctx context.Context, name string) error {
	ordinal, ok := etcdutil.Ordinal(s.cluster.Name, name)
	if !ok {
		return fmt.Errorf("promising %s: not a name of this cluster", name)
	}
	return s.editBirth(ctx, func(b *record.Birth) bool {
		return b.Promise(s.view.Current.Birth.Incarnation, name, ordinal)
	})
}

// breakPromise ends a promise before the member is removed, so that its name and what is left of it are not used again.
func (s step) breakPromise(ctx context.Context, name string) error {
	if s.view.Current.Birth.Promised != name {
		return nil
	}
	return s.editBirth(ctx, func(b *record.Birth) bool {
		b.BreakPromise(name)
		return true
	})
}

// writeOnVolumes has one case per change that writes something on volumes and does nothing else.
func (s step) writeOnVolumes(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.MarkVolume:
		return s.markVolume(ctx, c)
	case changes.KeepVolume:
		return s.keepVolume(ctx, c)
	case changes.SetChoices: // what their members' next Pods are made from
		return s.annotateVolumes(ctx, c.Volumes, v1alpha1.AnnotationInputs, c.Choices.Inputs)
	case changes.RecordRestored: // the backup lies there
		return s.annotateVolumes(ctx, c.Volumes, v1alpha1.AnnotationRestored, c.Incarnation)
	// For which incarnation a survivor's volume may be read; an earlier mark has no meaning any more.
	case changes.MarkFlushed:
		return s.annotateVolumes(ctx, []facts.VolumeRef{c.Volume}, v1alpha1.AnnotationFlushed, c.Incarnation)
	case changes.MarkFormer:
		return s.markFormer(ctx, c)
	case changes.MarkCurrent:
		return s.markCurrent(ctx, c)
	default:
		return fmt.Errorf("carrying out %s: it writes on no volume", changes.KindOf(change))
	}
}

// annotateVolumes writes one annotation on volumes.
func (s step) annotateVolumes(ctx context.Context, volumes []facts.VolumeRef, annotation, value string) error {
	patch := metadataPatch{Annotations: map[string]*string{annotation: &value}}
	return each(ctx, volumes, func(ctx context.Context, volume facts.VolumeRef) error {
		return s.patchMetadata(ctx, resources.KindVolume, claimNamed(volume.Name), volume.UID, patch)
	})
}

// recordMembers writes down which members live where, beside their data: on the volume, or on the Pod whose emptyDir it
// is.
func (s step) recordMembers(ctx context.Context, c changes.RecordMembers) error {
	return each(ctx, c.Members, func(ctx context.Context, m changes.MemberRecord) error {
		text := m.Record.Encode()
		patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationRecord: &text}}
		if m.VolumeUID != "" {
			return s.patchMetadata(ctx, resources.KindVolume, claimNamed(m.Name), m.VolumeUID, patch)
		}
		return s.patchMetadata(ctx, resources.KindPod, podNamed(m.Name), m.PodUID, patch)
	})
}

// markVolume writes on a volume why the operator removes its member.
func (s step) markVolume(ctx context.Context, c changes.MarkVolume) error {
	why := string(c.For)
	patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationRemovedFor: &why}}
	return s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), c.Volume.UID, patch)
}

// keepVolume puts the volume of a removed member aside, in one write. It counts from the later time of two clocks.
func (s step) keepVolume(ctx context.Context, c changes.KeepVolume) error {
	why, since := string(c.For), s.view.Latest().UTC().Format(time.RFC3339)
	patch := metadataPatch{
		Labels:      map[string]*string{v1alpha1.LabelKept: &why},
		Annotations: map[string]*string{v1alpha1.AnnotationKeptSince: &since},
	}
	return s.patchMetadata(ctx, resources.KindVolume, claimNamed(c.Volume.Name), c.Volume.UID, patch)
}

// deleteVolumes deletes volumes on which no member lives.
func (s step) deleteVolumes(ctx context.Context, c changes.DeleteVolumes) error {
	return each(ctx, c.Volumes, func(ctx context.Context, volume facts.VolumeRef) error {
		return s.delete(ctx, resources.KindVolume, claimNamed(volume.Name), volume.UID)
	})
}

func claimNamed(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
