package kit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// flood is how many requests come at once, or within a second.
const flood = 200

// isPassedOver reports an object that is accepted because too many are asked about.
func isPassedOver(response admission.Response) bool {
	return response.Allowed && len(response.Warnings) == 1 && strings.Contains(response.Warnings[0], "is asked about more objects than")
}

func TestInAFloodFewRequestsAreLookedAtAtOnceAndAllOthersAreAcceptedWithoutAWait(t *testing.T) {
	webhook := NewWebhook(nil)
	looking, goOn := make(chan struct{}, flood), make(chan struct{})
	handler := served(t, webhook, func(context.Context, MayGet, *v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster) (Said, error) {
		if looking <- struct{}{}; len(looking) > admitsAtOnce {
			return Said{}, errors.New("too many look at once")
		}
		<-goOn
		return Said{}, nil
	})
	answered := make(chan admission.Response, flood)
	var all sync.WaitGroup
	for range flood {
		request := asked(t, 0, 1)
		all.Go(func() { answered <- handler.Handle(t.Context(), request) })
	}
	for range flood - admitsAtOnce { // these are answered while the others still look
		if response := <-answered; !isPassedOver(response) {
			t.Fatalf("%+v", response)
		}
	}
	close(goOn)
	all.Wait()
	for range admitsAtOnce {
		if response := <-answered; !response.Allowed || len(response.Warnings) > 0 {
			t.Errorf("%+v", response)
		}
	}
	if len(looking) != admitsAtOnce {
		t.Errorf("%d look at once", len(looking))
	}
}

func TestInAFloodSoManyRequestsAreLookedAtInASecondAndEachSecondAgain(t *testing.T) {
	now := time.Now()
	webhook := NewWebhook(nil)
	webhook.now = func() time.Time { return now }
	looked := 0
	handler := served(t, webhook, func(_ context.Context, _ MayGet, _, c *v1alpha1.EtcdCluster) (Said, error) {
		if looked++; c.Generation == 2 {
			panic("a bug")
		}
		return Said{}, nil
	})
	for second, want := range []int{admitsInABurst, admitsASecond, admitsASecond} {
		before, passedOver := looked, 0
		for i := range flood {
			if isPassedOver(handler.Handle(t.Context(), asked(t, 0, 1+int64(i%2)))) {
				passedOver++
			}
		}
		if looked-before != want || passedOver != flood-want {
			t.Errorf("second %d: %d are looked at, %d are passed over", second, looked-before, passedOver)
		}
		now = now.Add(time.Second)
	}
}

// rights is an API server that lets one user get these resources in the namespace shop.
type rights struct {
	t     *testing.T
	mayBe []corev1.ResourceName
	err   error
}

func (r rights) Create(_ context.Context, review *authorizationv1.SubjectAccessReview,
	_ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	asks := review.Spec.ResourceAttributes
	if review.Spec.User != "ann" || !slices.Equal(review.Spec.Groups, []string{"devs"}) || review.Spec.UID != "7" ||
		!slices.Equal(review.Spec.Extra["scopes"], []string{"all"}) || asks.Verb != "get" || asks.Group != "" || asks.Name != "" {
		r.t.Errorf("asked is %+v, %+v", review.Spec, asks)
	}
	review.Status.Allowed = asks.Namespace == "shop" && slices.Contains(r.mayBe, corev1.ResourceName(asks.Resource))
	return review, r.err
}

func TestWhatAUserMayGetIsAskedOfTheAPIServerForTheNamespaceOfTheRequest(t *testing.T) {
	const secrets, claims = corev1.ResourceSecrets, corev1.ResourcePersistentVolumeClaims
	for name, row := range map[string]struct {
		rights    rights
		namespace string
		want      bool
	}{
		"both":          {rights{mayBe: []corev1.ResourceName{secrets, claims}}, "shop", true},
		"one of two":    {rights{mayBe: []corev1.ResourceName{secrets}}, "shop", false},
		"elsewhere":     {rights{mayBe: []corev1.ResourceName{secrets, claims}}, "office", false},
		"no API server": {rights{err: errors.New("away")}, "shop", false},
	} {
		request := asked(t, 0, 1)
		request.Namespace = row.namespace
		request.UserInfo = authenticationv1.UserInfo{Username: "ann", UID: "7", Groups: []string{"devs"},
			Extra: map[string]authenticationv1.ExtraValue{"scopes": {"all"}}}
		row.rights.t = t
		served(t, NewWebhook(row.rights), func(ctx context.Context, mayGet MayGet, _, c *v1alpha1.EtcdCluster) (Said, error) {
			if got, err := mayGet(ctx, secrets, claims); got != row.want || !errors.Is(err, row.rights.err) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			if c.Namespace != row.namespace {
				t.Errorf("%s: what it names is looked for in %s", name, c.Namespace)
			}
			return Said{}, nil
		}).Handle(t.Context(), request)
	}
}
