package observe_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

func caFrom(secret string) *v1alpha1.CASource {
	return &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: secret}}
}

// give has the spec name a Secret for the CA for clients, and one for peers, of which the first holds a CA.
func (w *world) give(clients, peers string) pki.Pair {
	w.t.Helper()
	w.cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: caFrom(clients)}
	if peers != "" {
		w.cluster.Spec.TLS.PeerCA = caFrom(peers)
	}
	pair, err := pki.NewCA("corp", w.now, 90*24*time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	w.putCA(clients, pair)
	return pair
}

func (w *world) putCA(name string, pair pki.Pair) {
	w.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Data: map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key}})
}

// copyOf has the Secret of a CA hold a copy of what a person gave.
func (w *world) copyOf(name, from string, pair pki.Pair, isFirst bool) {
	w.secret(name).Data = map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key, resources.KeyCA: pair.Cert,
		resources.KeyOrigin: resources.Origin{Secret: from, Since: w.now.Add(-time.Hour), IsFirst: isFirst}.Encode()}
}

func TestWhatASecretOffersForACAIsSeenWithWhatIsWrongWithIt(t *testing.T) {
	const clients, peers = "demo-ca", "demo-ca-peer"
	for _, row := range []struct {
		name, ca, fault string
		isAbsent        bool
		given           func(*world)
	}{
		{"a CA that can be used", clients, "", false, func(w *world) { w.give("corp", "") }},
		{"no Secret", clients, "there is no such Secret", true, func(w *world) { w.give("corp", ""); w.remove(w.secret("corp")) }},
		{"a Secret without a key", clients, "tls.key is missing", false, func(w *world) {
			w.give("corp", "")
			delete(w.secret("corp").Data, resources.KeyKey)
		}},
		{"a CA that ended", clients, "tls.crt expired at ", false, func(w *world) { w.give("corp", ""); w.now = w.now.AddDate(1, 0, 0) }},
		{"a Secret that the operator made", clients, "the operator made that Secret, and changes it", false, func(w *world) {
			w.cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: caFrom("demo-ca-peer")}
		}},
		{"one CA for clients and peers", peers, "it is the CA for clients as well", false, func(w *world) { w.putCA("copy", w.give("corp", "copy")) }},
		{"and it is the one for peers that is not taken", clients, "", false, func(w *world) { w.putCA("copy", w.give("corp", "copy")) }},
		{"the CA that signs for peers", clients, "it is the CA for peers as well", false, func(w *world) {
			data := w.secret(peers).Data
			w.putCA("copy", pki.Pair{Cert: data[resources.KeyCert], Key: data[resources.KeyKey]})
			w.cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: caFrom("copy")}
		}},
		{"the CA that signs for clients", peers, "it is the CA for clients as well", false, func(w *world) {
			data := w.secret(clients).Data
			w.putCA("copy", pki.Pair{Cert: data[resources.KeyCert], Key: data[resources.KeyKey]})
			w.cluster.Spec.TLS = &v1alpha1.TLSSpec{PeerCA: caFrom("copy")}
		}},
		{"a broken Secret of which there is a copy", clients, "", false, func(w *world) {
			w.copyOf(clients, "corp", w.give("corp", ""), true)
			delete(w.secret("corp").Data, resources.KeyKey)
		}},
		{"no field", clients, "", false, func(w *world) { w.give("corp", ""); w.cluster.Spec.TLS = nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTLSWorld(t)
			row.given(w)
			source := w.object("Secret", row.ca).Source
			if !strings.HasPrefix(source.Fault, row.fault) || (row.fault == "") != (source.Fault == "") || source.IsAbsent != row.isAbsent {
				t.Errorf("%+v", source)
			}
			if w.cluster.Spec.TLS == nil && source != (facts.CASource{}) {
				t.Errorf("a CA is wanted from elsewhere: %+v", source)
			}
		})
	}
}

func TestACopyOfACASaysWhereItComesFromAndSinceWhenItIsThere(t *testing.T) {
	w := newTLSWorld(t)
	w.copyOf("demo-ca", "corp", w.give("corp", ""), false)
	ca := w.object("Secret", "demo-ca")
	signs := ca.CAs[0]
	if signs.Origin != facts.OriginSecret || signs.From != "Secret corp" || !signs.Made.Equal(w.now.Add(-time.Hour)) || signs.IsFirst {
		t.Errorf("%+v", signs)
	}
	if !ca.IsOfSource(signs) || !ca.HasCopy() {
		t.Errorf("it is not what the spec wants: %+v", ca.Source)
	}
}

// A cluster that began with a CA of a person has members that say nothing of whom they trust, as any other.
func TestMembersOfAClusterThatBeganWithACAOfAPersonAreNotRestartedForIt(t *testing.T) {
	w := newTLSWorld(t)
	w.copyOf("demo-ca", "corp", w.give("corp", ""), true)
	w.recorded("demo-0")
	w.trustAnew()
	if trust := w.look().Desired.Settings.Trust; trust != (facts.Trust{}) {
		t.Errorf("members are to read %+v", trust)
	}
	w.copyOf("demo-ca", "corp", w.give("corp", ""), false)
	w.recorded("demo-0")
	w.trustAnew()
	if trust := w.look().Desired.Settings.Trust; trust.Clients == "" || trust.Peers != "" {
		t.Errorf("members are to read %+v", trust)
	}
}

func TestNoKeyIsInWhatIsSaidOfASecret(t *testing.T) {
	w := newTLSWorld(t)
	pair := w.give("corp", "")
	w.secret("corp").Data[resources.KeyCert] = pair.Key
	source := w.object("Secret", "demo-ca").Source
	for line := range strings.SplitSeq(string(pair.Key), "\n") {
		if len(line) > 0 && strings.Contains(source.Fault, line) {
			t.Errorf("%q tells of a key", source.Fault)
		}
	}
	if source.Fault == "" {
		t.Error("a key is taken for a certificate")
	}
}
