package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// drops makes the API server accept what the operator writes to the client Service, and keep it as it was. It counts
// how often.
func (w *world) drops() (tries *int) {
	tries = new(int)
	w.onApplied = func() {
		if !w.isUndone() {
			*tries++
			undo(w)
		}
	}
	undo(w)
	return tries
}

func TestAChangeThatTheAPIServerDropsKeepsNoOtherRuleFromActing(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	tries := w.drops()
	w.delete(&corev1.Pod{}, "demo-1")
	w.kubelet()
	w.resize(1)
	for range 60 {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	if !w.isUndone() || *tries == 0 {
		t.Fatal("the API server kept the Service")
	}
	status := w.status()
	if status.Size != 1 || len(w.pods()) != 1 {
		t.Errorf("%d voters, %d Pods: the rules after scaffold starve", status.Size, len(w.pods()))
	}
	if next := status.NextStep; next.Rule != "scaffold" || next.Reason != facts.ReasonNoEffect ||
		next.Verdict != v1alpha1.VerdictBlocked {
		t.Errorf("the next step is %+v", next)
	}
	if ready := meta.FindStatusCondition(status.Conditions,
		v1alpha1.ConditionReady); ready.Reason != facts.ReasonNoEffect {
		t.Errorf("Ready is %+v", ready)
	}
	if told := strings.Join(w.told(), "\n"); strings.Count(told, facts.ReasonNoEffect) != 1 {
		t.Errorf("it told\n%s", told)
	}
	w.onApplied = nil
	w.settle()
}

func TestAChangeThatTheAPIServerDropsIsToldOnceAndTriedMoreAndMoreSlowly(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	tries := w.drops()
	w.told()
	before := len(w.writes)
	for began := w.now; w.now.Sub(began) < 10*time.Minute; {
		if _, err := w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	writes, told := len(w.writes)-before, w.told()
	isToldOnce := len(told) == 2 && strings.Contains(told[0], changes.EventObjectsApplied) &&
		strings.Contains(told[1], facts.ReasonNoEffect)
	if *tries < 20 || *tries > 30 || writes > 3 || !isToldOnce {
		t.Errorf("in 10 minutes it was tried %d times, the status was written %d times, and told %q", *tries, writes,
			told)
	}
}

func TestAProcessThatForgotAVainChangeRepeatsItOnceAndGoesOn(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	tries := w.drops()
	w.resize(1)
	for n := range 4 {
		w.restart()
		before := len(w.writes)
		w.look()
		if others := w.others(before); *tries != n+1 || len(others) > 0 {
			t.Fatalf("a process that knows nothing tried %d times, and wrote %q", *tries-n, others)
		}
	}
	before := len(w.writes)
	if w.look(); *tries != 4 || len(w.others(before)) == 0 {
		t.Errorf("the next pass tried it again, or nothing else: %d, %q", *tries, w.writes[before:])
	}
}

// others are the writes from the n-th on that are not of a status.
func (w *world) others(n int) (others []string) {
	for _, what := range w.writes[n:] {
		if !strings.HasPrefix(what, "patch status") {
			others = append(others, what)
		}
	}
	return others
}

func TestTheLogTellsThoseWhoAskForMoreWhatEachRuleSaid(t *testing.T) {
	for verbosity, isTold := range []bool{false, true} {
		w, told := newWorld(t, demo(3)), ""
		logger := funcr.New(func(_, line string) { told += line }, funcr.Options{Verbosity: verbosity})
		_, err := w.operator.Reconcile(log.IntoContext(t.Context(), logger), ctrl.Request{NamespacedName: w.key})
		if err != nil || !strings.Contains(told, `"rule"="birth-record"`) {
			t.Fatalf("%v, %s", err, told)
		}
		if strings.Contains(told, `nothing to say: other-operator, `) != isTold {
			t.Errorf("at verbosity %d it tells %s", verbosity, told)
		}
	}
}
