package cluster

import (
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// givenCAs name a Secret for each CA.
func givenCAs() *v1alpha1.TLSSpec {
	from := func(name string) *v1alpha1.CASource {
		return &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: name}}
	}
	return &v1alpha1.TLSSpec{ClientCA: from("corp-clients"), PeerCA: from("corp-peers")}
}

// give puts a CA into a Secret of a person, and returns its fingerprint.
func (w *world) give(name string) string {
	w.t.Helper()
	pair, err := pki.NewCA(name, w.now, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name},
		Data: map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key}})
	return pki.Fingerprint(pair.Cert)
}

func (w *world) asks(tls *v1alpha1.TLSSpec) {
	w.t.Helper()
	cluster := w.cluster()
	cluster.Spec.TLS = tls
	cluster.Generation++
	if err := w.kube.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

// held are the fingerprints of what the Secrets of both CAs hold, for clients first.
func (w *world) held() string {
	w.t.Helper()
	var all []string
	for _, name := range []string{"demo-ca", "demo-ca-peer"} {
		data := w.secretOf(name).Data
		all = append(all, append(pki.Fingerprints(data[resources.KeyCert]), pki.Fingerprints(data[resources.KeyOtherCert])...)...)
	}
	return strings.Join(all, " ")
}

// follow lets time pass until nothing is left to do, and clients have their time.
func (w *world) follow() {
	w.t.Helper()
	for range 2000 {
		if _, err := w.pass(); err != nil {
			w.t.Fatal(err)
		}
		next := w.status().NextStep
		if next.Reason == facts.ReasonRollCA {
			w.now = w.now.Add(time.Hour)
		}
		if next.Verdict == string(plan.Settled) && w.isSettled() {
			return
		}
	}
	w.t.Fatalf("not settled: %+v", w.status().NextStep)
}

func (w *world) podUIDs() map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range w.pods() {
		uids[pod.Name] = pod.UID
	}
	return uids
}

func TestAClusterWaitsForTheCAsThatItIsToHaveAndBeginsWithThem(t *testing.T) {
	c := demo(3)
	c.Spec.TLS = givenCAs()
	w := newWorld(t, c)
	w.some(10)
	if next := w.status().NextStep; next.Reason != facts.ReasonCASource || len(w.secrets()) > 0 || len(w.claims()) > 0 {
		t.Fatalf("without its CAs it has %v: %+v", w.secrets(), next)
	}
	want := []string{w.give("corp-clients"), w.give("corp-peers")}
	for range 100 {
		w.some(1)
		if len(w.pods()) == 3 {
			break
		}
	}
	before := w.podUIDs()
	w.settle()
	if got := w.held(); got != strings.Join(want, " ") {
		t.Errorf("it has the CAs %s, want %s", got, want)
	}
	if after := w.podUIDs(); len(before) != 3 || !maps.Equal(after, before) {
		t.Errorf("Pods %v became %v: members were restarted for the CA that the cluster began with", before, after)
	}
}

func TestAClusterFollowsItsCAsFromTheOperatorToAPersonAndBack(t *testing.T) {
	w := newWorld(t, demo(3))
	w.settle()
	first, ids := w.held(), w.clusterIDs()
	w.asks(givenCAs())
	w.some(30)
	if next := w.status().NextStep; next.Reason != facts.ReasonCASource || w.held() != first {
		t.Fatalf("while no Secret is there: %+v", next)
	}
	want := w.give("corp-clients")
	want += " " + w.give("corp-peers")
	w.follow()
	if got := w.held(); got != want {
		t.Fatalf("it has the CAs %s, want %s", got, want)
	}
	uids := w.podUIDs()
	w.delete(&corev1.Secret{}, "corp-clients")
	w.some(30)
	said := meta.FindStatusCondition(w.status().Conditions, v1alpha1.ConditionUpToDate)
	if !strings.Contains(said.Message, "there is no such Secret. The operator signs with the copy") || !maps.Equal(w.podUIDs(), uids) {
		t.Errorf("without its Secret: %+v", said)
	}
	w.delete(&corev1.Pod{}, "demo-1") // and what is issued meanwhile is of the copy
	w.delete(&corev1.Secret{}, "demo-1-tls")
	w.operator.Secrets.ForgetCluster(w.key)
	w.follow()
	if signer := pki.SignerOf(mustRead(t, w.secretOf("demo-1-tls").Data[resources.KeyCert]), w.secretOf("demo-ca").Data[resources.KeyCert]); !strings.HasPrefix(want, signer) || signer == "" {
		t.Errorf("a certificate is signed by %q", signer)
	}
	w.asks(nil)
	w.follow()
	if got := strings.Fields(w.held()); len(got) != 2 || strings.Contains(want, got[0]) || strings.Contains(want, got[1]) || slices.Contains(strings.Fields(first), got[0]) {
		t.Errorf("it has the CAs %s", got)
	}
	if now := w.clusterIDs(); !slices.Equal(now, ids) {
		t.Errorf("the members are of %v, and were of %v", now, ids)
	}
}

func mustRead(t *testing.T, file []byte) *x509.Certificate {
	t.Helper()
	cert, err := pki.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
