package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// applyObjects makes or puts right what the cluster needs beside Pods and volumes, and the labels of these: authorities
// first, since everything else that holds a certificate is issued from them as the API server has them.
func (s step) applyObjects(ctx context.Context, c changes.ApplyObjects) error {
	var authorities, others []facts.Object
	for _, object := range c.Objects {
		if object.Kind == resources.KindSecret && resources.IsAuthority(s.cluster, object.Name) {
			authorities = append(authorities, object)
		} else {
			others = append(others, object)
		}
	}
	issuer := &issuer{step: s}
	if err := each(ctx, authorities, issuer.ensureAuthority); err != nil {
		return err
	}
	return together(
		func() error { return each(ctx, c.Secrets, issuer.ensureMember) },
		func() error { return each(ctx, others, issuer.applyObject) },
	)
}

func (i *issuer) applyObject(ctx context.Context, object facts.Object) error {
	switch {
	case object.Kind == resources.KindSecret:
		return i.ensureNamed(ctx, object)
	case object.Kind == resources.KindService && object.Name == resources.PeerService(i.cluster.Name):
		return i.correctPeerService(ctx)
	case object.Kind == resources.KindService && object.Name == resources.ClientService(i.cluster.Name):
		return i.ensureClientService(ctx, object)
	case object.Kind == resources.KindPolicy:
		return i.ensureNetworkPolicy(ctx)
	case object.Kind == resources.KindPod:
		return i.relabelPod(ctx, object.Name)
	case object.Kind == resources.KindVolume:
		return i.relabelVolume(ctx, object.Name)
	}
	return fmt.Errorf("applying %s %s: this cluster has no such object", object.Kind, object.Name)
}

// correctPeerService never creates: without its birth record the Service would be worse than none.
func (s step) correctPeerService(ctx context.Context) error {
	want := resources.PeerServiceShape(s.cluster)
	have, err := s.find(ctx, resources.KindService, want)
	if err != nil {
		return err
	}
	if have == nil {
		return ErrStale
	}
	return s.correctService(ctx, have.(*corev1.Service), want)
}

func (s step) ensureClientService(ctx context.Context, seen facts.Object) error {
	want := resources.ClientServiceByRole(s.cluster, seen.ByRole)
	if seen.State == facts.ObjectAbsent {
		_, err := s.create(ctx, resources.KindService, want)
		return err
	}
	have, err := s.find(ctx, resources.KindService, want)
	switch {
	case err != nil:
		return err
	case have == nil:
		return ErrStale
	}
	refusal := keepFirstFamily(have.(*corev1.Service), want)
	if err := s.correctService(ctx, have.(*corev1.Service), want); err != nil {
		return err
	}
	return refusal
}

// keepFirstFamily leaves families out that the API server would refuse, so that the rest is put right, and says so in
// the user's words: a Service keeps its address, and so its first family. A headless one has none and may change.
func keepFirstFamily(have, want *corev1.Service) error {
	has, asked := have.Spec.IPFamilies, want.Spec.IPFamilies
	if len(has) == 0 || len(asked) == 0 || has[0] == asked[0] {
		return nil
	}
	want.Spec.IPFamilies, want.Spec.IPFamilyPolicy = nil, have.Spec.IPFamilyPolicy
	return Rejected{Reason: RejectedInvalid, Message: fmt.Sprintf(
		"Service %s has %s first, which Kubernetes never changes, and spec.service.ipFamilies begins with %s. The "+
			"Service stays as it is. Put %s first, or delete the Service: the operator creates it again, with "+
			"another address", have.Name, has[0], asked[0], has[0])}
}

func (s step) correctService(ctx context.Context, have, want *corev1.Service) error {
	if err := s.remark(ctx, resources.KindService, have); err != nil || resources.ServiceDrift(have, want) == "" {
		return err
	}
	resources.KeepFamilies(have, want)
	resources.KeepAccess(have, want)
	return s.serverSideApply(ctx, have, want, serviceFields)
}

// ensureNetworkPolicy makes the NetworkPolicy or puts it right; where the spec asks for none, it deletes it.
func (s step) ensureNetworkPolicy(ctx context.Context) error {
	if s.cluster.Spec.NetworkPolicy == nil {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{
			Name: resources.NetworkPolicy(s.cluster.Name)}}
		return s.delete(ctx, resources.KindPolicy, policy, "")
	}
	want := resources.BuildNetworkPolicy(s.cluster, s.Operator)
	have, err := s.find(ctx, resources.KindPolicy, want)
	switch {
	case err != nil:
		return err
	case have == nil:
		_, err = s.create(ctx, resources.KindPolicy, want)
		return err
	}
	policy := have.(*networkingv1.NetworkPolicy)
	if err := s.remark(ctx, resources.KindPolicy, policy); err != nil ||
		resources.NetworkPolicyDrift(policy, want) == "" {
		return err
	}
	return s.serverSideApply(ctx, policy, want, func(map[string]any) {})
}

// deleteSecret deletes the certificates of a member that is gone.
func (s step) deleteSecret(ctx context.Context, c changes.DeleteSecret) error {
	name := resources.MemberSecret(c.Name)
	return s.delete(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, c.UID)
}
