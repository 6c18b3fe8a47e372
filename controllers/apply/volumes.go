package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	if s.view.Current.Bootstrap.Void {
		return nil, ErrStale
	}
	return s.createVolumeOf(ctx, record.Next{Incarnation: s.view.Current.Bootstrap.Incarnation}, v)
}

func (s step) createVolumeOf(
	ctx context.Context, incarnation record.Next, v changes.NewVolume,
) (ctrlclient.Object, error) {
	if incarnation.Incarnation == "" {
		return nil, ErrStale
	}
	wal, err := s.createWAL(ctx, incarnation.Incarnation, v)
	if err != nil {
		return nil, err
	}
	claim := s.claimOf(incarnation.Incarnation, incarnation.Restore, wal, v)
	there, err := s.create(ctx, resources.KindVolume, claim)
	if err != nil {
		return nil, err
	}
	if there.GetLabels()[v1alpha1.LabelIncarnation] != incarnation.Incarnation {
		return nil, ErrStale
	}
	return there, nil
}

func (s step) claimOf(incarnation, request, wal string, v changes.NewVolume) *corev1.PersistentVolumeClaim {
	return resources.BuildVolume(s.cluster, resources.Volume{
		Name: v.Name, Incarnation: incarnation, Bytes: v.Bytes, Inputs: v.Settings.Inputs, Request: request,
		Operator: s.Operator, WAL: wal,
	})
}

// prepareMember promises a name in the bootstrap record, and makes what the member will live on. A name that was given
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
	return s.editBootstrap(ctx, func(b *record.Bootstrap) bool {
		return b.Promise(s.view.Current.Bootstrap.Incarnation, name, ordinal)
	})
}

// breakPromise ends a promise before the member is removed, so that its name and what is left of it are not used again.
func (s step) breakPromise(ctx context.Context, name string) error {
	if s.view.Current.Bootstrap.Promised != name {
		return nil
	}
	return s.editBootstrap(ctx, func(b *record.Bootstrap) bool {
		b.BreakPromise(name)
		return true
	})
}

// writeOnVolumes has one case per change that writes something on volumes and does nothing else.
func (s step) writeOnVolumes(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.MarkVolume: // why the operator removes its member
		return s.annotateVolumes(ctx, []facts.VolumeRef{c.Volume}, v1alpha1.AnnotationRemovedFor, string(c.For))
	case changes.KeepVolume:
		return s.keepVolume(ctx, c)
	case changes.WriteSettings: // what their members' next Pods are made from
		return s.annotateVolumes(ctx, c.Volumes, v1alpha1.AnnotationInputs, c.Settings.Inputs)
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
	return each(ctx, c.Volumes, s.deleteVolume)
}

