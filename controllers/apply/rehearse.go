package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// withNothingStopped says so of what a rehearsal refused, and what else a person can do where they changed something.
func withNothingStopped(err error, seen Seen, change changes.Change) error {
	var refused Rejected
	if !errors.As(err, &refused) {
		return err
	}
	refused = refused.and("Nothing was stopped for it.")
	switch c := change.(type) {
	case changes.EvictPod:
		return refused.and(wayBack(seen, c.Pod.Name, c.Successor.Settings))
	case changes.WriteSettings:
		return refused.and(wayBack(seen, c.Volumes[0].Name, c.Settings))
	default:
		return refused
	}
}

// wayBack says how a person has a member go on with the settings that it runs with.
func wayBack(seen Seen, member string, wanted facts.Settings) string {
	r, _ := facts.Find(seen.Current.Members, member)
	return "To leave the members as they are, " + cmp.Or(wanted.Undo(r.RunsWith()), "undo the change of the spec") + "."
}

// rehearse asks Kubernetes whether it would admit what a change leads to, before anything that runs is stopped for it,
// or a member is removed: quotas, Pod Security and webhooks may have been tightened since the members' Pods were made.
func (s step) rehearse(ctx context.Context, change changes.Change) error {
	switch c := change.(type) {
	case changes.EvictPod:
		if c.Fences {
			return nil
		}
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
	case changes.LabelRole:
		if c.Before == (changes.StartDefrag{}) {
			return nil
		}
		return s.rehearseDefrag(ctx, c.Before)
	case changes.SwitchOver:
		return s.rehearseMove(ctx, c.Successors)
	case changes.RemoveMember:
		return s.rehearseReplacement(ctx, c)
	default:
		return nil
	}
}

// rehearseDefrag rehearses the Pod for which clients are led away from a member.
func (s step) rehearseDefrag(ctx context.Context, c changes.StartDefrag) error {
	pod, err := s.defragPod(ctx, c)
	if err != nil {
		return err
	}
	_, err = s.rehearsePod(ctx, pod, exchange{successors: []*corev1.Pod{pod}})
	return err
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
	return rejectedBy(exceeded, "Kubernetes would refuse the next members")
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
	if err := s.needSecret(ctx, start); err != nil {
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
		return successor, s.rehearseQuotas(ctx, e, "the new Pod "+successor.Name, err.Error())
	}
	return nil, Answer(err, "Kubernetes would refuse the new Pod "+successor.Name)
}

// kubeAnswers sort what the API server says. The first that fits wins: the namespace that is being deleted is a 403
// too, and a webhook's word may come with any code.
var kubeAnswers = []struct {
	fits func(error) bool
	as   func(message string) error
}{
	{isNamespaceTerminating, namespaceGoes},
	{isBudget, later(LaterBudget)},
	{says("more than one PodDisruptionBudget"), rejected(RejectedBudgets)},
	{says("status unknown for quota"), later(LaterBusy)},
	{says("error looking up service account"), later(LaterMissing)}, // of a namespace that is a moment old
	{says("exceeded quota", "failed quota", "insufficient quota"), rejected(RejectedQuota, quotaRemedy)},
	{says(lacksExpansion), rejected(RejectedExpansion, expansionRemedy)},
	{says("violates PodSecurity"), rejected(RejectedPodSecurity, podSecurityRemedy)},
	{says("admission webhook", "failed calling webhook", "ValidatingAdmissionPolicy"),
		rejected(RejectedAdmission, admissionRemedy)},
	{apierrors.IsConflict, later(LaterConflict)},
	{isBusy, later(LaterBusy)},
	{apierrors.IsForbidden, rejected(RejectedForbidden)},
	{apierrors.IsInvalid, rejected(RejectedInvalid)},
	{apierrors.IsBadRequest, rejected(RejectedInvalid)},
	{apierrors.IsNotFound, later(LaterMissing)},
}

