package apply

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// evict holds evictions to what a real API server checks and the fake does not: the preconditions.
func (w *world) evict(ctx context.Context, _ ctrlclient.Client, name string, object, body ctrlclient.Object,
	_ ...ctrlclient.SubResourceCreateOption) error {
	eviction, ok := body.(*policyv1.Eviction)
	if !ok || name != "eviction" || eviction.DeleteOptions == nil || eviction.DeleteOptions.Preconditions == nil {
		w.wrong("%s of %s is not an eviction of one Pod and no other", name, object.GetName())
		return nil
	}
	p := eviction.DeleteOptions.Preconditions
	if p.UID == nil || p.ResourceVersion != nil || eviction.DeleteOptions.GracePeriodSeconds != nil {
		w.wrong("%s is evicted by %+v", object.GetName(), eviction.DeleteOptions)
		return nil
	}
	return w.call(true, "evict "+object.GetName(), func() error {
		if w.eviction != nil {
			if err := w.eviction(ctx); err != nil {
				return err
			}
		}
		there := &corev1.Pod{}
		if err := w.inner.Get(ctx, ctrlclient.ObjectKeyFromObject(object), there); err != nil {
			return err
		}
		if there.UID != *p.UID {
			return apierrors.NewConflict(pods, there.Name, errors.New("a precondition failed"))
		}
		return w.inner.Delete(ctx, there)
	})
}

func overBudget() error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    policyv1.DisruptionBudgetCause,
		Message: "The disruption budget demo needs 2 healthy pods and has 2 currently",
	}}
	return err
}

func TestWhatAnEvictionIsAnsweredIsToldApart(t *testing.T) {
	const sentence = "evicting Pod demo-0: Cannot evict pod as it would violate the pod's disruption budget: " +
		"The disruption budget demo needs 2 healthy pods and has 2 currently"
	for name, row := range map[string]struct {
		answer error
		as     func(error) bool
	}{
		"it is gone already": {apierrors.NewNotFound(pods, "demo-0"),
			func(err error) bool { return err == nil }},
		"it moved": {apierrors.NewConflict(pods, "demo-0", nil),
			func(err error) bool { return errors.Is(err, ErrStale) }},
		"the budget forbids it": {overBudget(), func(err error) bool {
			return isLater(err, LaterBudget) &&
				err.Error() == sentence
		}},
		"the API server is under load": {apierrors.NewTooManyRequests("slow down", 1),
			func(err error) bool { return isLater(err, LaterBusy) }},
		"two budgets cover it": {status(http.StatusInternalServerError, severalBudgets),
			func(err error) bool { return isRejected(err, RejectedBudgets) }},
		"the operator may not evict": {forbidden(`User "steward" cannot create resource "pods/eviction"`),
			func(err error) bool { return isRejected(err, RejectedForbidden) }},
		"the connection breaks": {errLost, func(err error) bool { return errors.Is(err, errLost) }},
		"the namespace is being deleted": {terminating(),
			func(err error) bool { return isLater(err, LaterTerminating) }},
	} {
		w := newWorld(t, demo())
		wholeCluster(t, w)
		w.eviction = func(context.Context) error { return row.answer }
		if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0"))}); !row.as(err) {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}

const severalBudgets = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

func TestARefusalForSeveralBudgetsNamesTheOnesThatAreNotTheOperators(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.eviction = func(context.Context) error { return status(http.StatusInternalServerError, severalBudgets) }
	said := func() string {
		return w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0"))}).Error()
	}
	if got := said(); !strings.Contains(got, "support. kubectl get pdb -n prod lists them: delete each that selects this Pod beside demo, ") {
		t.Errorf("where none is found: %s", got)
	}
	labels := w.pod(t, "demo-0").Labels
	for name, selector := range map[string]*metav1.LabelSelector{
		"demo": {MatchLabels: labels}, "platform": {MatchLabels: labels}, "all": {}, "none": nil,
		"others": {MatchLabels: map[string]string{"app": "shop"}},
	} {
		w.put(t, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}})
	}
	if got := said(); !strings.Contains(got, "The operator's own is prod/demo, and the Pod is also selected by prod/all, prod/platform. ") ||
		!strings.HasSuffix(got, "or delete it: kubectl delete pdb all platform -n prod.") {
		t.Errorf("where two are found: %s", got)
	}
}

func TestNoOtherPodThanTheOneThatWasMeantIsEvicted(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: facts.PodRef{Name: "demo-0", UID: "an earlier one"}}); !errors.Is(
		err, ErrStale) || w.writes != 0 {
		t.Errorf("another of its name: %v, %d writes", err, w.writes)
	}
	// somebody deletes it, and it is made anew, between the look and the eviction
	w.eviction = func(context.Context) error {
		pod := w.pod(t, "demo-0")
		w.edit(t, pod, func() { pod.UID = "a later one" })
		return nil
	}
	if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0"))}); !errors.Is(err, ErrStale) {
		t.Errorf("one that was made anew: %v", err)
	}
	w.pod(t, "demo-0")
}

func TestAPodOfWhichItsKubeletSpeaksMeanwhileIsEvictedAllTheSame(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.eviction = func(context.Context) error {
		pod := w.pod(t, "demo-0")
		w.edit(t, pod, func() { pod.Annotations["moved"] = "yes" })
		return nil
	}
	if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0"))}); err != nil {
		t.Errorf("one that moved: %v", err)
	}
}

func TestAPodOnItsWayOutIsNotEvictedAgain(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	pod := w.pod(t, "demo-0")
	w.edit(t, pod, func() { pod.Finalizers = []string{"example.com/held"} })
	if err := w.inner.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(pod)}); err != nil || w.writes != 0 {
		t.Errorf("%v, %d writes", err, w.writes)
	}
}

func TestAnEvictionThatIsNotAnsweredIsNotWaitedForLongerThanALookIsBelieved(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	synctest.Test(t, func(t *testing.T) {
		w.eviction = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0"))})
		if !isLater(err, LaterBusy) || !strings.Contains(err.Error(), "demo-0") {
			t.Errorf("%T %v", err, err)
		}
	})
}
