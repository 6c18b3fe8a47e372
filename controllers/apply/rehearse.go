package apply

import (
	"cmp"
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// rehearse asks Kubernetes whether it would admit what a change leads to, before anything that runs is stopped for it,
// or a member is removed: quotas, Pod Security and webhooks may have been tightened since the members' Pods were made.
func (s step) rehearse(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.EvictPod:
		return s.rehearseStart(ctx, c.Successor)
	case changes.WriteSettings:
		if !c.Rehearse {
			return nil
		}
		return each(ctx, c.Volumes, func(ctx context.Context, volume facts.VolumeRef) error {
			return s.rehearseStart(ctx, changes.Start{
				Name: volume.Name, Flags: facts.FlagsSealed, Settings: c.Settings,
			})
		})
	case changes.SwitchOver:
		return s.rehearseMove(ctx, c.Successors)
	case changes.RemoveMember:
		return s.rehearseReplacement(ctx, c)
	default:
		return nil
	}
}

// next is the same step in the next incarnation.
func (s step) next() step {
	incarnation := s.view.Current.Bootstrap.Next
	s.view.Current.Bootstrap = record.Bootstrap{
		Incarnation: incarnation.Incarnation, Token: incarnation.Token, Names: incarnation.Names,
	}
	s.view.Current.Members = s.view.Next.Members
	return s
}

// rehearseMove rehearses all members of the next incarnation. They have other names than those whom they follow, who
// run until then.
func (s step) rehearseMove(ctx context.Context, starts []changes.Start) error {
	var e exchange
	for _, r := range s.view.Current.Members {
		old, err := s.podOf(ctx, r.Name)
		if err != nil {
			return err
		}
		if old != nil && old.DeletionTimestamp == nil { // one that does not go is not counted any more
			e.old = append(e.old, old)
		}
	}
	next := s.next()
	for _, start := range starts {
		successor, err := next.successor(ctx, start)
		if err != nil {
			return err
		}
		e.successors = append(e.successors, successor)
	}
	admitted := exchange{old: e.old, successors: make([]*corev1.Pod, len(starts))}
	var group errgroup.Group
	for i, successor := range e.successors {
		group.Go(func() (err error) {
			admitted.successors[i], err = s.rehearsePod(ctx, successor, e)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// each of them might fit beside the old ones, and all of them not even without
	exceeded, err := s.exceededBeside(ctx, "", admitted)
	if err != nil {
		return err
	}
	return rejectedBy(exceeded, "rehearsing the start of the next members")
}

// rehearseStart rehearses the Pod of one member, which may run now.
func (s step) rehearseStart(ctx context.Context, start changes.Start) error {
	var e exchange
	old, err := s.podOf(ctx, start.Name)
	if err != nil {
		return err
	}
	if old != nil {
		e.old = []*corev1.Pod{old}
		start.Role = cmp.Or(start.Role, old.Labels[v1alpha1.LabelRole])
	}
	successor, err := s.successor(ctx, start)
	if err != nil {
		return err
	}
	e.successors = []*corev1.Pod{successor}
	_, err = s.rehearsePod(ctx, successor, e)
	return err
}

// podOf is the Pod of a member; nil when there is none.
func (s step) podOf(ctx context.Context, name string) (*corev1.Pod, error) {
	found, err := s.find(ctx, resources.KindPod, podNamed(name))
	if err != nil {
		return nil, err
	}
	pod, _ := found.(*corev1.Pod)
	return pod, nil
}

func (s step) successor(ctx context.Context, start changes.Start) (*corev1.Pod, error) {
	if err := s.needSecret(ctx, start.Name); err != nil {
		return nil, err
	}
	return s.buildPod(ctx, start)
}

// rehearsePod creates a Pod without storing it, and returns it as it would be admitted, with what a LimitRange or a
// webhook gives it, as far as Kubernetes says that. Admission comes before the clash of names
// (kubernetes/kubernetes:staging/src/k8s.io/apiserver/pkg/registry/generic/registry/dryrun.go), so a name that is taken
// by the Pod that runs means that its successor would be admitted. A webhook that cannot be rehearsed with gives no
// verdict.
func (s step) rehearsePod(ctx context.Context, successor *corev1.Pod, e exchange) (*corev1.Pod, error) {
	admitted := successor.DeepCopy() // others count it meanwhile
	err := s.Client.Create(ctx, admitted, FieldOwner, ctrlclient.DryRunAll)
	switch {
	case err == nil:
		return admitted, nil
	case apierrors.IsAlreadyExists(err), says("does not support dry run")(err):
		return successor, nil
	case overQuota.MatchString(err.Error()):
		return successor, s.rehearseQuotas(ctx, e, "the start of Pod "+successor.Name, err.Error())
	}
	return nil, Answer(err, "rehearsing the start of Pod "+successor.Name)
}
