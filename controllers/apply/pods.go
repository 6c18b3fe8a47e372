package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// startPods creates members' Pods on the data they have, or a learner's first. Without the Secret that it mounts a Pod
// would hang, so that one must be there.
func (s step) startPods(ctx context.Context, c changes.StartPods) error {
	return each(ctx, c.Pods, func(ctx context.Context, start changes.Start) error {
		if err := s.needSecret(ctx, start); err != nil {
			return err
		}
		err := s.startPod(ctx, start)
		var refused Rejected
		if start.Flags == facts.FlagsSealed && errors.As(err, &refused) {
			return refused.and("The operator does not replace " + start.Name +
				" meanwhile: a new member may meet the same.")
		}
		return err
	})
}

func (s step) needSecret(ctx context.Context, start changes.Start) error {
	if !start.Settings.Transport.HasCertificates() {
		return nil
	}
	member := start.Name
	name := resources.MemberSecret(member)
	found, err := s.find(ctx, resources.KindSecret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return err
	}
	if found == nil || !resources.HasEveryKey(found.(*corev1.Secret).Data,
		resources.MemberCertificates(s.cluster, member, s.Domain)) {
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
	inputs, err := resources.DecodeInputs(start.Settings.Inputs)
	if err != nil {
		return nil, Rejected{Reason: RejectedUnreadable,
			Message: fmt.Sprintf("starting member %s: %v", start.Name, err)}
	}
	inputs.Ephemeral = s.emptyDirOf(start.Name)
	platform, err := s.ForMembers(ctx)
	if err != nil {
		return nil, err
	}
	return resources.BuildPod(s.cluster, resources.PodStart{
		Name: start.Name, Incarnation: s.incarnationOf(start.Name), Token: s.view.Current.Bootstrap.Token,
		Flags: resources.StartFlags(start.Flags), Initial: start.Initial, Inputs: inputs, Role: start.Role,
		Operator: s.Operator, Platform: platform, SelectedByName: s.view.SelectedByName,
		HasWAL: s.hasWAL(start.Name), Leaving: start.Leaving,
	})
}

// emptyDirOf is where a member has its data in its Pod; nil for one on a volume. One that was not seen yet has it where
// the spec asks for it.
func (s step) emptyDirOf(name string) *v1alpha1.EphemeralSpec {
	for _, in := range append([]facts.Incarnation{s.view.Current, s.view.Next}, s.view.Former...) {
		if r, isSeen := facts.Find(in.Members, name); isSeen && !r.Ephemeral {
			return nil
		} else if isSeen {
			return &v1alpha1.EphemeralSpec{Medium: corev1.StorageMedium(r.Medium)}
		}
	}
	if !s.cluster.Spec.IsEphemeral() {
		return nil
	}
	return s.cluster.Spec.Storage.Ephemeral
}

// checkStart refuses the unthinkable, although the planner decided it: a bootstrap that was given up, or of somebody
// who is not a first member, and a list that the member is not on. A first member may still be bootstrapped when the
// cluster lives already: the others found each other without it.
func (s step) checkStart(start changes.Start) error {
	bootstrap := s.view.Current.Bootstrap
	if !bootstrap.Exists() || bootstrap.Void {
		return ErrStale
	}
	switch start.Flags {
	case facts.FlagsSealed:
		return nil
	case facts.FlagsBootstrap:
		if !slices.Contains(bootstrap.Names, start.Name) {
			return ErrStale
		}
	case facts.FlagsJoin:
		if len(start.Initial) < 2 {
			return fmt.Errorf("starting member %s: there is no member to join", start.Name)
		}
	default:
		return fmt.Errorf("starting member %s: no Pod starts with flags %q", start.Name, start.Flags)
	}
	own := etcdutil.NamedURL{Name: start.Name,
		URL: resources.PeerURLOf(s.cluster, start.Name, start.Settings.Transport)}
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
	return s.view.Current.Bootstrap.Incarnation
}

// deletePods deletes Pods, each with the time it asks for. Those of a restore are named by their members.
func (s step) deletePods(ctx context.Context, pods []facts.PodRef, named func(string) *corev1.Pod) error {
	return each(ctx, pods, func(ctx context.Context, pod facts.PodRef) error {
		return s.delete(ctx, resources.KindPod, named(pod.Name), pod.UID)
	})
}

func podNamed(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func restoreNamed(member string) *corev1.Pod { return podNamed(resources.RestorePod(member)) }

// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// evictPod stops a member on purpose, by an eviction and never by a delete: the API server takes the slot of the
// disruption budget in one step with all others who evict, so that a drain and the operator never stop a member each
// (kubernetes/kubernetes:pkg/registry/core/pod/storage/eviction.go). It goes by its UID alone: the slot is taken before
// preconditions are looked at, and one that fails on a resource version, which moves with each word of the kubelet,
// would hold its slot against everybody for two minutes.
func (s step) evictPod(ctx context.Context, c changes.EvictPod) error {
	live, err := s.find(ctx, resources.KindPod, podNamed(c.Pod.Name))
	switch {
	case err != nil:
		return err
	case live == nil:
		return nil
	case live.GetUID() != types.UID(c.Pod.UID):
		return ErrStale
	case live.GetDeletionTimestamp() != nil:
		return nil
	case c.PastBudget:
		return s.delete(ctx, resources.KindPod, podNamed(c.Pod.Name), c.Pod.UID)
	}
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: new(live.GetUID()),
	}}}
	// While a budget is being worked out, the client would wait and ask again by itself, long after the look that this
	// was confirmed on.
	limited, cancel := context.WithTimeout(ctx, lookLasts)
	defer cancel()
	err = s.Client.SubResource("eviction").Create(limited, live, eviction)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return ErrStale
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return Later{Reason: LaterBusy,
			Message: fmt.Sprintf("evicting Pod %s: no answer within %s", c.Pod.Name, lookLasts)}
	}
	return s.namingBudgets(ctx, live.GetLabels(), Answer(err, "evicting Pod "+c.Pod.Name))
}

