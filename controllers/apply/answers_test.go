package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

var pods = schema.GroupResource{Resource: "pods"}

func forbidden(text string) error { return apierrors.NewForbidden(pods, "demo-0", errors.New(text)) }

func status(code int32, text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: text}}
}

func terminating() error {
	err := apierrors.NewForbidden(pods, "demo-0", errors.New("unable to create new content in namespace prod because it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func TestWhatTheAPIServerAnswersIsToldApart(t *testing.T) {
	for _, row := range []struct {
		err    error
		reason string
		later  bool
	}{
		{forbidden("exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"), RejectedQuota, false},
		{forbidden("status unknown for quota: small, resources: pods"), LaterBusy, true},
		{forbidden("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"), RejectedExpansion, false},
		{forbidden("exceeded quota: disks, requested: requests.storage=12Gi, used: requests.storage=24Gi, limited: requests.storage=30Gi"), RejectedQuota, false},
		{forbidden(`admission webhook "x" denied the request: a class must support resize to be used`), RejectedAdmission, false},
		{forbidden(`violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`), RejectedPodSecurity, false},
		{forbidden(`admission webhook "policy.example.com" denied the request: no`), RejectedAdmission, false},
		{status(http.StatusInternalServerError, `Internal error occurred: failed calling webhook "x": connection refused`), RejectedAdmission, false},
		{forbidden(`User "steward" cannot create resource "pods"`), RejectedForbidden, false},
		{forbidden(`error looking up service account prod/default: serviceaccount "default" not found`), LaterMissing, true},
		{terminating(), LaterTerminating, true},
		{apierrors.NewConflict(pods, "demo-0", errors.New("the object has been modified")), LaterConflict, true},
		{apierrors.NewTooManyRequests("slow down", 1), LaterBusy, true},
		{apierrors.NewServiceUnavailable("not now"), LaterBusy, true},
		{apierrors.NewServerTimeout(pods, "create", 1), LaterBusy, true},
		{apierrors.NewTimeoutError("too long", 1), LaterBusy, true},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "demo-0", nil), RejectedInvalid, false},
		{apierrors.NewBadRequest("no"), RejectedInvalid, false},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "prod"), LaterMissing, true},
	} {
		err := Answer(fmt.Errorf("wrapped: %w", row.err), "creating Pod demo-0")
		if row.later && !isLater(err, row.reason) || !row.later && !isRejected(err, row.reason) {
			t.Errorf("%v became %T %+v, want %s", row.err, err, err, row.reason)
		}
		if !strings.Contains(err.Error(), "creating Pod demo-0") {
			t.Errorf("%v does not say what was being done", err)
		}
	}
}

// Pod Security says what it refuses, and not what a person can do. Kubernetes' policies name themselves.
func TestARefusalSaysWhatWasRefusedAndWhatToChange(t *testing.T) {
	for text, wants := range map[string][]string{
		`violates PodSecurity "restricted:latest": privileged (container "proxy" must not set securityContext.privileged=true)`: {
			`container "proxy" must not set`, "Exclude the cluster's Pods from that webhook."},
		"ValidatingAdmissionPolicy 'of-others' with binding 'of-others' denied request: failed to configure binding: no params found for " +
			"policy binding with `Deny` parameterNotFoundAction": {"'of-others'", "no params found"},
		"ValidatingAdmissionPolicy 'restricted-pods' with binding 'restricted-pods' denied request: pods prod/demo-0 has a container that is " +
			"privileged, may escalate privileges or keeps capabilities: proxy. If a webhook of yours adds this, keep it from these Pods.": {
			"capabilities: proxy", "keep it from these Pods"},
		"exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3": {"limited: pods=3. Raise the ResourceQuota."},
		`admission webhook "x" denied the request: no`:                            {"no. Have that policy or webhook admit it."},
	} {
		err := Answer(forbidden(text), "creating Pod demo-0")
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), "spec back") {
			t.Errorf("it may be a Pod that is deleted: %v", err)
		}
	}
}

func TestACallThatFailedStaysAnErrorOfItsOwn(t *testing.T) {
	for _, cause := range []error{errors.New("dial tcp: connection refused"), context.Canceled} {
		for _, err := range []error{Answer(cause, "creating"), etcdError(cause, "adding")} {
			if !errors.Is(err, cause) || errors.As(err, new(Later)) || errors.As(err, new(Rejected)) {
				t.Errorf("%v became %T %v", cause, err, err)
			}
		}
	}
	if Answer(nil, "x") != nil || etcdError(nil, "x") != nil {
		t.Error("success became an error")
	}
}

func TestWhatEtcdAnswersIsToldApart(t *testing.T) {
	for _, row := range []struct {
		err    error
		reason string
	}{
		{client.ErrUnhealthy, LaterNotReady}, {client.ErrLearnerNotReady, LaterNotReady}, {client.ErrTooManyLearners, LaterNotReady},
		{client.ErrNotEnoughStarted, LaterNotReady}, {client.ErrNoLeader, LaterNoLeader},
		{rpctypes.ErrTimeout, LaterUnknown}, {rpctypes.ErrLeaderChanged, LaterUnknown}, {context.DeadlineExceeded, LaterUnknown},
	} {
		if err := etcdError(fmt.Errorf("wrapped: %w", row.err), "x"); !isLater(err, row.reason) {
			t.Errorf("%v became %T %+v, want %s", row.err, err, err, row.reason)
		}
	}
	if err := etcdError(rpctypes.ErrPermissionDenied, "x"); !isRejected(err, RejectedEtcd) {
		t.Errorf("no permission became %T %v", err, err)
	}
}

func TestANamespaceThatIsDeletedIsToldWithWhatBecomesOfTheClaims(t *testing.T) {
	err := Answer(terminating(), "creating Pod demo-0")
	if !strings.HasPrefix(err.Error(), "The namespace of the cluster is being deleted") ||
		!strings.Contains(err.Error(), "all its claims and Secrets, also with deletionPolicy Retain") {
		t.Error(err)
	}
}

// Policy engines break lines and sentences before they say which policy it was, and what helps.
func TestARefusalIsToldWholeInOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Pod/prod/demo-0 was blocked due to the " +
			"following policies \n\nrequire-team:\n  check-label: 'validation error: the label team is required. Rule check-label failed at path /metadata/labels/team/'\n": "policies require-team: check-label: 'validation error: the label team is required. Rule check-label failed at path",
		"admission webhook \"validation.gatekeeper.sh\" denied the request: [pods-have-owner] missing owner\n[pods-have-limits] no limits": "[pods-have-owner] missing owner [pods-have-limits] no limits",
		"pods \"demo-0\" is forbidden: ValidatingAdmissionPolicy 'steward-pods' with binding 'steward' denied request: Pod demo-0 is privileged. Set the " +
			"label etcdsteward.dev/unrestricted-pods on the namespace.": "privileged. Set the label etcdsteward.dev/unrestricted-pods on the namespace.",
	} {
		err := Answer(status(http.StatusForbidden, text), "creating Pod demo-0")
		if !isRejected(err, RejectedAdmission) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is told as %v", text, err)
		}
	}
}
