package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	// DefaultAuthorityValidity is how long an authority lives unless told otherwise.
	DefaultAuthorityValidity = 10 * 365 * 24 * time.Hour
	// DefaultLeafValidity is how long a leaf lives unless told otherwise; it is renewed after two thirds of that.
	DefaultLeafValidity = 365 * 24 * time.Hour

	// clockSkew is how far behind a verifier's clock may be: certificates are valid from that long before their issue.
	// A machine that takes the time of its place for UTC is wrong by up to 14 hours. It costs nothing, since the key is
	// no older than the certificate.
	clockSkew = 24 * time.Hour
)

// Authority is a certificate authority that was read back and can sign. The zero value cannot; use ParseAuthority.
type Authority struct {
	cert    *x509.Certificate
	key     crypto.Signer
	certPEM []byte
}

// NewAuthority makes a self-signed authority (ECDSA P-256) which signs leaves only, never another authority.
// A validity of zero or less means DefaultAuthorityValidity.
func NewAuthority(commonName string, now time.Time, validity time.Duration) (Pair, error) {
	if commonName == "" {
		return Pair{}, errors.New("make a CA: the common name is empty")
	}
	if validity <= 0 {
		validity = DefaultAuthorityValidity
	}
	pair, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
	if err != nil {
		return Pair{}, fmt.Errorf("make CA %q: %w", commonName, err)
	}
	return pair, nil
}

// ParseAuthority reads an authority. It refuses anything but one certificate that may sign others, with its own key.
// An expired authority can be read, since its certificate is still needed and its end has to be told: Issue refuses to
// sign with it, and CheckValidity says so beforehand.
func ParseAuthority(p Pair) (Authority, error) {
	certs, err := readCertificates(p.Cert)
	if err != nil {
		return Authority{}, fmt.Errorf("read the CA's certificate: %w", err)
	}
	cert := certs[0]
	if len(certs) > 1 || !maySign(cert) {
		return Authority{}, fmt.Errorf("read CA %q: want one certificate, and of a CA", cert.Subject.CommonName)
	}
	key, err := readKey(p.Key)
	if err != nil {
		return Authority{}, fmt.Errorf("read the key of CA %q: %w", cert.Subject.CommonName, err)
	}
	if !isKeyOf(cert, key) {
		return Authority{}, fmt.Errorf("read CA %q: the key belongs to another certificate", cert.Subject.CommonName)
	}
	return Authority{cert: cert, key: key, certPEM: encodeCertificate(cert.Raw)}, nil
}

// CertPEM is the authority's certificate, the ca.crt of all who trust it.
func (a Authority) CertPEM() []byte { return a.certPEM }

// CheckValidity returns an error, which names the time, when the authority has expired or is not valid yet.
func (a Authority) CheckValidity(now time.Time) error {
	switch {
	case a.cert == nil:
		return errors.New("the CA was never read")
	case now.After(a.cert.NotAfter):
		return fmt.Errorf("CA %q expired at %s", a.cert.Subject.CommonName, a.cert.NotAfter.Format(time.RFC3339))
	case now.Before(a.cert.NotBefore):
		return fmt.Errorf("CA %q is not valid before %s", a.cert.Subject.CommonName,
			a.cert.NotBefore.Format(time.RFC3339))
	}
	return nil
}

func maySign(cert *x509.Certificate) bool {
	return cert.BasicConstraintsValid && cert.IsCA && cert.KeyUsage&x509.KeyUsageCertSign != 0
}

// sign makes a key and its certificate from template, self-signed without an authority, and reads the certificate back:
// what cannot be read must not be stored.
func sign(template *x509.Certificate, by *Authority) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128)); err != nil {
		return Pair{}, fmt.Errorf("draw a serial number: %w", err)
	}
	if by == nil {
		by = &Authority{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign: %w", err)
	}
	if _, err := x509.ParseCertificate(der); err != nil {
		return Pair{}, fmt.Errorf("read back what was signed: %w", err)
	}
	return encodePair(der, key)
}
