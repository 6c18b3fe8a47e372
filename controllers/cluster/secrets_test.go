package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// soon is within how long the operator finds out that a Secret which a Pod needs is gone. It keeps Secrets for longer.
const soon = 30 * time.Second

// settleSoon settles, and fails when that takes longer.
func (w *world) settleSoon() {
	w.t.Helper()
	began := w.now
	w.settle()
	if took := w.now.Sub(began); took > soon {
		w.t.Errorf("it took %s", took)
	}
}

func TestAMembersSecretThatIsGoneIsMadeAgainBeforeItsPodIsStarted(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.delete(&corev1.Secret{}, resources.MemberSecret("demo-1"))
	w.delete(&corev1.Pod{}, "demo-1")
	w.kubelet()
	before := len(w.writes)
	w.settleSoon()
	w.checkOrder(w.writes[before:], "create *v1.Secret demo-1-tls", "create *v1.Pod demo-1")
}

func TestAMembersSecretThatIsGoneIsMadeAgainWhileItsPodWaitsForIt(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.delete(&corev1.Pod{}, "demo-1")
	w.kubelet()
	before := len(w.writes)
	for range 10 {
		if w.look(); slices.Contains(w.writes[before:], "create *v1.Pod demo-1") {
			break
		}
	}
	w.delete(&corev1.Secret{}, resources.MemberSecret("demo-1"))
	w.kubelet()
	if pod := w.pod("demo-1"); pod.Spec.NodeName == "" || len(w.processes) != 2 {
		t.Fatalf("the Pod does not wait for its Secret: %+v", pod.Status)
	}
	w.settleSoon()
}

func TestAMembersSecretThatIsGoneIsMadeAgainBeforeTheMemberIsRolled(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	w.delete(&corev1.Secret{}, resources.MemberSecret("demo-1"))
	cluster := w.cluster()
	cluster.Spec.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))}
	cluster.Generation++
	if err := w.kube.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	before := len(w.writes)
	w.settleSoon()
	w.checkOrder(w.writes[before:], "create *v1.Secret demo-1-tls", "evict *v1.Pod demo-1")
}

// checkOrder fails unless both were written, in this order.
func (w *world) checkOrder(writes []string, first, second string) {
	w.t.Helper()
	one, two := slices.Index(writes, first), slices.Index(writes, second)
	if one < 0 || two < one {
		w.t.Errorf("%q, then %q:\n%s", first, second, strings.Join(writes, "\n"))
	}
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: name}, pod); err != nil {
		w.t.Fatal(err)
	}
	return pod
}