func claimNamed(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// rehearseReplacement rehearses the volume and the Pod of the member that takes the place of one that is removed. What
// Kubernetes would not admit keeps the member that there is: it may come back, and a smaller cluster survives less.
func (s step) rehearseReplacement(ctx context.Context, c changes.RemoveMember) error {
	if c.Successor.Name == "" {
		return nil
	}
	err := s.rehearseVolume(ctx, c)
	if err == nil {
		err = s.rehearseSuccessor(ctx, c)
	}
	var refused Rejected
	if errors.As(err, &refused) {
		return refused.and(fmt.Sprintf("%s stays a member until Kubernetes admits %s: make room, or change what "+
			"refuses it.", c.Name, c.Successor.Name))
	}
	return err
}

// rehearseVolume creates a claim without storing it. One that is deleted with its member leaves room in quotas, which
// count it until then.
func (s step) rehearseVolume(ctx context.Context, c changes.RemoveMember) error {
	if s.cluster.Spec.IsEphemeral() {
		return nil
	}
	incarnation := s.view.Current.Bootstrap.Incarnation
	e := exchange{newClaims: []*corev1.PersistentVolumeClaim{s.claimOf(incarnation, "", "", c.Successor)}}
	if resources.AskedWAL(s.cluster) != nil {
		e.newClaims = append(e.newClaims, s.walOf(incarnation, c.Successor))
	}
	var err error
	if e.oldClaims, err = s.freedBy(ctx, c); err != nil {
		return err
	}
	for range e.newClaims {
		if err := s.rehearseClaim(ctx, e, "the volume of "+c.Successor.Name); err != nil {
			return err
		}
		e.newClaims = append(e.newClaims[1:len(e.newClaims):len(e.newClaims)], e.newClaims[0])
	}
	return nil
}

// freedBy are the claims that go with a member, and leave room.
func (s step) freedBy(ctx context.Context, c changes.RemoveMember) ([]*corev1.PersistentVolumeClaim, error) {
	old, err := s.ownOf(ctx, resources.KindVolume, claimNamed(c.Name))
	if err != nil || old == nil || !c.Frees {
		return nil, err
	}
	freed := []*corev1.PersistentVolumeClaim{old.(*corev1.PersistentVolumeClaim)}
	half, err := s.otherHalf(ctx, freed[0])
	if half != nil {
		freed = append(freed, half.(*corev1.PersistentVolumeClaim))
	}
	return freed, err
}

// rehearseClaim rehearses the first of the new claims, beside the others.
func (s step) rehearseClaim(ctx context.Context, e exchange, what string) error {
	err := s.Client.Create(ctx, e.newClaims[0].DeepCopy(), FieldOwner, ctrlclient.DryRunAll)
	switch {
	case says("does not support dry run")(err), apierrors.IsAlreadyExists(err):
		return nil
	case err == nil && len(e.newClaims) > 1: // each of them might fit, and all of them not
		exceeded, err := s.exceededBeside(ctx, "", e)
		if err != nil {
			return err
		}
		return rejectedBy(exceeded, "Kubernetes would refuse "+what)
	case err == nil:
		return nil
	case overQuota.MatchString(err.Error()):
		return s.rehearseQuotas(ctx, e, what, err.Error())
	}
	return Answer(err, "Kubernetes would refuse "+what)
}

// rehearseSuccessor rehearses the Pod of the new member, for which the Pod of the old one goes.
func (s step) rehearseSuccessor(ctx context.Context, c changes.RemoveMember) error {
	var e exchange
	if old, err := s.ownOf(ctx, resources.KindPod, podNamed(c.Name)); err != nil {
		return err
	} else if old != nil && old.GetDeletionTimestamp() == nil { // one that does not go is not counted any more
		e.old = []*corev1.Pod{old.(*corev1.Pod)}
	}
	successor, err := s.buildPod(ctx, changes.Start{Name: c.Successor.Name, Flags: facts.FlagsSealed,
		Settings: c.Successor.Settings})
	if err != nil {
		return err
	}
	e.successors = []*corev1.Pod{successor}
	_, err = s.rehearsePod(ctx, successor, e)
	return err
}

// ownOf is an object of a member; nil where there is none, or another's.
func (s step) ownOf(ctx context.Context, kind string, like ctrlclient.Object) (ctrlclient.Object, error) {
	found, err := s.find(ctx, kind, like)
	var taken NameTaken
	if errors.As(err, &taken) {
		return nil, nil
	}
	return found, err
}

// sealPods patches Pods so that their next containers start from their data or not at all. The role goes along in the
// same patch: a Pod that clients reach is a sealed one.
func (s step) sealPods(ctx context.Context, c changes.SealPods) error {
	return each(ctx, c.Pods, func(ctx context.Context, seal changes.Seal) error {
		patch := metadataPatch{Annotations: map[string]*string{}}
		sealed := resources.InitialAnnotations(s.cluster, seal.Pod.Name, s.transportOf(seal.Pod.Name),
			resources.StartSealed, nil)
		for key, value := range sealed {
			patch.Annotations[key] = &value
		}
		if seal.Process != "" {
			patch.Annotations[v1alpha1.AnnotationCompared] = &seal.Process
		}
		if seal.LeadAway {
			patch.Labels = map[string]*string{v1alpha1.LabelRole: nil}
		}
		if seal.Role != "" {
			patch.Labels = map[string]*string{v1alpha1.LabelRole: &seal.Role}
		}
		return s.patchMetadata(ctx, resources.KindPod, podNamed(seal.Pod.Name), seal.Pod.UID, patch)
	})
}

// transportOf is how the process of a Pod is reached. Its list of members has to name the URL that it has as its own.
func (s step) transportOf(member string) etcdutil.Transport {
	if pod := s.view.Current.Find(member).Pod; pod != nil {
		return pod.Transport
	}
	return resources.TransportAsked(s.cluster)
}

// reached is the cluster as tasks connect to its members: with TLS only where all take it.
func (s step) reached() *v1alpha1.EtcdCluster {
	isPlain := func(r facts.Replica) bool {
		return r.Member != nil && r.Pod != nil && !r.Pod.Transport.HasCertificates()
	}
	return resources.ReachedWith(s.cluster, !slices.ContainsFunc(s.view.Current.Members, isPlain))
}

// labelRole sets the role by which the client Service and the budget select, or takes it away.
func (s step) labelRole(ctx context.Context, c changes.LabelRole) error {
	patch := metadataPatch{Labels: map[string]*string{v1alpha1.LabelRole: nil}}
	if c.Role != "" {
		patch.Labels[v1alpha1.LabelRole] = &c.Role
	}
	return s.patchMetadata(ctx, resources.KindPod, podNamed(c.Pod.Name), c.Pod.UID, patch)
}
