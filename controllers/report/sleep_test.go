package report

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// sleeping is a cluster that served, and sleeps.
func sleeping() *scene {
	w := demo(3, begin).settled()
	w.o.Desired.Size, w.cluster.Spec.Size = 0, 0
	w.o.Current.Bootstrap.Asleep = true
	w.o.Budget = facts.Budget{}
	w.o.Current.Membership = facts.Membership{Why: "no member answers"}
	for i := range w.o.Current.Members {
		r := &w.o.Current.Members[i]
		r.Member, r.Pod, r.Answer = nil, nil, nil
	}
	return w
}

func TestAClusterThatSleepsIsAtRestAndItsStatusIsWrittenOnce(t *testing.T) {
	w := sleeping()
	w.written(t)
	got := w.cluster.Status
	for kind, want := range map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: "False", v1alpha1.ConditionAvailable: "False",
		v1alpha1.ConditionDegraded: "False", v1alpha1.ConditionUpToDate: "Unknown", v1alpha1.ConditionBackedUp: "Unknown"} {
		c := meta.FindStatusCondition(got.Conditions, kind)
		if c == nil || c.Status != want || c.Reason != facts.ReasonAsleep {
			t.Errorf("%s is %+v, want %s", kind, c, want)
		}
	}
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(got.Conditions, kind); c != nil {
			t.Errorf("it has the condition %+v", c)
		}
	}
	if got.Size != 0 || got.ReadyMembers != 0 || len(got.Members) != 3 || got.Members[0].ID == "" || got.ClusterID == "" ||
		len(got.Endpoints) == 0 {
		t.Errorf("%+v", got)
	}
	if again := Status(w.later(900 * time.Hour).input()); !reflect.DeepEqual(again, got) {
		t.Errorf("a month later it is another status: %+v", again)
	}
}

func TestOfAClusterThatSleepsNoMetricAsksForHelp(t *testing.T) {
	w := sleeping()
	w.written(t)
	v := Metrics(w.input(), w.cluster.Status)
	if !v.CertificateExpiry.IsZero() || v.Desired != 0 || v.Conditions[v1alpha1.ConditionDegraded] != "False" ||
		v.Conditions[v1alpha1.ConditionBackedUp] == "False" {
		t.Errorf("%+v", v)
	}
}

func TestThatAClusterFallsAsleepIsNoWarning(t *testing.T) {
	w := demo(3, begin).settled()
	w.heard(t)
	asleep := sleeping()
	asleep.cluster.Status = w.cluster.Status
	in := asleep.later(time.Minute).input()
	for _, e := range Events(in, Status(in)) {
		if e.Warning {
			t.Errorf("it is told as %+v", e)
		}
	}
}

func TestAClusterThatWakesIsCalledWhatItIs(t *testing.T) {
	w := sleeping()
	w.o.Desired.Size, w.cluster.Spec.Size = 3, 3
	w.written(t)
	c := meta.FindStatusCondition(w.cluster.Status.Conditions, v1alpha1.ConditionAvailable)
	if c.Reason != ReasonReadFailed || !strings.Contains(c.Message, "No quorum") {
		t.Errorf("%+v", c)
	}
}

func TestAClusterThatIsYetToFallAsleepIsDegradedWhereAMemberIsAway(t *testing.T) {
	w := demo(3, begin).settled()
	w.o.Desired.Size, w.cluster.Spec.Size = 0, 0
	w.o.Streaming = "a-backup"
	w.o.Current.Members[1].Answer = nil
	in := w.input()
	got := Status(in)
	c := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionDegraded)
	if c.Status != "True" || !strings.Contains(c.Message, "2 of 3 members are healthy") {
		t.Errorf("%+v", c)
	}
	if v := Metrics(in, got); v.Desired != 3 {
		t.Errorf("no alert tells that the next failure stops it: %d members are called desired", v.Desired)
	}
}