// dressPods puts the labels and annotations of the spec on Pods that run, and takes off those that left the spec. What
// that is, each Pod says as it is now.
func (s step) dressPods(ctx context.Context, c changes.DressPods) error {
	return each(ctx, c.Pods, func(ctx context.Context, ref facts.PodRef) error {
		found, err := s.findSeen(ctx, resources.KindPod, podNamed(ref.Name), ref.UID)
		if err != nil {
			return err
		}
		dressing := resources.DressingOf(s.cluster, found.(*corev1.Pod))
		if dressing.IsZero() {
			return nil
		}
		return s.patchMetadata(ctx, resources.KindPod, podNamed(ref.Name), ref.UID, metadataPatch(dressing))
	})
}

// restoreInputs writes on a Pod again what it was made from, where its data is included.
func (s step) restoreInputs(ctx context.Context, c changes.RestoreInputs) error {
	in, err := resources.DecodeInputs(c.Settings.Inputs)
	if err != nil {
		return Rejected{Reason: RejectedUnreadable,
			Message: fmt.Sprintf("writing on the Pod of %s what it was made from: %v", c.Pod.Name, err)}
	}
	in.Ephemeral = s.emptyDirOf(c.Pod.Name)
	text := in.Canonical()
	patch := metadataPatch{Annotations: map[string]*string{v1alpha1.AnnotationInputs: &text}}
	return s.patchMetadata(ctx, resources.KindPod, podNamed(c.Pod.Name), c.Pod.UID, patch)
}

// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch

// resizePod gives a Pod that runs other amounts, then writes on it what it was made from: pods/resize takes no
// annotations. Where only the first was done the Pod says what it had before, and the same change is wanted again.
func (s step) resizePod(ctx context.Context, c changes.ResizePod) error {
	live, err := s.podOf(ctx, c.Pod.Name)
	switch {
	case err != nil:
		return err
	case live == nil || live.UID != types.UID(c.Pod.UID) || live.DeletionTimestamp != nil:
		return ErrStale
	}
	in, err := resources.DecodeInputs(c.Settings.Inputs)
	if err != nil {
		return Rejected{Reason: RejectedUnreadable,
			Message: fmt.Sprintf("writing on the Pod of %s what it was made from: %v", c.Pod.Name, err)}
	}
	body, err := resources.ResizePatch(live, in)
	if err != nil {
		return err
	}
	doing := "changing CPU and memory of Pod " + c.Pod.Name
	patch := ctrlclient.RawPatch(types.StrategicMergePatchType, body)
	err = s.Client.SubResource("resize").Patch(ctx, live, patch, FieldOwner)
	switch {
	case apierrors.IsNotFound(err) && s.isAnother(ctx, podNamed(c.Pod.Name), c.Pod.Name, c.Pod.UID):
		return ErrStale
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return Rejected{Reason: RejectedInvalid, Message: fmt.Sprintf("%s: this Kubernetes has no pods/resize, which "+
			"1.33 and later have; the member is restarted instead", doing)}
	case err != nil:
		return Answer(err, doing)
	}
	return s.restoreInputs(ctx, changes.RestoreInputs(c))
}
