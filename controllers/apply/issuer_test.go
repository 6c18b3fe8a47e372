package apply

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/issuing"
)

// issuedBy is a cluster whose certificates of clients an issuer signs.
func issuedBy(name string) *v1alpha1.EtcdCluster {
	cluster := demo()
	cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: &v1alpha1.CASource{IssuerRef: &v1alpha1.CAIssuerReference{Name: name}}}
	return cluster
}

func newIssuer(t *testing.T, root *issuing.Issuer) *issuing.Issuer {
	t.Helper()
	issuer, err := issuing.New("company", now, root)
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

// requests are the CertificateRequests that are there, by name.
func (w *world) requests(t *testing.T) map[string]*resources.CertificateRequest {
	t.Helper()
	var list resources.CertificateRequestList
	if err := w.inner.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]*resources.CertificateRequest{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

// answers has the issuer answer what it has not answered yet, and returns the names.
func (w *world) answers(t *testing.T, by *issuing.Issuer) []string {
	t.Helper()
	var answered []string
	for name, r := range w.requests(t) {
		if len(r.Status.Conditions) > 0 {
			continue
		}
		if r.CreationTimestamp.IsZero() {
			r.CreationTimestamp = metav1.NewTime(now)
		}
		if err := by.Answer(r, now); err != nil {
			t.Fatal(err)
		}
		if err := w.inner.Update(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		answered = append(answered, name)
	}
	slices.Sort(answered)
	return answered
}

func (w *world) isThere(t *testing.T, name string) bool {
	t.Helper()
	err := w.inner.Get(t.Context(), keyOf(name), &corev1.Secret{})
	if ctrlclient.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

var askIssuer = changes.AskIssuer{CA: "demo-ca", From: "Issuer company"}

func beginWith(by *issuing.Issuer) changes.ApplyObjects {
	source := facts.CASource{Origin: facts.OriginIssuer, From: "Issuer company", Print: pki.Fingerprint(by.PEM())}
	return changes.ApplyObjects{Objects: []facts.Object{
		{Kind: resources.KindSecret, Name: "demo-ca", CA: true, State: facts.ObjectAbsent, Source: source},
		{Kind: resources.KindSecret, Name: "demo-ca-peer", CA: true, State: facts.ObjectAbsent},
		{Kind: resources.KindSecret, Name: "demo-client-tls", State: facts.ObjectAbsent},
	}, Secrets: []string{"demo-0"}}
}

func TestAClusterBeginsWithCertificatesThatAnIssuerSigns(t *testing.T) {
	w := newWorld(t, issuedBy("company"))
	by := newIssuer(t, newIssuer(t, nil))
	w.mustDo(t, bootstrapped(), askIssuer)
	w.mustDo(t, bootstrapped(), askIssuer)
	if asked := w.answers(t, by); !slices.Equal(asked, []string{"demo-ca-ask-0", "demo-ca-ask-1", "demo-ca-ask-2"}) {
		t.Fatalf("asked is %v", asked)
	}
	var later Later
	for range 2 { // a second time it waits for the same
		if err := w.do(t, bootstrapped(), beginWith(by)); !errors.As(err, &later) || later.Reason != LaterSigning {
			t.Fatalf("it does not wait: %v", err)
		}
	}
	ca := w.secret(t, "demo-ca").Data
	if !pki.IsSeed(ca[resources.KeyKey]) || !bytes.Equal(ca[resources.KeyCA], by.PEM()) || len(ca[resources.KeyChain]) == 0 ||
		!resources.OriginIn(ca, resources.KeyOrigin).IsFirst || len(ca[resources.KeyRecords]) == 0 {
		t.Errorf("the Secret of the CA holds %v", slices.Sorted(maps.Keys(ca)))
	}
	if w.isThere(t, "demo-client-tls") || w.isThere(t, "demo-0-tls") {
		t.Error("a Secret is there before its certificates are")
	}
	if asked := w.answers(t, by); !slices.Equal(asked, []string{"demo-0-tls-clients", "demo-client-tls-clients"}) {
		t.Fatalf("asked is %v", asked)
	}
	w.mustDo(t, bootstrapped(), beginWith(by))
	for _, name := range []string{"demo-client-tls", "demo-0-tls"} {
		data := w.secret(t, name).Data
		if _, err := tls.X509KeyPair(data[resources.KeyCert], data[resources.KeyKey]); err != nil || !bytes.Equal(data[resources.KeyCA], by.PEM()) {
			t.Errorf("%s: %v", name, err)
		}
		if origin := resources.OriginIn(data, resources.KeyOrigin); origin.From() != "Issuer company" || !origin.Since.Equal(now) {
			t.Errorf("%s is said to be from %+v", name, origin)
		}
	}
	if left := w.requests(t); len(left) != 3 {
		t.Errorf("requests that were taken are left: %v", slices.Sorted(maps.Keys(left)))
	}
}

func TestNoCertificateIsTakenThatTheIssuerOfTheCADidNotSignAsAsked(t *testing.T) {
	right := newIssuer(t, nil)
	for name, wrong := range map[string]func(*issuing.Issuer) *issuing.Issuer{
		"another CA": func(*issuing.Issuer) *issuing.Issuer { return newIssuer(t, nil) },
		"other names": func(i *issuing.Issuer) *issuing.Issuer {
			i.Change = func(c *x509.Certificate) { c.DNSNames = nil }
			return i
		},
		"another user": func(i *issuing.Issuer) *issuing.Issuer {
			i.Change = func(c *x509.Certificate) { c.Subject.CommonName = "root" }
			return i
		},
		"a CA": func(i *issuing.Issuer) *issuing.Issuer {
			i.Change = func(c *x509.Certificate) { c.IsCA = true }
			return i
		},
		"an hour": func(i *issuing.Issuer) *issuing.Issuer {
			i.Change = func(c *x509.Certificate) { c.NotAfter = now.Add(time.Hour) }
			return i
		},
		"nothing at all": func(i *issuing.Issuer) *issuing.Issuer { i.Denies = "no"; return i },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, issuedBy("company"))
			w.mustDo(t, bootstrapped(), askIssuer)
			w.answers(t, right)
			_ = w.do(t, bootstrapped(), beginWith(right))
			w.answers(t, wrong(&issuing.Issuer{Cert: right.Cert, Key: right.Key}))
			if err := w.do(t, bootstrapped(), beginWith(right)); !errors.As(err, new(Later)) {
				t.Errorf("got %v", err)
			}
			if w.isThere(t, "demo-client-tls") && name != "other names" || w.isThere(t, "demo-0-tls") {
				t.Error("a certificate is taken")
			}
		})
	}
}

// Someone who may make CertificateRequests, and reads no Secret, makes one in the place of the operator's.
func TestARequestThatAnotherOneMadeIsNotTaken(t *testing.T) {
	w := newWorld(t, issuedBy("company"))
	by := newIssuer(t, nil)
	w.mustDo(t, bootstrapped(), askIssuer)
	w.answers(t, by)
	_ = w.do(t, bootstrapped(), beginWith(by))
	theirs := w.requests(t)["demo-client-tls-clients"]
	asking, _ := resources.AskingFor("demo-client-tls", resources.Certificates(w.cluster, "demo-client-tls")[0], w.secret(t, "demo-ca").Data)
	asking.Seed = pki.NewSeed()
	forged, err := asking.Build(w.cluster)
	if err != nil {
		t.Fatal(err)
	}
	forged.UID, forged.ResourceVersion = theirs.UID, theirs.ResourceVersion
	if err := by.Answer(forged, now); err != nil {
		t.Fatal(err)
	}
	if err := w.inner.Update(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	_ = w.do(t, bootstrapped(), beginWith(by))
	if w.isThere(t, "demo-client-tls") {
		t.Fatal("its certificate is taken")
	}
	if now := w.requests(t)["demo-client-tls-clients"]; bytes.Equal(now.Spec.Request, forged.Spec.Request) {
		t.Error("it stays in the way")
	}
}

func TestAnIssuersCAIsTakenInAndLeftAgainWithoutAskingForACertificateThatIsNotNeeded(t *testing.T) {
	w := newWorld(t, issuedBy("company"))
	wholeCluster(t, w)
	by := newIssuer(t, nil)
	data := func(name string) map[string][]byte { return w.secret(t, name).Data }
	client := changes.ApplyObjects{Objects: []facts.Object{{Kind: resources.KindSecret, Name: "demo-client-tls", State: facts.ObjectDrifted}}}
	turn := func(turn facts.Turn) changes.TurnCA {
		c := w.turn(t, "demo-ca", turn)
		if turn == facts.TurnWiden && w.cluster.Spec.TLS != nil {
			c.From, c.Next = "Issuer company", pki.Fingerprint(by.PEM())
		}
		return c
	}
	if err := w.do(t, bootstrapped(), turn(facts.TurnWiden)); !errors.Is(err, ErrStale) {
		t.Fatalf("a CA is taken from an issuer that was not asked: %v", err)
	}
	w.mustDo(t, bootstrapped(), askIssuer)
	w.answers(t, by)
	w.mustDo(t, bootstrapped(), turn(facts.TurnWiden))
	w.mustDo(t, bootstrapped(), client) // the CA of the operator signs yet
	w.mustDo(t, bootstrapped(), turn(facts.TurnSwap))
	before := data("demo-client-tls")
	if err := w.do(t, bootstrapped(), client); !errors.As(err, new(Later)) {
		t.Fatal(err)
	}
	if now := data("demo-client-tls"); !bytes.Equal(now[resources.KeyCert], before[resources.KeyCert]) {
		t.Fatal("the earlier certificate goes before the next one is there")
	}
	w.answers(t, by)
	w.mustDo(t, bootstrapped(), client)
	signed := data("demo-client-tls")
	w.mustDo(t, bootstrapped(), turn(facts.TurnNarrow))
	w.mustDo(t, bootstrapped(), turn(facts.TurnForget))

	w.cluster.Spec.TLS = nil // the issuer signs no more
	w.mustDo(t, bootstrapped(), turn(facts.TurnWiden))
	w.mustDo(t, bootstrapped(), client)
	if now := data("demo-client-tls"); !bytes.Equal(now[resources.KeyCert], signed[resources.KeyCert]) || len(pki.Fingerprints(now[resources.KeyCA])) != 2 {
		t.Error("the way from an issuer needs another certificate of it")
	}
	w.mustDo(t, bootstrapped(), turn(facts.TurnSwap))
	w.mustDo(t, bootstrapped(), client)
	if now := data("demo-client-tls"); now[resources.KeyOrigin] != nil || bytes.Equal(now[resources.KeyCert], signed[resources.KeyCert]) {
		t.Error("the operator does not sign")
	}
}

// The CA comes from a Secret, and then from the issuer that has the same one: nothing is to change for members.
func TestAnIssuerOfTheCAThatAClusterWasMadeWithTakesOverWithoutAnotherCA(t *testing.T) {
	w := newWorld(t, issuedBy("company"))
	by := newIssuer(t, nil)
	w.mustDo(t, bootstrapped(), askIssuer)
	w.answers(t, by)
	_ = w.do(t, bootstrapped(), beginWith(by))
	before := w.secret(t, "demo-ca").Data
	w.cluster.Spec.TLS.ClientCA.IssuerRef.Name = "renamed"
	again := askIssuer
	again.From = "Issuer renamed"
	w.mustDo(t, bootstrapped(), again)
	w.answers(t, by)
	c := w.turn(t, "demo-ca", facts.TurnRenew)
	c.From, c.Next = "Issuer renamed", pki.Fingerprint(by.PEM())
	w.mustDo(t, bootstrapped(), c)
	after := w.secret(t, "demo-ca").Data
	origin := resources.OriginIn(after, resources.KeyOrigin)
	if origin.From() != "Issuer renamed" || !origin.IsFirst || !bytes.Equal(after[resources.KeyCert], before[resources.KeyCert]) ||
		!bytes.Equal(after[resources.KeyKey], before[resources.KeyKey]) {
		t.Errorf("it is %+v by now", origin)
	}
}

func TestAnIssuerIsAskedAnewAfterADayAndWhatIsLeftIsDeleted(t *testing.T) {
	w := newWorld(t, issuedBy("company"))
	w.mustDo(t, bootstrapped(), askIssuer)
	first := w.requests(t)
	again := askIssuer
	again.Since = now.Add(time.Hour)
	w.mustDo(t, bootstrapped(), again)
	second := w.requests(t)
	var refs []facts.RequestRef
	for name, r := range second {
		if r.UID == first[name].UID {
			t.Errorf("%s is not asked anew", name)
		}
		refs = append(refs, facts.RequestRef{Name: name, UID: string(r.UID)})
	}
	w.mustDo(t, bootstrapped(), changes.DeleteRequests{Requests: append(refs, facts.RequestRef{Name: "gone", UID: "u"})})
	if left := w.requests(t); len(left) != 0 {
		t.Errorf("left are %v", slices.Sorted(maps.Keys(left)))
	}
	if err := w.do(t, bootstrapped(), changes.AskIssuer{CA: "demo-ca", From: "Issuer other"}); !errors.Is(err, ErrStale) {
		t.Errorf("an issuer is asked that the spec does not name: %v", err)
	}
}
