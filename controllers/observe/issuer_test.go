package observe_test

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/issuing"
)

// optionalReader lists kinds that may not be there, or fails as an API server does that knows none.
type optionalReader struct {
	client.Reader
	err error
}

func (r optionalReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if r.err != nil {
		return r.err
	}
	return r.Reader.List(ctx, list, opts...)
}

func issuerRef(name string) *v1alpha1.CASource {
	return &v1alpha1.CASource{IssuerRef: &v1alpha1.CAIssuerReference{Name: name, Kind: "ClusterIssuer"}}
}

func (w *world) issuer() *issuing.Issuer {
	w.t.Helper()
	issuer, err := issuing.New("company", w.now, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: issuerRef("company")}
	return issuer
}

// ask makes the questions to the issuer as the operator does. With an issuer they are answered.
func (w *world) ask(by *issuing.Issuer) {
	w.t.Helper()
	clients, _ := w.cluster.Spec.CASources()
	for _, question := range resources.Questions(w.cluster, "demo-ca", clients.Issuer(), "") {
		w.request(question, by)
	}
}

func (w *world) request(asking resources.Asking, by *issuing.Issuer) *resources.CertificateRequest {
	w.t.Helper()
	r, err := asking.Build(w.cluster)
	if err == nil && by != nil {
		err = by.Answer(r, w.now)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	r.CreationTimestamp = metav1.NewTime(w.now.Add(-time.Minute))
	w.put(r)
	return r
}

func TestWhatAnIssuerAnswersIsSeenWithWhatIsWrongWithIt(t *testing.T) {
	answered := func(change func(*issuing.Issuer)) func(*world) {
		return func(w *world) { by := w.issuer(); change(by); w.ask(by) }
	}
	for _, row := range []struct {
		name, fault string
		isAbsent    bool
		asks        bool
		given       func(*world)
	}{
		{"a CA that can be used", "", false, false, answered(func(*issuing.Issuer) {})},
		{"nothing was asked", "it has yet to be asked which CA it signs with", true, true, func(w *world) { w.issuer() }},
		{"it never answers", "the CertificateRequest demo-ca-ask-0 is not answered: no approver has approved it", true, false,
			func(w *world) { w.issuer(); w.ask(nil) }},
		{"it was asked a day ago", "", false, true, func(w *world) { w.ask(w.issuer()); w.now = w.now.Add(24 * time.Hour) }},
		{"an approver denies", "the CertificateRequest demo-ca-ask-0: it was denied: not here", false, false,
			answered(func(i *issuing.Issuer) { i.Denies = "not here" })},
		{"it fails", "the CertificateRequest demo-ca-ask-0: it failed: no key", false, false, answered(func(i *issuing.Issuer) { i.Fails = "no key" })},
		{"it failed an hour ago, and is asked again", "it has yet to be asked", true, true, func(w *world) {
			by := w.issuer()
			by.Fails = "no key"
			w.ask(by)
			w.now = w.now.Add(time.Hour)
		}},
		{"it names no CA", "the CertificateRequest demo-ca-ask-0: status.ca is empty", false, false, answered(func(i *issuing.Issuer) { i.NamesNoCA = true })},
		{"it signs other names", "the CertificateRequest demo-ca-ask-0: status.certificate has other DNS names", false, false,
			answered(func(i *issuing.Issuer) { i.Change = func(c *x509.Certificate) { c.DNSNames = nil } })},
		{"it signs another user", "the CertificateRequest demo-ca-ask-0: status.certificate has another subject", false, false,
			answered(func(i *issuing.Issuer) { i.Change = func(c *x509.Certificate) { c.Subject.CommonName = "root" } })},
		{"it signs for an hour", "the CertificateRequest demo-ca-ask-0: status.certificate ends at", false, false,
			answered(func(i *issuing.Issuer) {
				i.Change = func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Hour) }
			})},
		{"it signs CAs", "the CertificateRequest demo-ca-ask-0: status.certificate is a CA", false, false,
			answered(func(i *issuing.Issuer) { i.Change = func(c *x509.Certificate) { c.IsCA = true } })},
		{"it signs with more than one CA", "it signs with more than one CA", false, false, func(w *world) {
			w.ask(w.issuer())
			clients, _ := w.cluster.Spec.CASources()
			w.request(resources.Questions(w.cluster, "demo-ca", clients.Issuer(), "")[2], w.issuer())
		}},
		{"another issuer was asked", "it has yet to be asked", true, true, func(w *world) {
			w.ask(w.issuer())
			w.cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: issuerRef("other")}
		}},
		{"another one made the requests", "it has yet to be asked", true, true, func(w *world) {
			w.ask(w.issuer())
			for _, object := range w.objects {
				if r, isRequest := object.(*resources.CertificateRequest); isRequest {
					r.OwnerReferences = nil
				}
			}
		}},
		{"cert-manager is not installed", "cert-manager is not installed", true, false, func(w *world) {
			w.issuer()
			w.optionalErr = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "cert-manager.io", Kind: "CertificateRequest"}}
		}},
		{"the operator may not list them", "the operator may not list CertificateRequests", false, false, func(w *world) {
			w.issuer()
			w.optionalErr = apierrors.NewForbidden(schema.GroupResource{Resource: "certificaterequests"}, "", errors.New("no"))
		}},
		{"its CA signs for peers", "it is the CA for peers as well", false, false, func(w *world) {
			by := w.issuer()
			w.ask(by)
			key := resources.KeyCert
			w.secret("demo-ca-peer").Data[key] = by.PEM()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTLSWorld(t)
			row.given(w)
			source := w.object("Secret", "demo-ca").Source
			if !strings.HasPrefix(source.Fault, row.fault) || (row.fault == "") != (source.Fault == "") || source.IsAbsent != row.isAbsent || source.Ask != row.asks {
				t.Errorf("%+v", source)
			}
			if source.From != "ClusterIssuer company" && row.name != "another issuer was asked" || source.Origin != facts.OriginIssuer {
				t.Errorf("it is from %q", source.From)
			}
			if (source.Print != "") != (source.Fault == "" || strings.Contains(source.Fault, "for peers")) {
				t.Errorf("the CA is %q beside %q", source.Print, source.Fault)
			}
		})
	}
}

