package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAMemberIsFencedByTheAnnotationThatTheOperatorReads(t *testing.T) {
	s := sessionOf(objects(t, "healthy"), interceptor.Funcs{})
	for _, c := range []struct{ command, member, says, asked string }{
		{"fence", "demo-7", "has no member demo-7. It has: demo-0, demo-1, demo-2. Nothing was written", ""},
		{"fence", "demo", "takes the name of one member, such as demo-1", ""},
		{"unfence", "demo-1", "demo-1 is not fenced. Nothing was written.", ""},
		{"fence", "demo-1", "demo-1 is fenced. The operator stops it once all others serve. To wait for that: " +
			"`kubectl wait etcd demo -n prod --for=condition=Fenced --timeout=10m`. Its claim is demo-1.", "demo-1"},
		{"fence", "demo-1", "demo-1 is fenced already, or will be. Nothing was written.", "demo-1"},
		{"fence", "demo-2", "demo-2 is not fenced: demo-1 is, and one at a time can be. `kubectl etcd-steward unfence demo-1 -n prod` starts " +
			"that one. Nothing was written", "demo-1"},
		{"unfence", "demo-2", "demo-2 is not fenced. Nothing was written.", "demo-1"},
		{"unfence", "demo-1", "demo-1 is not fenced any more. The operator starts it now.", ""},
	} {
		got := plugin(t, s, c.command, c.member)
		now, err := s.cluster(t.Context(), "demo")
		if said := got.out + got.errOut; !strings.Contains(said, c.says) || err != nil ||
			strings.Join(now.FenceAsked(), " ") != c.asked {
			t.Errorf("%s %s: %q, asked for %v: %v", c.command, c.member, said, now.FenceAsked(), err)
		}
	}
}

// changed is the healthy cluster with a change.
func changed(t *testing.T, change func(*v1alpha1.EtcdCluster)) []client.Object {
	t.Helper()
	all := objects(t, "healthy")
	for _, object := range all {
		if c, isCluster := object.(*v1alpha1.EtcdCluster); isCluster {
			change(c)
		}
	}
	return all
}

func TestWhatCanNotBeFencedIsRefusedAndWhatWaitsIsSaid(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.EtcdCluster){
		"has 2 members with a vote, and three can spare one. Nothing was written": func(c *v1alpha1.EtcdCluster) { c.Status.Members[2].Role = "learner" },
		"its data is in its Pod, and would be lost. Nothing was written": func(c *v1alpha1.EtcdCluster) {
			c.Spec.Storage = &v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}
		},
		"spec.paused is true: once you set it to false, the operator stops it": func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true },
		"demo-1 is fenced. The operator": func(c *v1alpha1.EtcdCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationFence: "demo-9"}
		},
	} {
		got := plugin(t, sessionOf(changed(t, change), interceptor.Funcs{}), "fence", "demo-1")
		if !strings.Contains(got.out+got.errOut, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
