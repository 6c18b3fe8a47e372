package apply

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// startPods creates members' Pods on the data they have, or a learner's first. Without the Secret that it mounts a Pod
// would hang, so that one must be there.
func (s step) startPods(ctx context.Context, c changes.StartPods) error {
	return each(ctx, c.Pods, func(ctx context.Context, start changes.Start) error {
		if err := s.needSecret(ctx, start.Name); err != nil {
			return err
		}
		return s.startPod(ctx, start)
	})
}

func (s step) needSecret(ctx context.Context, member string) error {
	if !s.cluster.Spec.IsTLS() {
		return nil
	}
	name := resources.MemberSecret(member)
	found, err := s.find(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return err
	}
	if found == nil || !resources.HasEveryKey(found.(*corev1.Secret).Data,
		resources.MemberCertificates(s.cluster, member, s.ClusterDomain)) {
		return Later{Reason: LaterMissing,
			Message: fmt.Sprintf("Secret %s, which the Pod mounts, is not there or not complete", name)}
	}
	return nil
}

func (s step) startPod(ctx context.Context, start changes.Start) error {
	pod, err := s.buildPod(ctx, start)
	if err != nil {
		return err
	}
	_, err = s.create(ctx, resources.KindPod, pod)
	return err
}

// buildPod builds a member's Pod, once nothing speaks against its start.
func (s step) buildPod(ctx context.Context, start changes.Start) (*corev1.Pod, error) {
	if err := s.checkStart(start); err != nil {
		return nil, err
	}
	inputs, err := resources.DecodeInputs(start.Choices.Inputs)
	if err != nil {
		return nil, Rejected{Reason: RejectedUnreadable,
			Message: fmt.Sprintf("starting member %s: %v", start.Name, err)}
	}
	platformIDs, err := s.PlatformIDs.Ask(ctx)
	if err != nil {
		return nil, err
	}
	return resources.BuildPod(s.cluster, resources.PodStart{
		Name: start.Name, Incarnation: s.incarnationOf(start.Name), Token: s.view.Current.Birth.Token,
		Flags: resources.StartFlags(start.Flags), Initial: start.Initial, Inputs: inputs, Role: start.Role,
		Operator: s.Operator, PlatformIDs: platformIDs, Images: s.Images,
	})
}

// checkStart refuses the unthinkable, although the planner decided it: a birth that was given up, or of somebody who is
// not a first member, and a list that the member is not on. A first member may still be born when the cluster lives
// already: the others found each other without it.
func (s step) checkStart(start changes.Start) error {
	birth := s.view.Current.Birth
	if !birth.Exists() || birth.Void {
		return ErrStale
	}
	switch start.Flags {
	case facts.FlagsSealed:
		return nil
	case facts.FlagsBirth:
		if !slices.Contains(birth.Names, start.Name) {
			return ErrStale
		}
	case facts.FlagsJoin:
		if len(start.Initial) < 2 {
			return fmt.Errorf("starting member %s: there is no member to join", start.Name)
		}
	default:
		return fmt.Errorf("starting member %s: no Pod starts with flags %q", start.Name, start.Flags)
	}
	own := etcdutil.NamedURL{Name: start.Name, URL: resources.PeerURL(s.cluster, start.Name)}
	if !slices.Contains(start.Initial, own) || start.Role != "" {
		return fmt.Errorf("starting member %s: it is not on the list it starts with, or has a role before its seal",
			start.Name)
	}
	return nil
}

// incarnationOf is part of the path of a member's data: where a volume is, it knows best.
func (s step) incarnationOf(name string) string {
	for _, replica := range s.view.Current.Members {
		if replica.Name == name && replica.Volume != nil && replica.Volume.Incarnation != "" {
			return replica.Volume.Incarnation
		}
	}
	return s.view.Current.Birth.Incarnation
}

// deletePods deletes Pods, each with the time it asks for.
func (s step) deletePods(ctx context.Context, c changes.DeletePods) error {
	return each(ctx, c.Pods, func(ctx context.Context, pod facts.PodRef) error {
		return s.delete(ctx, resources.KindPod, podNamed(pod.Name), pod.UID)
	})
}

func podNamed(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
