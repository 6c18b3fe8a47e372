package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAClusterIsPausedAndResumedByItsSpec(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	for _, c := range []struct {
		command, says string
		paused        bool
	}{
		{"resume", "is not paused. Nothing was written", false},
		{"pause", "Members serve on, and backups and their schedules go on. The first certificate, of demo-1, expires on 2027-02-01 09:00:00 UTC: resume long before.", true},
		{"pause", "is paused already. Nothing was written", true},
		{"resume", "What the operator held back begins, one change at a time", false},
	} {
		got := plugin(t, s, c.command, "demo")
		now, err := s.cluster(t.Context(), "demo")
		if got.code != 0 || !strings.Contains(got.out, c.says) || err != nil || now.Spec.Paused != c.paused {
			t.Errorf("%s: %+v, paused is %t: %v", c.command, got, now.Spec.Paused, err)
		}
	}
}

func TestWhatElseHoldsAClusterBackIsSaidAsItIsResumed(t *testing.T) {
	s := sessionOf(changed(t, func(c *v1alpha1.EtcdCluster) { c.Spec.Paused, c.Spec.Mode = true, v1alpha1.ModeDryRun }), interceptor.Funcs{})
	got := plugin(t, s, "resume", "demo")
	if want := "is not paused any more. spec.mode is DryRun: the operator shows each step in `status`, and once you set it to Enforce it goes on."; !strings.Contains(got.out, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
}
