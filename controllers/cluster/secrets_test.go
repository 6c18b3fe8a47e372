package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
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
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) { spec.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))} })
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
	return w.certificate(member, resources.KeyCert).DNSNames, w.certificate(member, resources.KeyPeerCert).DNSNames
}

// certificate is one of those in a member's Secret.
func (w *world) certificate(member, key string) *x509.Certificate {
	w.t.Helper()
	block, _ := pem.Decode(w.secretOf(resources.MemberSecret(member)).Data[key])
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	return certificate
}

// edit changes the spec as a user does.
func (w *world) edit(change func(*v1alpha1.EtcdClusterSpec)) {
	w.t.Helper()
	cluster := w.cluster()
	change(&cluster.Spec)
	cluster.Generation++
	if err := w.kube.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
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

func TestTheAddressesOfALoadBalancerAreInCertificatesAndEndpointsWhileItHasThem(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	before := w.pod("demo-1").UID
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) {
		spec.Service = &v1alpha1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}
	})
	w.settle()
	inside := w.status().Endpoints
	w.balance(corev1.LoadBalancerIngress{Hostname: "LB.example.com"}, corev1.LoadBalancerIngress{IP: "203.0.113.7"})
	w.settle()
	for _, name := range []string{"lb.example.com", "203.0.113.7", "demo.shop.svc"} {
		if err := w.certificate("demo-1", resources.KeyCert).VerifyHostname(name); err != nil {
			t.Errorf("clients do not know the member as %s: %v", name, err)
		}
	}
	want := append(slices.Clone(inside), "https://203.0.113.7:2379", "https://lb.example.com:2379")
	if got := w.status().Endpoints; len(inside) != 1 || !slices.Equal(got, want) {
		t.Errorf("endpoints %q, want %q", got, want)
	}
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) { spec.Service = nil })
	w.settle()
	if w.certificate("demo-1", resources.KeyCert).VerifyHostname("lb.example.com") == nil {
		t.Error("the load balancer is gone, and certificates name it")
	}
	if got := w.status().Endpoints; !slices.Equal(got, inside) {
		t.Errorf("without a load balancer the endpoints are %q", got)
	}
	if w.pod("demo-1").UID != before {
		t.Error("the member was restarted")
	}
}

// balance gives the client Service its addresses, as a load balancer does.
func (w *world) balance(ingress ...corev1.LoadBalancerIngress) {
	w.t.Helper()
	service := &corev1.Service{}
	if err := w.kube.Get(w.t.Context(), w.key, service); err != nil {
		w.t.Fatal(err)
	}
	service.Status.LoadBalancer.Ingress = ingress
	if err := w.kube.Status().Update(w.t.Context(), service); err != nil {
		w.t.Fatal(err)
	}
}

func TestCertificatesFollowTheNamesOfTheSpecWithoutARestart(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	before, usual := w.pod("demo-1").UID, w.certificate("demo-1", resources.KeyCert)
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) {
		spec.TLS = &v1alpha1.TLSSpec{ExtraSANs: []string{"etcd.example.net", "*.example.com", "203.0.113.7", "2001:db8::7"}}
	})
	w.settle()
	certificate := w.certificate("demo-1", resources.KeyCert)
	for _, name := range []string{"etcd.example.net", "any.example.com", "203.0.113.7", "2001:db8::7", "demo.shop.svc"} {
		if err := certificate.VerifyHostname(name); err != nil {
			t.Errorf("clients do not know the member as %s: %v", name, err)
		}
	}
	if _, forPeers := w.names("demo-1"); slices.Contains(forPeers, "etcd.example.net") {
		t.Errorf("peers know it as %q", forPeers)
	}
	w.edit(func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS = nil })
	w.settle()
	certificate = w.certificate("demo-1", resources.KeyCert)
	if !slices.Equal(certificate.DNSNames, usual.DNSNames) || len(certificate.IPAddresses) != len(usual.IPAddresses) {
		t.Errorf("the spec names none any more, and it has %q and %v", certificate.DNSNames, certificate.IPAddresses)
	}
	if w.pod("demo-1").UID != before {
		t.Error("the member was restarted")
	}
}

// memberSecret finds the Secrets of members, and whose each is.
var memberSecret = regexp.MustCompile(`^(demo-[0-9]+)-tls$`)

// secretsOfMembers are the members that have certificates, by name.
func (w *world) secretsOfMembers() []string {
	w.t.Helper()
	list := &corev1.SecretList{}
	if err := w.kube.List(w.t.Context(), list, client.InNamespace(w.key.Namespace)); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		if found := memberSecret.FindStringSubmatch(secret.Name); found != nil {
			names = append(names, found[1])
		}
	}
	return names
}

func TestAtRestOnlyMembersHaveCertificates(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	for _, name := range []string{"demo-1", "demo-3", "demo-4"} { // each takes the place of the one before
		w.loseData(name)
		w.settle()
		if got := w.secretsOfMembers(); len(got) != 3 || slices.Contains(got, name) {
			t.Errorf("after %s was replaced, these have certificates: %q", name, got)
		}
	}
}

func TestAfterARebuildOnlyMembersHaveCertificates(t *testing.T) {
	w := served(t, 3)
	w.loseData("demo-1")
	w.settle()
	lost := []string{"demo-2", "demo-3"}
	for _, name := range lost {
		w.loseData(name)
	}
	w.ask("back", v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: "demo-0"}})
	w.until("the loss is seen", func() bool {
		e := w.status().Evidence
		return e != nil && e.Quorum == string(plan.QuorumLost)
	})
	w.approve("back")
	w.until("the cluster is restored", func() bool { return w.isComplete("back") })
	w.settle()
	for _, name := range w.secretsOfMembers() {
		if slices.Contains(lost, name) {
			t.Errorf("nothing is left of %s but its certificates", name)
		}
	}
}
