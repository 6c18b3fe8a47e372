package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"
)

func TestAnIssuedCertificateServesUnderItsNamesAndIsAClient(t *testing.T) {
	a, err := NewCA(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Issue("node", Subject{User: "system:node:node-1", Groups: []string{"system:nodes"}}, "node-1", "198.18.0.11"); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(a.File("node", "crt"), a.File("node", "key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	for _, name := range []string{"node-1", "198.18.0.11"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool}); err != nil {
			t.Errorf("serving %s: %v", name, err)
		}
	}
	client := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := pair.Leaf.Verify(client); err != nil {
		t.Errorf("as a client: %v", err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "node-2", Roots: pool}); err == nil {
		t.Error("it serves another node's name")
	}
}

func TestAKubeconfigIsCompleteInOneFile(t *testing.T) {
	a, err := NewCA(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Kubeconfig("admin", Subject{User: "admin"}, "https://198.18.0.2:6443"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(a.File("admin", "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"https://198.18.0.2:6443", "certificate-authority-data: LS0", "client-certificate-data: LS0", "client-key-data: LS0"} {
		if !strings.Contains(string(data), part) {
			t.Errorf("no %s in\n%s", part, data)
		}
	}
}
