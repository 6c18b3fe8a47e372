package kit

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How much one replica answers at most. Who may create an object can ask in a loop (`--dry-run=server`), and each
// answer costs a dozen reads. Requests to the API server wait for no limit on this side (QPS is -1 in
// controller-runtime:pkg/client/config), so that passes wait for no answer. What they share is the account's place in
// the API server's priority and fairness, of which few answers at once take little.
const (
	admitsASecond  = 1
	admitsInABurst = 60 // a directory that a tool applies
	admitsAtOnce   = 8
)

// Webhook is what answers about all kinds have in common.
type Webhook struct {
	reviews Reviews
	rate    *rate.Limiter
	busy    chan struct{}
	now     func() time.Time
}

// Reviews says what a user may do, as the API server does.
type Reviews interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (
		*authorizationv1.SubjectAccessReview, error)
}

// NewWebhook makes one for an install that the API server asks about objects.
func NewWebhook(reviews Reviews) *Webhook {
	return &Webhook{reviews: reviews, rate: rate.NewLimiter(admitsASecond, admitsInABurst),
		busy: make(chan struct{}, admitsAtOnce), now: time.Now}
}

// begin reports whether one more answer is within the bound. It never waits. Where it is, end has to follow.
func (w *Webhook) begin() bool {
	select {
	case w.busy <- struct{}{}:
	default:
		return false
	}
	if !w.rate.AllowN(w.now(), 1) {
		w.end()
		return false
	}
	return true
}

func (w *Webhook) end() { <-w.busy }

// MayGet reports whether the user who writes an object may get all objects of these resources in its namespace. A user
// is not told of what the user may not get.
type MayGet func(ctx context.Context, resources ...corev1.ResourceName) (bool, error)

// mayGet asks about a user. The review that names the user comes from the API server, or nothing is answered.
func (w *Webhook) mayGet(user authenticationv1.UserInfo, namespace string) MayGet {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	return func(ctx context.Context, resources ...corev1.ResourceName) (bool, error) {
		for _, resource := range resources {
			review, err := w.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get",
						Version: corev1.SchemeGroupVersion.Version, Resource: string(resource)},
				}}, metav1.CreateOptions{})
			if err != nil {
				return false, fmt.Errorf("asking whether %s may get %s in the namespace %s: %w", user.Username,
					resource, namespace, err)
			}
			if !review.Status.Allowed {
				return false, nil
			}
		}
		return true, nil
	}
}
