package apply

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

// onPlatform is a step of an operator that learns in this way who chooses users and groups.
func (w *world) onPlatform(platform func(context.Context) (bool, error)) step {
	a := w.applier()
	a.AskIDs = platform
	a.Source = func(context.Context, *v1alpha1.EtcdCluster, string) (Source, error) {
		return Source{Hash: "hash", Store: store}, nil
	}
	return step{Applier: a, cluster: w.cluster, view: bootstrapped()}
}

func TestUsersAndGroupsOfEachPodAreLeftToAPlatformThatChoosesThem(t *testing.T) {
	c := demo()
	c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	next := incarnationToRestore{Next: record.Next{Incarnation: incarnation, Token: "token", Origin: found}}
	makes := map[string]func(step) error{
		"demo-preflight": func(s step) error { return s.startPreflight(t.Context(), asked) },
		"demo-0-restore": func(s step) error {
			return s.restore(t.Context(), next, []changes.Restoring{{Name: "demo-0", Settings: settings(c)}})
		},
		"demo-0": func(s step) error {
			return s.startPod(t.Context(), changes.Start{Name: "demo-0", Flags: facts.FlagsSealed, Settings: settings(c)})
		},
	}
	away := errors.New("away")
	for pod, make := range makes {
		for _, isSo := range []bool{true, false} {
			w := newWorld(t, c)
			if err := make(w.onPlatform(func(context.Context) (bool, error) { return isSo, nil })); err != nil {
				t.Fatal(err)
			}
			security := w.pod(t, pod).Spec.SecurityContext
			for _, id := range []*int64{security.RunAsUser, security.RunAsGroup, security.FSGroup} {
				if (id == nil) != isSo {
					t.Errorf("%s has %+v, where the platform chooses: %v", pod, security, isSo)
				}
			}
		}
		w := newWorld(t, c)
		err := make(w.onPlatform(func(context.Context) (bool, error) { return false, away }))
		if !errors.Is(err, away) || w.inner.Get(t.Context(), keyOf(pod), &corev1.Pod{}) == nil {
			t.Errorf("%s is made although it is not known who chooses: %v", pod, err)
		}
	}
}
