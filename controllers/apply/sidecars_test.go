package apply

import (
	"context"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestPastTheBudgetAPodIsDeletedAndNoOtherOfItsName(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	w.eviction = func(context.Context) error { return overBudget() }
	stale := changes.EvictPod{Pod: facts.PodRef{Name: "demo-0", UID: "an earlier one"}, PastBudget: true}
	if err := w.do(t, bootstrapped(), stale); err == nil || w.writes != 0 {
		t.Errorf("another of its name: %v, %d writes", err, w.writes)
	}
	if err := w.do(t, bootstrapped(), changes.EvictPod{Pod: ref(w.pod(t, "demo-0")), PastBudget: true}); err != nil {
		t.Errorf("it was not deleted: %v", err)
	}
}

func TestTheClientServiceLeadsByRoleOnlyAsLongAsItIsAskedTo(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	for _, byRole := range []bool{true, false} {
		change := changes.ApplyObjects{Objects: []facts.Object{{Kind: "Service", Name: "demo", ByRole: byRole}}}
		if err := w.do(t, bootstrapped(), change); err != nil {
			t.Fatal(err)
		}
		if got := w.service(t, "demo").Spec.PublishNotReadyAddresses; got != byRole {
			t.Errorf("by role %t: it publishes Pods that are not ready: %t", byRole, got)
		}
	}
}
