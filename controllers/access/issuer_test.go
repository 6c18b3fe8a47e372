package access

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/issuing"
)

// newIssuedWorld is one whose certificates of clients an issuer signs.
func newIssuedWorld(t *testing.T) (*world, *issuing.Issuer) {
	t.Helper()
	w := newWorld(t, aClient("shop", 0))
	by, err := issuing.New("company", w.now, nil)
	must(t, err)
	ref := v1alpha1.CAIssuerReference{Name: "company", Kind: "ClusterIssuer", Group: v1alpha1.DefaultIssuerGroup}
	for name, data := range map[string]map[string][]byte{
		"demo-ca": {resources.KeyCert: by.PEM(), resources.KeyKey: pki.NewSeed(), resources.KeyCA: by.PEM(),
			resources.KeyOrigin: resources.Origin{Issuer: &ref, Since: w.now}.Encode()},
		"demo-operator-tls": {resources.KeyCA: by.PEM()},
	} {
		secret := &corev1.Secret{}
		must(t, w.kube.Get(t.Context(), types.NamespacedName{Namespace: "prod", Name: name}, secret))
		for key, value := range data {
			secret.Data[key] = value
		}
		must(t, w.kube.Update(t.Context(), secret))
	}
	return w, by
}

// request is what the issuer is asked for the client; nil when there is none.
func (w *world) request() *resources.CertificateRequest {
	w.t.Helper()
	var list resources.CertificateRequestList
	must(w.t, w.kube.List(w.t.Context(), &list))
	for i := range list.Items {
		if list.Items[i].Name == "shop-etcd-clients" {
			return &list.Items[i]
		}
	}
	return nil
}

func (w *world) answer(by *issuing.Issuer) {
	w.t.Helper()
	r := w.request()
	r.CreationTimestamp = metav1.NewTime(w.now)
	must(w.t, by.Answer(r, w.now))
	must(w.t, w.kube.Update(w.t.Context(), r))
}

func TestAClientGetsTheCertificateThatTheIssuerOfTheClusterSigns(t *testing.T) {
	w, by := newIssuedWorld(t)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonAwaitsIssuer, "CertificateRequest shop-etcd-clients: no approver has approved it")
	if w.secret("shop-etcd") != nil {
		t.Fatal("the Secret is there before its certificate")
	}
	if r := w.request(); !resources.IsControlledBy(r, "uid-shop") || r.Spec.IssuerRef.Name != "company" {
		t.Errorf("the request is owned by %+v and asks %+v", r.OwnerReferences, r.Spec.IssuerRef)
	}
	w.answer(by)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "shop")
	secret := w.secret("shop-etcd")
	if name := certificateIn(t, secret).Subject.CommonName; name != "shop" || !bytes.Equal(secret.Data[resources.KeyCA], by.PEM()) {
		t.Errorf("it is of %q", name)
	}
	if w.request() != nil {
		t.Error("the request is left")
	}
	w.now = w.now.Add(61 * 24 * time.Hour) // the issuer gives 90 days
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "The next certificate waits for its issuer")
	w.answer(by)
	w.passes(enough, "shop")
	if again := w.secret("shop-etcd"); bytes.Equal(again.Data[resources.KeyCert], secret.Data[resources.KeyCert]) {
		t.Error("it is not renewed")
	}
}

func TestAClientWhoseCertificateTheIssuerRefusesIsToldAndAskedForAgain(t *testing.T) {
	w, by := newIssuedWorld(t)
	w.passes(enough, "shop")
	w.answer(&issuing.Issuer{Denies: "not this name"})
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonAwaitsIssuer, "it was denied: not this name. The operator writes the Secret shop-etcd once it is signed. Put the issuer right.")
	w.now = w.now.Add(time.Hour)
	w.passes(enough, "shop")
	w.answer(by)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "shop")
}
