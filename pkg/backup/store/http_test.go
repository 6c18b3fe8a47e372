package store

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// CA is a server of a CA of its own, and that CA as a file.
func ca(t *testing.T) (server *httptest.Server, file string) {
	t.Helper()
	server = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	file = filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return server, file
}

func TestTheStoresCADoesNotTakeThePlaceOfTheSystemsForWhoGivesOutIdentities(t *testing.T) {
	server, file := ca(t)
	roots, err := identityRoots(file)
	must(t, err)
	want, err := x509.SystemCertPool()
	must(t, err)
	want.AddCert(server.Certificate())
	if !roots.Equal(want) {
		t.Error("they are not the system's and the store's")
	}
	if roots, err := identityRoots(""); roots != nil || err != nil {
		t.Errorf("without an authority of the store's they are %v, %v", roots, err)
	}
	client, err := newIdentityClient(Options{CAFile: file})
	must(t, err)
	answer, err := client.Get(server.URL)
	must(t, err)
	_ = answer.Body.Close()
}

func TestTheStoreIsTrustedByItsOwnCAAlone(t *testing.T) {
	server, file := ca(t)
	other := httptest.NewTLSServer(http.NotFoundHandler()) // of the same CA, as httptest has only one
	t.Cleanup(other.Close)
	client, err := newHTTPClient(Options{CAFile: file})
	must(t, err)
	if got := client.Transport.(watched).next.(*http.Transport).TLSClientConfig.RootCAs; got == nil || !got.Equal(poolOf(server.Certificate())) {
		t.Error("it trusts others as well")
	}
	client, err = newHTTPClient(Options{})
	must(t, err)
	if answer, err := client.Get(other.URL); err == nil {
		_ = answer.Body.Close()
		t.Error("a certificate of nobody's was taken")
	}
	must(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	for _, make := range []func(Options) (*http.Client, error){newHTTPClient, newIdentityClient} {
		if _, err := make(Options{CAFile: file}); err == nil {
			t.Error("a file without a certificate was taken")
		}
	}
}

func poolOf(certificate *x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return pool
}
