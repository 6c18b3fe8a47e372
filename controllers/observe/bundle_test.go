package observe_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// recorded gives a member of the cluster a volume, where that is written down, and certificates.
func (w *world) recorded(name string) {
	w.member(name)
	claim := w.objects["*v1.PersistentVolumeClaim "+name].(*corev1.PersistentVolumeClaim)
	claim.Annotations[v1alpha1.AnnotationRecord] = record.Member{ClusterID: 7, MemberID: 1,
		Version: etcdutil.Version{Major: 3, Minor: 6, Patch: 16}}.Encode()
}

// widen puts another CA beside the one that signs, and returns it.
func (w *world) widen(name string) []byte {
	w.t.Helper()
	pair, err := pki.NextCA(name, w.now.Add(time.Minute), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.secret(name).Data[resources.KeyOtherCert], w.secret(name).Data[resources.KeyOtherKey] = pair.Cert, pair.Key
	return pair.Cert
}

// swap has the other CA sign.
func (w *world) swap(name string) {
	data := w.secret(name).Data
	for _, keys := range [][2]string{{resources.KeyCert, resources.KeyOtherCert}, {resources.KeyKey, resources.KeyOtherKey}} {
		data[keys[0]], data[keys[1]] = data[keys[1]], data[keys[0]]
	}
}

// trustAnew writes into every Secret which CAs its holder is to trust by now.
func (w *world) trustAnew() {
	for _, c := range resources.MemberCertificates(w.cluster, "demo-0", "") {
		w.secret("demo-0-tls").Data[c.CAKey] = c.Trusts(w.secret(c.CA).Data)
	}
	for _, name := range []string{"demo-client-tls", "demo-operator-tls"} {
		for _, c := range resources.Certificates(w.cluster, name) {
			w.secret(name).Data[c.CAKey] = c.Trusts(w.secret(c.CA).Data)
		}
	}
}

func TestTrustIsAListOfCAsAndMembersFollowItOnceTheirSecretsSaySo(t *testing.T) {
	w := newTLSWorld(t)
	w.recorded("demo-0")
	first := pki.Fingerprint(w.secret("demo-ca").Data[corev1.TLSCertKey])
	trusts := func() facts.Trust { return w.look().Desired.Settings.Trust }
	inputs := w.look().Desired.Settings.Inputs

	ca := w.object("Secret", "demo-ca")
	want := facts.CA{Print: first, Identity: ca.CAs[0].Identity, Origin: facts.OriginManaged, IsFirst: true, HasKey: true, Made: w.now.Truncate(time.Second).UTC(),
		NotAfter: ca.NotAfter}
	if ca.CAs != (facts.CAs{want}) || ca.Port != facts.ForClients || w.object("Secret", "demo-ca-peer").Port != facts.ForPeers {
		t.Errorf("the Secret of a CA: %+v, want %+v", ca, want)
	}
	if got := trusts(); got != (facts.Trust{}) || w.replica("demo-0").Secret.Names.Clients != first {
		t.Errorf("the CA that the cluster was made with is written down: %+v", got)
	}

	other := w.widen("demo-ca")
	if got := trusts(); got != (facts.Trust{}) || w.replica("demo-0").Secret.State != facts.ObjectDrifted {
		t.Errorf("members are to read what their Secrets do not have yet: %+v", got)
	}
	w.trustAnew()
	both := slices.Sorted(slices.Values([]string{first, pki.Fingerprint(other)}))
	if got := trusts(); !slices.Equal(got.On(facts.ForClients), both) || got.Peers != "" || w.look().Desired.AtTarget.Trust != got {
		t.Errorf("members are to read %+v, want %v", got, both)
	}
	if s := w.replica("demo-0").Secret; s.State != facts.ObjectCurrent || w.look().Desired.Settings.Inputs == inputs {
		t.Errorf("the member's Secret: %+v", s)
	}

	w.swap("demo-ca")
	if got := trusts(); !slices.Equal(got.On(facts.ForClients), both) || w.object("Secret", "demo-ca").IsAnother() {
		t.Errorf("members are to read %+v once the other one signs, want %v", got, both)
	}
	w.recorded("demo-0")
	w.trustAnew()
	delete(w.secret("demo-ca").Data, resources.KeyOtherKey)
	if got := trusts(); !slices.Equal(got.On(facts.ForClients), both) {
		t.Errorf("members are to read %+v before their Secrets have less, want %v", got, both)
	}
	w.trustAnew()
	if got := trusts().Clients; got != pki.Fingerprint(other) {
		t.Errorf("members are to read %s", got)
	}
	if s := w.secret("demo-client-tls"); len(pki.Fingerprints(s.Data[resources.KeyCA])) != 2 {
		t.Error("clients are to trust the new CA alone before members do")
	}
}

func TestWhatMembersReadStaysWhileTheirCAIsLost(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"gone":     func(w *world) { w.remove(w.secret("demo-ca")) },
		"replaced": func(w *world) { w.exchangeCA("demo-ca") },
	} {
		w := newTLSWorld(t)
		w.recorded("demo-0")
		w.widen("demo-ca")
		w.trustAnew()
		recorded := w.look().Desired.Settings
		claim := w.objects["*v1.PersistentVolumeClaim demo-0"].(*corev1.PersistentVolumeClaim)
		for key, text := range claim.Annotations {
			if text == resources.Inputs(w.cluster).Canonical() {
				claim.Annotations[key] = recorded.Inputs
			}
		}
		lose(w)
		if got := w.look().Desired.Settings.Trust; got != recorded.Trust || got == (facts.Trust{}) {
			t.Errorf("%s: %+v, want %+v", name, got, recorded.Trust)
		}
	}
}
