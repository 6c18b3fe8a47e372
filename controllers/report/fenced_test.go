package report

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAFencedMemberIsNamedWithTheTimeSinceWhichItIsStopped(t *testing.T) {
	w := demo(3, begin).settled()
	w.podGone("demo-1").find("demo-1").ToFence = true
	w.written(t)
	since := meta.FindStatusCondition(w.cluster.Status.Conditions, v1alpha1.ConditionFenced)
	if since == nil || since.Status != metav1.ConditionTrue || !strings.Contains(since.Message, "Stopped, with the volume kept: demo-1.") {
		t.Fatalf("%+v", since)
	}
	w.later(48 * time.Hour).written(t)
	got := w.cluster.Status
	if again := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionFenced); !again.LastTransitionTime.Equal(&since.LastTransitionTime) {
		t.Errorf("two days later it is since %s", again.LastTransitionTime)
	}
	for kind, want := range map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: "False", v1alpha1.ConditionDegraded: "True",
		v1alpha1.ConditionAvailable: "True"} {
		if c := meta.FindStatusCondition(got.Conditions, kind); c.Status != want {
			t.Errorf("%s is %+v", kind, c)
		}
	}
	for _, kind := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(got.Conditions, kind); c != nil {
			t.Errorf("it has the condition %+v", c)
		}
	}
	if m := got.Members[1]; m.Healthy || m.Reason != facts.MemberFenced {
		t.Errorf("%+v", m)
	}
	w.find("demo-1").ToFence = false
	w.written(t)
	if c := meta.FindStatusCondition(w.cluster.Status.Conditions, v1alpha1.ConditionFenced); c != nil {
		t.Errorf("it is not fenced any more: %+v", c)
	}
}
