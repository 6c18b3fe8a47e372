package access

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

func withStores(c *v1alpha1.EtcdClient) { c.Spec.PKCS12 = true }

// opens fails unless both stores hold what stands beside them, and gives their password.
func (w *world) opens(name string) string {
	w.t.Helper()
	data := w.secret(name + "-etcd").Data
	password := string(data[resources.KeyStorePassword])
	_, cert, behind, err := pkcs12.DecodeChain(data[resources.KeyKeyStore], password)
	must(w.t, err)
	cas, err := pkcs12.DecodeTrustStore(data[resources.KeyTrustStore], password)
	must(w.t, err)
	if !cert.Equal(certificateIn(w.t, w.secret(name+"-etcd"))) || len(behind) != 0 || !resources.IsPassword(password) {
		w.t.Error("the keystore has another certificate, or its password was not drawn")
	}
	if got := pki.Fingerprints(data[resources.KeyCA]); len(got) != len(cas) {
		w.t.Errorf("the truststore has %d CAs, and ca.crt %d", len(cas), len(got))
	}
	return password
}

func TestAClientGetsStoresOfPKCS12WhereItAsksForThemAndElseNone(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withStores), aClient("reports", 0, withStores, withPassword), aClient("billing", 0))
	w.passes(enough, "shop", "reports", "billing")
	w.is("shop", accessplan.ReasonGranted, "")
	if w.opens("shop") == w.opens("reports") || w.opens("reports") == w.logsIn("reports", "reports") {
		t.Error("two things have one password")
	}
	for key := range w.secret("billing-etcd").Data {
		if strings.Contains(key, "p12") || strings.Contains(key, "pkcs12") {
			t.Errorf("a client that asks for none has %s", key)
		}
	}
	before := len(w.writes)
	w.passes(20, "shop", "reports")
	w.restart() // another operator makes the same bytes
	w.passes(20, "shop", "reports")
	if got := w.writes[before:]; len(got) > 0 {
		t.Errorf("once it is settled the operator writes %v", got)
	}
}

func TestStoresFollowTheCertificateAndTheCAsAndKeepTheirPassword(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withStores))
	w.passes(enough, "shop")
	password, was := w.opens("shop"), w.secret("shop-etcd").Data
	w.now = w.now.Add(260 * 24 * time.Hour)
	w.passes(enough, "shop")
	if bytes.Equal(w.secret("shop-etcd").Data[resources.KeyKeyStore], was[resources.KeyKeyStore]) {
		t.Error("the certificate is not renewed in the keystore")
	}
	next, err := pki.NextCA("demo", w.now, 0)
	must(t, err)
	ca := w.secret(resources.CASecret("demo"))
	ca.Data[resources.KeyOtherCert], ca.Data[resources.KeyOtherKey] = next.Cert, next.Key
	must(t, w.kube.Update(t.Context(), ca))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	w.opens("shop")
	w.change("shop", func(c *v1alpha1.EtcdClient) {
		c.Annotations = map[string]string{v1alpha1.AnnotationRenewCertificate: w.now.UTC().Format(time.RFC3339)}
	})
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	data := w.secret("shop-etcd").Data
	if got := pki.Fingerprints(data[resources.KeyCA]); len(got) != 2 || bytes.Equal(data[resources.KeyTrustStore], was[resources.KeyTrustStore]) {
		t.Errorf("%d CAs are trusted, or the truststore is as before", len(got))
	}
	if w.opens("shop") != password {
		t.Error("the stores have another password")
	}
}

func TestAStoreThatPeopleChangedOrTookOutIsWrittenAnew(t *testing.T) {
	for _, key := range []string{resources.KeyKeyStore, resources.KeyTrustStore, resources.KeyStorePassword} {
		for _, content := range []string{"", "changeit"} {
			w := newWorld(t, aClient("shop", 0, withStores))
			w.passes(enough, "shop")
			password, secret := w.opens("shop"), w.secret("shop-etcd")
			if secret.Data[key] = []byte(content); content == "" {
				delete(secret.Data, key)
			}
			must(t, w.kube.Update(t.Context(), secret))
			w.now = w.now.Add(time.Minute)
			w.passes(enough, "shop")
			if now := w.opens("shop"); (now == password) == (key == resources.KeyStorePassword) {
				t.Errorf("with another %s the password is kept, or it is drawn anew without need", key)
			}
		}
	}
}

func TestStoresStandUnderFurtherKeysAndFollow(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withStores, func(c *v1alpha1.EtcdClient) {
		c.Spec.SecretKeys = []v1alpha1.ClientSecretKey{{Key: "keystore.p12", Name: "client.p12"}, {Key: "pkcs12-password", Name: "PASS"}}
	}))
	for range 2 {
		w.passes(enough, "shop")
		w.opens("shop")
		data := w.secret("shop-etcd").Data
		if !bytes.Equal(data["client.p12"], data[resources.KeyKeyStore]) || !bytes.Equal(data["PASS"], data[resources.KeyStorePassword]) {
			t.Error("a further key has another value")
		}
		w.now = w.now.Add(260 * 24 * time.Hour)
	}
}

func TestAKeyThatPeopleBrokeStopsNoStore(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withStores))
	w.passes(enough, "shop")
	password, secret := w.opens("shop"), w.secret("shop-etcd")
	secret.Data[resources.KeyKey] = []byte("canary")
	must(t, w.kube.Update(t.Context(), secret))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "")
	if w.opens("shop") != password {
		t.Error("the stores have another password")
	}
}

func TestNothingOfAStoreIsInAnyStatusEventOrName(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withStores))
	w.passes(enough, "shop")
	secret := w.secret("shop-etcd")
	w.opens("shop")
	told := fmt.Sprintf("%+v", w.client("shop").Status) + strings.Join(w.writes, " ")
	broken := secret.DeepCopy()
	broken.Data[resources.KeyStorePassword], broken.Data[resources.KeyKeyStore] = []byte("canary-password"), []byte("canary-store")
	must(t, w.kube.Update(t.Context(), broken))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	after := w.secret("shop-etcd")
	told += fmt.Sprintf("%+v", w.client("shop").Status) + strings.Join(w.writes, " ") + fmt.Sprintf("%v %+v", after.Labels, after.Annotations)
	for len(w.events.Events) > 0 {
		told += <-w.events.Events
	}
	for _, key := range []string{resources.KeyStorePassword, resources.KeyKeyStore, resources.KeyTrustStore} {
		for _, secret := range []string{string(secret.Data[key]), string(after.Data[key]), fmt.Sprint(after.Data[key]), "canary"} {
			if strings.Contains(told, secret) {
				t.Errorf("%s is told", key)
			}
		}
	}
}
