// Package issuing answers CertificateRequests as an issuer of cert-manager does, and as one that does something else.
package issuing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// Issuer has a CA of its own.
type Issuer struct {
	Cert *x509.Certificate
	Key  crypto.Signer
	Root *Issuer // above its CA, which it then calls its CA; nil: its own is

	Denies, Fails string // with this message
	NamesNoCA     bool
	Change        func(*x509.Certificate) // of what it signs
}

const life = 90 * 24 * time.Hour

// New makes a self-signed one. Of root, it is an intermediate CA.
func New(name string, now time.Time, root *Issuer) (*Issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	made := &Issuer{Key: key, Root: root, Cert: &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.AddDate(5, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	by := made
	if root != nil {
		by = root
	}
	made.Cert, err = by.sign(made.Cert, key.Public())
	return made, err
}

func (i *Issuer) sign(template *x509.Certificate, key any) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, i.Cert, key, i.Key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return x509.ParseCertificate(der)
}

// PEM is its CA.
func (i *Issuer) PEM() []byte { return encode(i.Cert) }

func encode(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

var usages = map[string]x509.ExtKeyUsage{"server auth": x509.ExtKeyUsageServerAuth, "client auth": x509.ExtKeyUsageClientAuth}

// Answer writes into a request what becomes of it.
func (i *Issuer) Answer(r *resources.CertificateRequest, now time.Time) error {
	says := func(kind, status, reason, message string) {
		at := metav1.NewTime(now)
		r.Status.Conditions = append(r.Status.Conditions, resources.RequestCondition{Type: kind, Status: status, Reason: reason,
			Message: message, LastTransitionTime: &at})
	}
	switch at := metav1.NewTime(now); {
	case i.Denies != "":
		says(resources.RequestDenied, "True", "policy", i.Denies)
		says(resources.RequestReady, "False", "Denied", "The CertificateRequest was denied by an approval controller")
		r.Status.FailureTime = &at
		return nil
	case i.Fails != "":
		says(resources.RequestApproved, "True", "cert-manager.io", "")
		says(resources.RequestReady, "False", resources.RequestFailed, i.Fails)
		r.Status.FailureTime = &at
		return nil
	}
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil {
		return fmt.Errorf("the CertificateRequest %s has no request", r.Name)
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return fmt.Errorf("reading the CertificateRequest %s: %w", r.Name, err)
	}
	template := &x509.Certificate{Subject: csr.Subject, DNSNames: csr.DNSNames, IPAddresses: csr.IPAddresses, NotBefore: now,
		NotAfter: now.Add(life), KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true}
	for _, usage := range r.Spec.Usages {
		if extended, isKnown := usages[usage]; isKnown {
			template.ExtKeyUsage = append(template.ExtKeyUsage, extended)
		}
	}
	if i.Change != nil {
		i.Change(template)
	}
	cert, err := i.sign(template, csr.PublicKey)
	if err != nil {
		return err
	}
	r.Status.Certificate, r.Status.CA = encode(cert), i.PEM()
	if i.Root != nil {
		r.Status.Certificate, r.Status.CA = append(r.Status.Certificate, i.PEM()...), i.Root.PEM()
	}
	if i.NamesNoCA {
		r.Status.CA = nil
	}
	says(resources.RequestApproved, "True", "cert-manager.io", "")
	says(resources.RequestReady, "True", "Issued", "Certificate fetched from issuer successfully")
	return nil
}
