package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAClusterIsPutToSleepAndWokenByItsSize(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	sizeIs := func(want int32) {
		t.Helper()
		if c, err := s.cluster(t.Context(), "demo"); err != nil || c.Spec.Size != want {
			t.Errorf("spec.size is %d, want %d: %v", c.Spec.Size, want, err)
		}
	}
	if got := plugin(t, s, "wake", "demo"); got.code != 0 || !strings.Contains(got.out, "Nothing was written") {
		t.Errorf("a cluster that does not sleep is woken: %+v", got)
	}
	if got := plugin(t, s, "hibernate", "demo"); got.code != 0 || !strings.Contains(got.out, "kubectl etcd-steward wake demo -n prod --size 3") {
		t.Errorf("got %+v", got)
	}
	sizeIs(0)
	if got := plugin(t, s, "hibernate", "demo"); got.code != 0 || !strings.Contains(got.out, "Nothing was written") {
		t.Errorf("got %+v", got)
	}
	if got := plugin(t, s, "wake", "demo"); got.code != 0 || !strings.Contains(got.out, "wakes with 3 members") {
		t.Errorf("got %+v", got)
	}
	sizeIs(3)
	plugin(t, s, "hibernate", "demo")
	if got := plugin(t, s, "wake", "demo", "--size", "5"); got.code != 0 || !strings.Contains(got.out, "wakes with 5 members") {
		t.Errorf("got %+v", got)
	}
	sizeIs(5)
}

func TestWhoWakesAClusterOfNoKnownSizeIsAskedForIt(t *testing.T) {
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
	c.Status.Members = make([]v1alpha1.MemberStatus, 2)
	s := sessionOf([]client.Object{c}, interceptor.Funcs{})
	if got := plugin(t, s, "wake", "demo"); got.code != exitFailed || !strings.Contains(got.errOut, "Say with --size") {
		t.Errorf("got %+v", got)
	}
}

func TestAClusterThatSleepsIsCalledAsleep(t *testing.T) {
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: "Asleep",
		Message: "The cluster sleeps, because spec.size is 0."}}
	got := healthOf(seen{cluster: c})
	if q := quorumOf(c.Status); got.State != stateAsleep || got.Message != c.Status.Conditions[0].Message || q.State == quorumUnknown {
		t.Errorf("got %+v, and %+v of its quorum", got, q)
	}
}
