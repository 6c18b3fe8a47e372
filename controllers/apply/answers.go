package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// kubeAnswers sort what the API server says. The first that fits wins: the namespace that is being deleted is a 403
// too, and a webhook's word may come with any code.
var kubeAnswers = []struct {
	fits func(error) bool
	as   func(message string) error
}{
	{isNamespaceTerminating, later(LaterTerminating)},
	{isBudget, later(LaterBudget)},
	{says("more than one PodDisruptionBudget"), rejected(RejectedBudgets)},
	{says("status unknown for quota"), later(LaterBusy)},
	{says("error looking up service account"), later(LaterMissing)}, // of a namespace that is a moment old
	{says("exceeded quota", "failed quota", "insufficient quota"), rejected(RejectedQuota)},
	{says("violates PodSecurity"), func(message string) error {
		return rejected(RejectedPodSecurity)(message + podSecurityRemedy)
	}},
	{says("admission webhook", "failed calling webhook", "ValidatingAdmissionPolicy"), rejected(RejectedWebhook)},
	{apierrors.IsConflict, later(LaterConflict)},
	{isBusy, later(LaterBusy)},
	{apierrors.IsForbidden, rejected(RejectedForbidden)},
	{apierrors.IsInvalid, rejected(RejectedInvalid)},
	{apierrors.IsBadRequest, rejected(RejectedInvalid)},
	{apierrors.IsNotFound, later(LaterMissing)},
}

// podSecurityRemedy is what helps against Pod Security, which says only what it refuses.
const podSecurityRemedy = ". What the operator makes passes restricted: keep the webhook that adds this from these " +
	"Pods, or loosen the label pod-security.kubernetes.io/enforce of the namespace."

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

func rejected(reason string) func(string) error {
	return func(message string) error { return Rejected{Reason: reason, Message: message} }
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
