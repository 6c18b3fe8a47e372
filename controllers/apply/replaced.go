package apply

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

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
		refused.Message += fmt.Sprintf(". %s stays a member until Kubernetes admits %s: make room, or change what "+
			"refuses it", c.Name, c.Successor.Name)
		return refused
	}
	return err
}

// rehearseVolume creates a claim without storing it. One that is deleted with its member leaves room in quotas, which
// count it until then.
func (s step) rehearseVolume(ctx context.Context, c changes.RemoveMember) error {
	if s.cluster.Spec.IsEphemeral() {
		return nil
	}
	claim := s.claimOf(s.view.Current.Birth.Incarnation, "", c.Successor)
	e := exchange{newClaims: []*corev1.PersistentVolumeClaim{claim}}
	if old, err := s.ownOf(ctx, resources.KindVolume, claimNamed(c.Name)); err != nil {
		return err
	} else if old != nil && c.Frees {
		e.oldClaims = []*corev1.PersistentVolumeClaim{old.(*corev1.PersistentVolumeClaim)}
	}
	err := s.Client.Create(ctx, claim.DeepCopy(), FieldOwner, ctrlclient.DryRunAll)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), says("does not support dry run")(err):
		return nil
	case overQuota.MatchString(err.Error()):
		return s.rehearseQuotas(ctx, e, "the volume of "+c.Successor.Name, err.Error())
	}
	return Answer(err, "rehearsing the volume of "+c.Successor.Name)
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
		Choices: c.Successor.Choices})
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
