package cluster

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// standBy makes the operator a replica that does not lead, under a leader that is so late with the Lease.
func (w *world) standBy(late *time.Duration) (elect func()) {
	elected := make(chan struct{})
	w.operator.Leadership = &Leadership{Elected: elected, IsSilent: func(_ context.Context, long time.Duration) bool {
		return *late >= long
	}}
	return func() { close(elected) }
}

// led are the members that the client Service leads to.
func (w *world) led() (names []string) {
	for _, pod := range w.pods() {
		if pod.Labels[v1alpha1.LabelRole] == v1alpha1.RoleVoter {
			names = append(names, pod.Name)
		}
	}
	return names
}

func (w *world) mustPass(times int) {
	w.t.Helper()
	for range times {
		if _, err := w.pass(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) podOf(name string) *corev1.Pod {
	w.t.Helper()
	for _, pod := range w.pods() {
		if pod.Name == name {
			return &pod
		}
	}
	w.t.Fatalf("%s has no Pod", name)
	return nil
}

func TestAReplicaThatStandsByLeadsClientsAwayOnceTheLeaderIsNotHeard(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	var late time.Duration
	elect := w.standBy(&late)
	w.processes[w.podOf("demo-1").UID].Cut(true)
	writes := len(w.writes)
	w.mustPass(5)
	if len(w.writes) != writes || len(w.led()) != 3 {
		t.Errorf("beside a leader it wrote %v", w.writes[writes:])
	}
	late = leaderSilent - lookBeforeSilent // when a live look begins, and the leader is heard before it ends
	w.mustPass(5)
	if len(w.writes) != writes {
		t.Errorf("a leader that is heard again does not come first: %v", w.writes[writes:])
	}
	late = leaderSilent
	w.mustPass(5)
	if got := w.led(); len(got) != 2 || len(w.writes) != writes+1 {
		t.Errorf("clients are led to %v, by %v", got, w.writes[writes:])
	}
	elect()
	w.mustPass(1)
	if next := w.status().NextStep; next == nil || next.Verdict == "Settled" {
		t.Errorf("once it leads it says %+v", next)
	}
}

func TestAReplicaThatStandsByIsNoSlowerTheTenthTime(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	late := time.Minute
	w.standBy(&late)
	for round := range 10 {
		process := w.processes[w.podOf("demo-1").UID]
		process.Cut(true)
		began := w.now
		w.mustPass(1)
		if took := w.now.Sub(began); len(w.led()) != 2 || took > time.Second {
			t.Fatalf("round %d: clients are led to %v after %s", round, w.led(), took)
		}
		process.Cut(false)
		pod := w.podOf("demo-1") // as the leader, which is back, would have it
		pod.Labels[v1alpha1.LabelRole] = v1alpha1.RoleVoter
		if err := w.kube.Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		w.mustPass(1)
	}
}

func TestAReplicaThatStandsByDoesNothingElse(t *testing.T) {
	late := time.Minute
	for name, harm := range map[string]func(*world){
		"a Pod is gone":             func(w *world) { w.delete(&corev1.Pod{}, "demo-1") },
		"the spec asks for more":    func(w *world) { w.resize(5) },
		"the data of a member":      func(w *world) { w.loseData("demo-1") },
		"a paused cluster":          func(w *world) { w.pause(); w.processes[w.podOf("demo-1").UID].Cut(true) },
		"no quorum answers":         func(w *world) { w.cutAll("demo-1", "demo-2") },
		"the replica itself is cut": func(w *world) { w.cutAll("demo-0", "demo-1", "demo-2") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, demo(3))
			w.settle()
			harm(w)
			w.standBy(&late)
			writes := len(w.writes)
			w.mustPass(5)
			if len(w.writes) != writes {
				t.Errorf("it wrote %v", w.writes[writes:])
			}
		})
	}
}

func TestAReplicaThatStandsByLooksAtAClusterOnlyOnceClientsAreLedToIt(t *testing.T) {
	w := newWorld(t, demo(3))
	looks, late := 0, time.Duration(0)
	counting := func() {
		w.standBy(&late)
		w.operator.Bystander.Reader = interceptor.NewClient(w.kube, interceptor.Funcs{List: func(ctx context.Context,
			c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, isLook := list.(*corev1.PersistentVolumeClaimList); isLook {
				looks++
			}
			return c.List(ctx, list, opts...)
		}})
	}
	counting()
	w.mustPass(3)
	if looks > 0 {
		t.Errorf("it looked at a cluster that has no clients yet: %d lists", looks)
	}
	w.restart()
	w.settle()
	counting()
	w.mustPass(1)
	if looks == 0 {
		t.Error("it did not look at a cluster that clients use")
	}
}

func (w *world) cutAll(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.processes[w.podOf(name).UID].Cut(true)
	}
}

func (w *world) pause() {
	w.t.Helper()
	cluster := w.cluster()
	cluster.Spec.Paused = true
	if err := w.kube.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

func TestAReplicaThatBeginsToLeadLooksAtEveryClusterOnceItIsElected(t *testing.T) {
	w := newWorld(t, demo(1))
	late := time.Duration(0)
	elect := w.standBy(&late)
	w.mustPass(1)
	looked := make(chan types.NamespacedName, 2)
	ended := make(chan error)
	go func() {
		ended <- w.operator.lookAtAll(func(_ context.Context, key types.NamespacedName) {
			if !w.operator.Leadership.isElected() {
				t.Error("a pass begins that stands by")
			}
			looked <- key
		})(t.Context())
	}()
	elect()
	if err := <-ended; err != nil || len(looked) != 1 || <-looked != w.key {
		t.Errorf("%v, %d clusters", err, len(looked))
	}
}