// lacksExpansion is said of a claim whose StorageClass does not allow it to grow, or is gone. Quotas are asked later,
// in words of their own (kubernetes/kubernetes:plugin/pkg/admission/storage/persistentvolume/resize/admission.go).
const lacksExpansion = "the storageclass that provisions the pvc must support resize"

// namespaceGoes says what it means that the namespace is being deleted: Kubernetes says only what it forbids there.
func namespaceGoes(message string) error {
	doing, _, _ := strings.Cut(message, ": ")
	return Later{Reason: LaterTerminating, Message: "The namespace of the cluster is being deleted, which cannot be " +
		"called off (" + doing + "). Kubernetes deletes the cluster with all its claims and Secrets, also with " +
		"deletionPolicy Retain. What is on a volume stays only where its PersistentVolume has the reclaim policy " +
		"Retain."}
}

// What helps against those that say only what they refuse.
const (
	quotaRemedy       = "Raise the ResourceQuota."
	podSecurityRemedy = "A webhook adds that to the Pod: the operator makes it as Pod Security restricted asks. " +
		"Exclude the cluster's Pods from that webhook."
	expansionRemedy = "Its StorageClass needs allowVolumeExpansion: true. Where it cannot have that, set " +
		"spec.storage.expand: Replace, and members move to larger volumes, one at a time. Or put spec.storage.size, " +
		"or spec.maintenance.autoGrow.limit, back."
	admissionRemedy = "Have that policy or webhook admit it."
)

// Answer gives what the API server answered the type by which it is treated: Later, Rejected or, for what is neither,
// the error itself. doing says what was being done to what.
func Answer(err error, doing string) error {
	if err == nil {
		return nil
	}
	for _, answer := range kubeAnswers {
		if answer.fits(err) {
			return answer.as(doing + ": " + said(err))
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func later(reason string) func(string) error {
	return func(message string) error { return Later{Reason: reason, Message: message} }
}

func rejected(reason string, remedy ...string) func(string) error {
	return func(message string) error {
		refused := Rejected{Reason: reason, Message: strings.TrimSuffix(message, ".")}
		for _, sentence := range remedy {
			refused = refused.and(sentence)
		}
		return refused
	}
}

// says looks into the text of an answer of the API server, where causes are not told apart by code.
func says(signs ...string) func(error) bool {
	return func(err error) bool {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			return false
		}
		return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(err.Error(), sign) })
	}
}

// said is what the API server said, in one line. Policies name themselves after a line break, and say what helps after
// a full stop. Which budget forbids an eviction, only the cause of the refusal tells.
func said(err error) string {
	text := words.Bounded(err.Error())
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok && cause.Message != "" {
		return words.Bounded(strings.TrimSuffix(text, ".") + ": " + cause.Message)
	}
	return text
}

// isBudget tells the budget's 429 from that of an API server under load.
func isBudget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err)
}

// etcdAnswers sort what etcd says when it does not do what it was asked.
var etcdAnswers = []struct {
	err    error
	reason string
}{
	{client.ErrUnhealthy, LaterNotReady},
	{client.ErrLearnerNotReady, LaterNotReady},
	{client.ErrNotEnoughStarted, LaterNotReady},
	{client.ErrTooManyLearners, LaterNotReady},
	{client.ErrNoLeader, LaterNoLeader},
}

// etcdError is Answer for etcd. What it does not know is an error of our call.
func etcdError(err error, doing string) error {
	if err == nil {
		return nil
	}
	message := doing + ": " + words.Bounded(err.Error())
	for _, answer := range etcdAnswers {
		if errors.Is(err, answer.err) {
			return Later{Reason: answer.reason, Message: message}
		}
	}
	switch {
	case client.IsAuth(err), client.IsDowngradeRefused(err):
		return Rejected{Reason: RejectedEtcd, Message: message}
	case client.IsRetryLater(err): // timeouts among them: whether it was done, the next look shows
		return Later{Reason: LaterUnknown, Message: message}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
