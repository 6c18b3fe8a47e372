package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// waiting is a pass that waits, and tells something that changes all the time.
func (w *world) waiting(message string) report.Input {
	o := facts.Observation{Now: w.now, Desired: facts.Desired{Size: 3}}
	return report.Input{Cluster: w.cluster(), Observation: o, Decision: plan.Decision{
		Verdict: plan.Wait, Rule: "first-quorum", Reason: facts.ReasonFirstQuorum, Message: message,
	}}
}

// publish publishes a pass as Reconcile does.
func (w *world) publish(in report.Input) (time.Duration, error) {
	return w.operator.publish(w.t.Context(), in, report.Status(in))
}

func TestDetailsOfAStatusAreWrittenAtMostOnceInTwoSeconds(t *testing.T) {
	w := newWorld(t, demo(3))
	publish := func(message string) time.Duration {
		t.Helper()
		later, err := w.publish(w.waiting(message))
		if err != nil {
			t.Fatal(err)
		}
		return later
	}
	publish("one")
	w.now = w.now.Add(300 * time.Millisecond)
	if later := publish("two"); later != 1700*time.Millisecond || len(w.writes) != 1 {
		t.Errorf("it waits %s after %d writes", later, len(w.writes))
	}
	w.now = w.now.Add(1700 * time.Millisecond)
	if later := publish("three."); later != 0 || len(w.writes) != 2 || w.status().NextStep.Message != "three." {
		t.Errorf("it waits %s after %d writes; %+v", later, len(w.writes), w.status().NextStep)
	}
}

func TestAConditionThatTurnsIsWrittenAtOnce(t *testing.T) {
	w := newWorld(t, demo(3))
	if _, err := w.publish(w.waiting("one")); err != nil {
		t.Fatal(err)
	}
	stalled := w.waiting("two")
	stalled.Decision.Verdict, stalled.Decision.NeedsHuman = plan.Refuse, true
	if later, err := w.publish(stalled); err != nil || later != 0 || len(w.writes) != 2 {
		t.Errorf("it waits %s after %d writes: %v", later, len(w.writes), err)
	}
}

func TestAStatusOfAnOlderStateOfTheClusterIsNotWritten(t *testing.T) {
	w := newWorld(t, demo(3))
	in := w.waiting("one")
	w.resize(5)
	if _, err := w.publish(in); err != nil {
		t.Fatal(err)
	}
	if next := w.status().NextStep; next != nil {
		t.Errorf("it was written: %+v", next)
	}
}

func TestWhatBecameDifferentIsToldOnlyOnceTheStatusIsStored(t *testing.T) {
	w := newWorld(t, demo(3))
	stalled := func() report.Input {
		in := w.waiting("somebody else's")
		in.Decision.Verdict, in.Decision.Reason, in.Decision.NeedsHuman = plan.Refuse, facts.ReasonNameTaken, true
		return in
	}
	publish := func(in report.Input) {
		t.Helper()
		if _, err := w.publish(in); err != nil {
			t.Fatal(err)
		}
	}
	stale := stalled()
	stale.Outcome = report.Outcome{Change: changes.AddLearner{Name: "demo-1"}, Applied: true}
	w.resize(5)
	publish(stale)
	if told := w.told(); len(told) != 1 || !strings.Contains(told[0], changes.EventAdded) {
		t.Errorf("with a status that could not be written it told %q", told)
	}
	publish(stalled())
	publish(stalled())
	if told := w.told(); len(told) != 1 || !strings.Contains(told[0], facts.ReasonNameTaken) {
		t.Errorf("with the status written it told %q", told)
	}
}

func TestTwoWebhooksThatRefuseInTurnAreToldOnceAMinuteAndWhatIsNewAtOnce(t *testing.T) {
	w := newWorld(t, demo(3))
	refuse := func(message string) string {
		t.Helper()
		w.now = w.now.Add(10 * time.Second)
		in := w.waiting("creates a Pod")
		in.Outcome = report.Outcome{Rejected: true, Reason: "AdmissionRefused", Message: message}
		if _, err := w.publish(in); err != nil {
			t.Fatal(err)
		}
		return w.status().NextStep.Message
	}
	for range 9 { // three minutes
		refuse("webhook a denied it")
		refuse("webhook b denied it")
	}
	if len(w.writes) > 5 || len(w.told()) > 5 {
		t.Errorf("%d writes: %q", len(w.writes), w.writes)
	}
	if said := refuse("webhook c denied it"); !strings.HasPrefix(said, "webhook c denied it.") {
		t.Errorf("it still says %s", said)
	}
}

func TestProgressIsWrittenAsItComes(t *testing.T) {
	w := newWorld(t, demo(3))
	for _, share := range []string{"10 %", "20 %", "30 %", "40 %"} {
		w.now = w.now.Add(10 * time.Second)
		if _, err := w.publish(w.waiting("of the data " + share + " is there")); err != nil {
			t.Fatal(err)
		}
		if said := w.status().NextStep.Message; !strings.Contains(said, share) {
			t.Errorf("at %s it still says %s", share, said)
		}
	}
}

// told takes the events that were sent.
func (w *world) told() []string {
	var told []string
	for len(w.events.Events) > 0 {
		told = append(told, <-w.events.Events)
	}
	return told
}

func TestAStatusThatWasWipedIsWrittenAgain(t *testing.T) {
	w := newWorld(t, demo(1))
	w.settle()
	want := w.status()
	cluster := w.cluster()
	cluster.Status = v1alpha1.EtcdClusterStatus{}
	if err := w.kube.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if got := w.status(); got.NextStep == nil || got.ClusterID != want.ClusterID || len(got.Members) != 1 {
		t.Errorf("%+v", got)
	}
}
