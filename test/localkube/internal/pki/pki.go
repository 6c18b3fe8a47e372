// Package pki makes the certificates and kubeconfigs of a localkube: one CA, a server certificate for the API
// server and each kubelet, and a client certificate for each component. All keys are ECDSA P-256 and last a year.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	lifetime = 365 * 24 * time.Hour
	// skew lets a certificate be used at once on a machine whose clock was just set back.
	skew = time.Hour
)

// CA signs certificates and writes them to a directory.
type CA struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA makes a CA and writes it as ca.crt and ca.key.
func NewCA(dir string) (*CA, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of keys: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the authority's key: %w", err)
	}
	template := newTemplate("localkube", nil)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("signing the authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the authority back: %w", err)
	}
	a := &CA{dir: dir, cert: cert, key: key}
	return a, a.write("ca", der, key)
}

// Subject is who a certificate is for: a user and groups as Kubernetes reads them.
type Subject struct {
	User   string
	Groups []string
}

// Issue writes <name>.crt and <name>.key. With hosts (DNS names or addresses) it serves, and it is a client in any
// case.
func (a *CA) Issue(name string, subject Subject, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key of %s: %w", name, err)
	}
	template := newTemplate(subject.User, subject.Groups)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, h := range hosts {
		if address := net.ParseIP(h); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("signing %s: %w", name, err)
	}
	return a.write(name, der, key)
}

func newTemplate(user string, groups []string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    time.Now().Add(-skew),
		NotAfter:     time.Now().Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func (a *CA) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key of %s: %w", name, err)
	}
	if err := writePEM(a.File(name, "key"), "PRIVATE KEY", keyDER); err != nil {
		return err
	}
	return writePEM(a.File(name, "crt"), "CERTIFICATE", der)
}

func writePEM(path, kind string, der []byte) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// File is the path of a certificate (crt), a key (key) or a kubeconfig of that name.
func (a *CA) File(name, extension string) string {
	return filepath.Join(a.dir, name+"."+extension)
}
