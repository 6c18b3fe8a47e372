package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAMemberIsAskedToLeadByTheAnnotationThatTheOperatorReads(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	was, err := s.cluster(t.Context(), "demo")
	if err != nil || was.Status.Leader != "demo-0" {
		t.Fatalf("%s leads: %v", was.Status.Leader, err)
	}
	for _, c := range []struct{ member, says, asked string }{
		{"demo-7", "has no member demo-7. It has: demo-0, demo-1, demo-2. Nothing was written", ""},
		{"demo", "takes the name of one member, such as demo-1", ""},
		{"demo-0", "demo-0 leads already. Nothing was written.", ""},
		{"demo-1", "demo-1 is asked to lead. The operator moves leadership there now. The request ends at 2026-05-04T12:10:00Z.",
			"demo-1"},
		{"demo-2", "`kubectl wait etcd demo -n prod --for=jsonpath='{.status.leader}'=demo-2 --timeout=10m`", "demo-2"},
	} {
		got := plugin(t, s, "move-leader", c.member)
		now, err := s.cluster(t.Context(), "demo")
		name, at := now.LeaderAsked()
		if said := got.out + got.errOut; !strings.Contains(said, c.says) || err != nil || name != c.asked ||
			at.IsZero() != (name == "") {
			t.Errorf("%s: %q, asked for %s at %s: %v", c.member, said, name, at, err)
		}
	}
	if leadFor != facts.LeadFor {
		t.Errorf("the operator looks at a request for %s, and the plugin says %s", facts.LeadFor, leadFor)
	}
}

func TestWhatARequestToLeadWaitsForIsSaid(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.EtcdCluster){
		"spec.paused is true: once you set it to false, the operator moves leadership there. The request ends": func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true },
		"once you set it to Enforce it moves leadership there":                                                 func(c *v1alpha1.EtcdCluster) { c.Spec.Mode = v1alpha1.ModeDryRun },
		"once you wake the cluster, the operator moves leadership":                                             func(c *v1alpha1.EtcdCluster) { c.Spec.Size = 0 },
		"It has no vote yet: once it has, the operator":                                                        func(c *v1alpha1.EtcdCluster) { c.Status.Members[1].Role = "learner" },
		"It is not healthy now: once it serves, the operator moves":                                            func(c *v1alpha1.EtcdCluster) { c.Status.Members[1].Healthy = false },
	} {
		all := objects(t, "healthy")
		for _, object := range all {
			if c, isCluster := object.(*v1alpha1.EtcdCluster); isCluster {
				change(c)
			}
		}
		if got := plugin(t, sessionOf(all, interceptor.Funcs{}), "move-leader", "demo-1"); !strings.Contains(got.out, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
