package cluster

import (
	"crypto/x509"
	"encoding/pem"
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

// names are those of a member's certificates, for clients and for peers.
func (w *world) names(member string) (forClients, forPeers []string) {
	w.t.Helper()
	secret := w.secretOf(resources.MemberSecret(member))
	var names [2][]string
	for i, name := range []string{resources.KeyCert, resources.KeyPeerCert} {
		block, _ := pem.Decode(secret.Data[name])
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			w.t.Fatal(err)
		}
		names[i] = certificate.DNSNames
	}
	return names[0], names[1]
}

func TestCertificatesFollowTheDomainOfTheClusterWithoutARestartAndKeepTheUsualNames(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	before := w.pod("demo-1").UID
	w.domain = "example.internal"
	w.restart()
	w.settle()
	forClients, forPeers := w.names("demo-1")
	for _, service := range []string{"demo-1.demo-peers.shop.svc", "demo.shop.svc", "demo-peers.shop.svc"} {
		for _, name := range []string{service, service + ".example.internal", service + ".cluster.local"} {
			if !slices.Contains(forClients, name) {
				t.Errorf("clients do not know the member as %s but as %q", name, forClients)
			}
		}
	}
	if want := []string{"demo-1.demo-peers.shop.svc", "demo-1.demo-peers.shop.svc.example.internal",
		"demo-1.demo-peers.shop.svc.cluster.local"}; !slices.Equal(forPeers, want) {
		t.Errorf("peers know the member as %q", forPeers)
	}
	if w.pod("demo-1").UID != before {
		t.Error("the member was restarted")
	}
}
