package contract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// A member is dialled by its address under its DNS name, with a client certificate, and tells handshakes that fail.
func TestRealEtcdIsDialledByAddressUnderItsName(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			ca := newCA(t)
			const name = "a.demo-peers.ns.svc"
			pair := ca.issue(t, name)
			crt, key, file := filepath.Join(w.root, "tls.crt"), filepath.Join(w.root, "tls.key"), filepath.Join(w.root, "ca.crt")
			writePEM(t, crt, "CERTIFICATE", pair.Certificate[0])
			writePEM(t, file, "CERTIFICATE", ca.der)
			writePEM(t, key, "EC PRIVATE KEY", marshalKey(t, pair.PrivateKey.(*ecdsa.PrivateKey)))
			w.extra = []string{
				"--cert-file=" + crt, "--key-file=" + key, "--trusted-ca-file=" + file, "--client-cert-auth=true",
				"--listen-client-urls=https://" + w.address("a"), "--advertise-client-urls=https://" + w.address("a"),
			}
			p := &play{TB: t, world: w}
			p.start(fresh("a", "a"))

			trusted := &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.issue(t, "operator")}}
			good := dialTLS(t, client.Endpoint{Address: w.address("a"), ServerName: name, TLS: trusted})
			p.accepted(func() error { return good.ReadLinearizable(t.Context()) })
			if s, err := good.Status(t.Context()); err != nil || s.Revision != 1 {
				t.Errorf("it says %+v, %v", s, err)
			}
			for about, endpoint := range map[string]client.Endpoint{
				"under another name":         {Address: w.address("a"), ServerName: "b.demo-peers.ns.svc", TLS: trusted},
				"without a certificate":      {Address: w.address("a"), ServerName: name, TLS: &tls.Config{RootCAs: ca.pool}},
				"with a stranger's":          {Address: w.address("a"), ServerName: name, TLS: &tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{newCA(t).issue(t, "x")}}},
				"trusting another authority": {Address: w.address("a"), ServerName: name, TLS: &tls.Config{RootCAs: newCA(t).pool}},
			} {
				if _, err := dialTLS(t, endpoint).Status(t.Context()); !client.IsTLS(err) {
					t.Errorf("%s: %v", about, err)
				}
			}
		})
	}
}

func dialTLS(t *testing.T, endpoint client.Endpoint) client.Client {
	t.Helper()
	c, err := dial.EtcdDialer{}.Dial(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// CA is a certificate CA of this test.
type ca struct {
	certificate *x509.Certificate
	der         []byte
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newCA(t *testing.T) *ca {
	t.Helper()
	a := &ca{key: newKey(t), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate, a.der = sign(t, template, template, a.key, a.key)
	a.pool.AddCert(a.certificate)
	return a
}

func (a *ca) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	_, der := sign(t, template, a.certificate, key, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func sign(t *testing.T, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, der
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func marshalKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