func TestWithoutAnIssuerNothingOfCertManagerIsRead(t *testing.T) {
	w := newTLSWorld(t)
	w.optionalErr = errors.New("read")
	w.look()
}

func TestALookThatCannotReadRequestsFails(t *testing.T) {
	w := newTLSWorld(t)
	w.issuer()
	w.optionalErr = errors.New("connection lost")
	if _, err := w.tryLook(""); err == nil || !strings.Contains(err.Error(), "listing the CertificateRequests of shop/demo: connection lost") {
		t.Errorf("got %v", err)
	}
}

// held has the Secret of the CA for clients hold that of the issuer.
func (w *world) held(by *issuing.Issuer) map[string][]byte {
	clients, _ := w.cluster.Spec.CASources()
	data := map[string][]byte{resources.KeyCert: by.PEM(), resources.KeyKey: pki.NewSeed(), resources.KeyCA: by.PEM(),
		resources.KeyOrigin: resources.OriginOf(clients, w.now.Add(-time.Hour)).Encode()}
	w.secret("demo-ca").Data = data
	return data
}

func TestACertificateThatWaitsForItsIssuerHoldsNothingElseBack(t *testing.T) {
	leaf := func(w *world, ca map[string][]byte) resources.Asking {
		asking, byIssuer := resources.AskingFor("demo-client-tls", resources.Certificates(w.cluster, "demo-client-tls")[0], ca)
		if !byIssuer {
			w.t.Fatal("the issuer is not asked")
		}
		return asking
	}
	trusting := func(w *world, ca map[string][]byte) {
		secret := w.secret("demo-client-tls")
		secret.Data[resources.KeyCA] = resources.ClientsTrust(ca)
	}
	for _, row := range []struct {
		name      string
		why       string // of what is waited for; empty: something can be done
		isRefused bool
		given     func(w *world, by *issuing.Issuer, ca map[string][]byte)
	}{
		{"nothing was asked", "", false, trusting0(trusting)},
		{"the issuer takes its time", "no approver has approved it", false, func(w *world, _ *issuing.Issuer, ca map[string][]byte) {
			trusting(w, ca)
			w.request(leaf(w, ca), nil)
		}},
		{"it answered", "", false, func(w *world, by *issuing.Issuer, ca map[string][]byte) {
			trusting(w, ca)
			w.request(leaf(w, ca), by)
		}},
		{"the CAs beside it are others as well", "", false, func(w *world, _ *issuing.Issuer, ca map[string][]byte) { w.request(leaf(w, ca), nil) }},
		{"it failed", "it failed: no key", true, func(w *world, by *issuing.Issuer, ca map[string][]byte) {
			trusting(w, ca)
			by.Fails = "no key"
			w.request(leaf(w, ca), by)
		}},
		{"it signed with another CA", "the certificate is of another CA than the one that is trusted", false, func(w *world, _ *issuing.Issuer, ca map[string][]byte) {
			trusting(w, ca)
			w.request(leaf(w, ca), w.issuer())
		}},
		{"another one asked with a key of its own", "", false, func(w *world, by *issuing.Issuer, ca map[string][]byte) {
			trusting(w, ca)
			asking := leaf(w, ca)
			asking.Seed = pki.NewSeed()
			w.request(asking, by)
		}},
		{"cert-manager is gone", "cert-manager is not installed: this Kubernetes has no CertificateRequests", false, func(w *world, _ *issuing.Issuer, ca map[string][]byte) {
			trusting(w, ca)
			w.optionalErr = &meta.NoKindMatchError{}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTLSWorld(t)
			by := w.issuer()
			ca := w.held(by)
			w.trustIssuer(by)
			row.given(w, by, ca)
			secret := w.object("Secret", "demo-client-tls")
			if secret.State != facts.ObjectDrifted || secret.Awaits.Why != row.why || secret.Awaits.IsRefused != row.isRefused || secret.IsToWrite() != (row.why == "") {
				t.Errorf("%s, awaits %+v", secret.State, secret.Awaits)
			}
		})
	}
}

