package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// applyObjects makes or puts right what the cluster needs beside Pods and volumes, and the labels of these: CAs
// first, since everything else that holds a certificate is issued from them as the API server has them.
func (s step) applyObjects(ctx context.Context, c changes.ApplyObjects) error {
	var cas, others []facts.Object
	for _, object := range c.Objects {
		if object.Kind == resources.KindSecret && resources.IsCA(s.cluster, object.Name) {
			cas = append(cas, object)
		} else {
			others = append(others, object)
		}
	}
	issuer := &issuer{step: s}
	if err := each(ctx, cas, issuer.ensureCA); err != nil {
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

// correctPeerService never creates: without its bootstrap record the Service would be worse than none.
func (s step) correctPeerService(ctx context.Context) error {
	want := resources.PeerServiceShape(s.cluster)
	have, err := s.findSeen(ctx, resources.KindService, want, "")
	if err != nil {
		return err
	}
	return s.correctService(ctx, have.(*corev1.Service), want)
}

func (s step) ensureClientService(ctx context.Context, seen facts.Object) error {
	want := resources.ClientServiceByRole(s.cluster, seen.ByRole)
	if seen.State == facts.ObjectAbsent {
		_, err := s.create(ctx, resources.KindService, want)
		return err
	}
	have, err := s.findSeen(ctx, resources.KindService, want, "")
	if err != nil {
		return err
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

// followPolicy puts the ownership of volumes and CAs as deletionPolicy says. Each is named as it was seen: a
// list by labels would not show what lost its own. What follows the policy already is not written; other owners are
// left as they are.
func (s step) followPolicy(ctx context.Context, c changes.FollowPolicy) error {
	return each(ctx, c.Items, func(ctx context.Context, ref facts.DataRef) error {
		object, err := s.dataOf(ctx, ref.Kind, ref.Name, ref.UID)
		if err != nil || object == nil || object.GetDeletionTimestamp() != nil ||
			resources.FollowsPolicy(object, s.cluster.UID, c.Retain) {
			return err
		}
		return s.update(ctx, ref.Kind, object, func() { object.SetOwnerReferences(s.owners(object, c.Retain)) })
	})
}

func (s step) owners(object ctrlclient.Object, retain bool) []metav1.OwnerReference {
	owners := slices.DeleteFunc(slices.Clone(object.GetOwnerReferences()), func(ref metav1.OwnerReference) bool {
		return ref.UID == s.cluster.UID
	})
	if retain {
		return owners
	}
	return append(owners, resources.DataOwnerReference(s.cluster))
}

// dataOf reads what a change names, whoever it belongs to; what is another object by now, or is gone, is nil.
func (s step) dataOf(ctx context.Context, kind, name, uid string) (ctrlclient.Object, error) {
	var object ctrlclient.Object = &corev1.PersistentVolumeClaim{}
	if kind == resources.KindSecret {
		object = &corev1.Secret{}
	}
	err := s.Live.Get(ctx, ctrlclient.ObjectKey{Namespace: s.cluster.Namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(object.GetUID()) != uid:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind, name, err)
	}
	return object, nil
}

// setBudget creates, changes or deletes the PodDisruptionBudget. Changing it names the resource version that was read:
// a bound is lowered only from the bound that was seen.
func (s step) setBudget(ctx context.Context, c changes.SetBudget) error {
	want := resources.BuildBudget(s.cluster, c.MinAvailable)
	if c.MinAvailable == 0 {
		return s.delete(ctx, resources.KindBudget, want, "")
	}
	have, err := s.find(ctx, resources.KindBudget, want)
	if err != nil {
		return err
	}
	if have == nil {
		_, err := s.create(ctx, resources.KindBudget, want)
		return err
	}
	budget := have.(*policyv1.PodDisruptionBudget)
	if budget.DeletionTimestamp != nil {
		return Later{Reason: LaterTerminating, Message: "the disruption budget is still being deleted"}
	}
	if budget.Spec.MaxUnavailable != nil { // somebody's, and excludes a bound of ours: it is made anew
		if err := s.delete(ctx, resources.KindBudget, want, string(budget.UID)); err != nil {
			return err
		}
		_, err := s.create(ctx, resources.KindBudget, want)
		return err
	}
	if err := s.remark(ctx, resources.KindBudget, budget); err != nil {
		return err
	}
	if resources.BudgetBound(budget) == c.MinAvailable && resources.BudgetDrift(budget, want) == "" {
		return nil
	}
	want.ResourceVersion = budget.ResourceVersion
	return s.serverSideApply(ctx, budget, want, func(map[string]any) {})
}

// remark gives an object of ours the labels that it lost, without which the cache does not show it, and takes from data
// what others would take it for theirs by. Data says from then on that this install looks after it.
func (s step) remark(ctx context.Context, kind string, object ctrlclient.Object) error {
	change := resources.RemarkingBy(s.Operator, s.cluster, object, s.view.Current.Bootstrap)
	if change.IsZero() {
		return nil
	}
	if _, claims := change.Annotations[v1alpha1.AnnotationOperator]; claims {
		if err := s.stillClaimed(ctx); err != nil { // this is carried out on a look that may be an old one
			return err
		}
	}
	return s.patchMetadata(ctx, kind, object, string(object.GetUID()), metadataPatch(change))
}

// relabelPod gives a Pod that is there its labels back.
func (s step) relabelPod(ctx context.Context, name string) error {
	pod, err := s.findSeen(ctx, resources.KindPod, podNamed(name), "")
	if err != nil {
		return err
	}
	return s.remark(ctx, resources.KindPod, pod)
}

// relabelVolume does the same for a volume. One that does not even say whose it is has to be proven ours, by what is
// there now.
func (s step) relabelVolume(ctx context.Context, name string) error {
	found, err := s.findSeen(ctx, resources.KindVolume, claimNamed(name), "")
	if errors.As(err, new(NameTaken)) {
		claim, proofErr := s.prove(ctx, found)
		if proofErr != nil || claim == nil {
			return errors.Join(err, proofErr)
		}
		return s.remark(ctx, resources.KindVolume, claim)
	}
	if err != nil {
		return err
	}
	claim := found.(*corev1.PersistentVolumeClaim)
	return errors.Join(s.remark(ctx, resources.KindVolume, claim), s.nameHalf(ctx, claim))
}

// prove returns a claim if it is ours although it does not say so, nil otherwise.
func (s step) prove(ctx context.Context, found ctrlclient.Object) (*corev1.PersistentVolumeClaim, error) {
	claim := found.(*corev1.PersistentVolumeClaim)
	if isOurs, err := s.isOtherHalf(ctx, claim); isOurs || err != nil {
		return claim, err
	}
	there, err := s.find(ctx, resources.KindPod, podNamed(claim.Name))
	if err != nil && !errors.As(err, new(NameTaken)) {
		return nil, err
	}
	pod, _ := there.(*corev1.Pod)
	if !resources.IsProvenVolume(s.cluster, claim, s.view.Current.Bootstrap, pod) {
		return nil, nil
	}
	return claim, nil
}
