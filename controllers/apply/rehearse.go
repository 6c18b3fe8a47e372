package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// rehearse asks Kubernetes whether it would admit the Pods that a change leads to, before anything that runs is stopped for
// them: quotas, Pod Security and webhooks may have been tightened since the members' Pods were made.
func (s step) rehearse(ctx context.Context, change plan.Change) error {
	switch c := change.(type) {
	case plan.EvictPod:
		return s.rehearseStart(ctx, c.Successor)
	case plan.SetChoices:
		if !c.Rehearse {
			return nil
		}
		return each(ctx, c.Volumes, func(ctx context.Context, volume plan.VolumeRef) error {
			return s.rehearseStart(ctx, plan.Start{Name: volume.Name, Flags: plan.FlagsSealed, Choices: c.Choices})
		})
	case plan.MoveLife:
		return each(ctx, c.Successors, s.next().rehearseStart)
	default:
		return nil
	}
}

// next is the same step in the life that is laid.
func (s step) next() step {
	life := s.view.Birth.Coming
	s.view.Birth = plan.Birth{Exists: true, Incarnation: life.Incarnation, Token: life.Token, Names: life.Names}
	s.view.Replicas = s.view.Coming
	return s
}

// rehearseStart creates a member's Pod without storing it. Admission comes before the clash of names
// (kubernetes/kubernetes:staging/src/k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go), so a name that is taken by
// the Pod that runs means that its successor would be admitted. A webhook that cannot be rehearsed with gives no verdict.
func (s step) rehearseStart(ctx context.Context, start plan.Start) error {
	found, err := s.find(ctx, resources.KindPod, podNamed(start.Name))
	if err != nil {
		return err
	}
	old, _ := found.(*corev1.Pod)
	if old != nil && start.Role == "" {
		start.Role = old.Labels[v1alpha1.LabelRole]
	}
	if err := s.needSecret(ctx, start.Name); err != nil {
		return err
	}
	successor, err := s.buildPod(start)
	if err != nil {
		return err
	}
	err = s.Client.Create(ctx, successor, fieldOwner, ctrlclient.DryRunAll)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), says("does not support dry run")(err):
		return nil
	case overQuota.MatchString(err.Error()) && old == nil: // those whom it follows under another name count until they are stopped
		return nil
	case overQuota.MatchString(err.Error()):
		return s.rehearseQuotas(ctx, old, successor, err.Error())
	}
	return kubeError(err, "rehearsing the start of Pod "+start.Name)
}