func trusting0(do func(*world, map[string][]byte)) func(*world, *issuing.Issuer, map[string][]byte) {
	return func(w *world, _ *issuing.Issuer, ca map[string][]byte) { do(w, ca) }
}

// trustIssuer has members trust the CA of the issuer, so that it signs.
func (w *world) trustIssuer(by *issuing.Issuer) {
	w.secret("demo-0-tls").Data[resources.KeyCA] = by.PEM()
}

func TestAnIssuerThatSignedWithAnotherCAIsAskedAnewWhichOneThatIs(t *testing.T) {
	w := newTLSWorld(t)
	by := w.issuer()
	w.ask(by)
	ca := w.held(by)
	w.trustIssuer(by)
	w.secret("demo-client-tls").Data[resources.KeyCA] = by.PEM()
	if source := w.object("Secret", "demo-ca").Source; source.Ask {
		t.Fatalf("it is asked for no reason: %+v", source)
	}
	asking, _ := resources.AskingFor("demo-client-tls", resources.Certificates(w.cluster, "demo-client-tls")[0], ca)
	later := w.request(asking, w.issuer())
	later.CreationTimestamp.Time = w.now.Add(-time.Second)
	if source := w.object("Secret", "demo-ca").Source; !source.Ask || !source.Moved.Equal(later.CreationTimestamp.Time) {
		t.Errorf("%+v", source)
	}
}

func TestARequestThatNothingWaitsForIsSeen(t *testing.T) {
	w := newTLSWorld(t)
	by := w.issuer()
	w.ask(by)
	ca := w.held(by)
	w.trustIssuer(by)
	gone, _ := resources.AskingFor("demo-9-tls", resources.MemberCertificates(w.cluster, "demo-9", "")[0], ca)
	w.request(gone, nil)
	if left := w.look().Answered; len(left) != 1 || left[0].Name != "demo-9-tls-clients" {
		t.Errorf("left are %+v", left)
	}
	w.cluster.Spec.TLS = nil
	if left := w.look().Answered; len(left) != 4 {
		t.Errorf("of an issuer that the spec does not name any more, left are %+v", left)
	}
}
