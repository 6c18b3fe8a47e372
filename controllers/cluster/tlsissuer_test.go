package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/issuing"
)

// signers are issuers by name.
type signers map[string]*issuing.Issuer

func (w *world) newSigners(names ...string) signers {
	w.t.Helper()
	all := signers{}
	for _, name := range names {
		made, err := issuing.New(name, w.now, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		all[name] = made
	}
	return all
}

func (w *world) requests() []resources.CertificateRequest {
	w.t.Helper()
	var list resources.CertificateRequestList
	if err := w.kube.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// answer has issuers sign what they have not answered yet, of the requests with this in their name.
func (w *world) answer(by signers, named string) {
	w.t.Helper()
	for _, r := range w.requests() {
		if len(r.Status.Conditions) > 0 || !strings.Contains(r.Name, named) {
			continue
		}
		if err := by[r.Spec.IssuerRef.Name].Answer(&r, w.now); err != nil {
			w.t.Fatal(err)
		}
		if err := w.kube.Update(w.t.Context(), &r); err != nil {
			w.t.Fatal(err)
		}
	}
}

// signedBy names the CA that signed the certificate under a key of a member's Secret.
func (w *world) signedBy(member, key string) string {
	w.t.Helper()
	block, _ := pem.Decode(w.secretOf(resources.MemberSecret(member)).Data[key])
	if block == nil {
		w.t.Fatalf("%s has no certificate in %s", member, key)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	return cert.Issuer.CommonName
}

// askIssuers has the spec ask for a mode of TLS, with certificates of two issuers.
func (w *world) askIssuers(mode v1alpha1.TLSMode) {
	w.t.Helper()
	from := func(name string) *v1alpha1.CASource {
		return &v1alpha1.CASource{IssuerRef: &v1alpha1.CAIssuerReference{Name: name}}
	}
	w.edit(func(s *v1alpha1.EtcdClusterSpec) {
		s.TLS = &v1alpha1.TLSSpec{Mode: mode, ClientCA: from("clients"), PeerCA: from("members")}
	})
}

// newPlainWorld is one whose cluster serves without TLS.
func newPlainWorld(t *testing.T) *world {
	t.Helper()
	c := demo(3)
	withoutTLS(c)
	w := newWorld(t, c)
	w.settle()
	return w
}

func TestNoMemberIsRestartedForCertificatesThatAnIssuerHasYetToSign(t *testing.T) {
	w := newPlainWorld(t)
	before, by := w.podUIDs(), w.newSigners("clients", "members")
	w.askIssuers(v1alpha1.TLSPermissive)
	const open = 15 // passes
	for _, step := range []struct{ answered string }{
		{"-ask-"}, {"demo-0-"}, {"demo-2-"},
	} {
		w.mustPass(open)
		w.answer(by, step.answered)
		w.mustPass(open)
		if next := w.status().NextStep; next == nil || !strings.Contains(next.Message, "issuer") {
			t.Errorf("with an answer to %s the next step is %+v", step.answered, next)
		}
		for name, uid := range w.podUIDs() {
			if before[name] != uid {
				t.Fatalf("with an answer to %s alone %s was restarted", step.answered, name)
			}
		}
	}
	w.hardship = func(w *world) { w.answer(by, "") }
	w.settle()
	for name := range before {
		if got, _ := resources.TransportOf(w.podOf(name)); got != etcdutil.TransportPermissive {
			t.Errorf("%s is reached %q", name, got)
		}
		if clients, peers := w.signedBy(name, resources.KeyCert), w.signedBy(name, resources.KeyPeerCert); clients != "clients" || peers != "members" {
			t.Errorf("the certificates of %s are of the issuers %s and %s", name, clients, peers)
		}
	}
}

func TestAMemberIsReplacedWhileTheFirstCertificatesWaitForTheirIssuer(t *testing.T) {
	w := newPlainWorld(t)
	w.askIssuers(v1alpha1.TLSPermissive)
	w.mustPass(15)
	w.edit(func(s *v1alpha1.EtcdClusterSpec) { s.Size = 5 })
	w.until("five members serve", func() bool { return w.status().ReadyMembers == 5 })
}

func TestNoRequestToAnIssuerOutlivesTLS(t *testing.T) {
	w := newPlainWorld(t)
	by := w.newSigners("clients", "members")
	w.hardship = func(w *world) { w.answer(by, "") }
	w.askIssuers(v1alpha1.TLSPermissive)
	w.settle()
	w.hardship = nil
	w.delete(&corev1.Secret{}, resources.ClientSecret("demo"))
	w.mustPass(10)
	if len(w.requests()) == 0 {
		t.Fatal("nothing is asked of the issuer for the Secret of clients")
	}
	w.turn(v1alpha1.TLSDisabled)
	if left := w.requests(); len(left) > 0 {
		t.Errorf("%d requests are left, %s among them", len(left), left[0].Name)
	}
	var secrets corev1.SecretList
	if err := w.kube.List(t.Context(), &secrets); err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets.Items {
		if strings.HasSuffix(secret.Name, "-tls") {
			t.Errorf("Secret %s is left", secret.Name)
		}
	}
}
