// Package pki is the built-in certificate CA: functions on PEM bytes, with the clock passed in and no I/O but
// randomness.
//
// A cluster has two CAs: one for clients and one for peers. The one for peers signs members only, so no
// client's certificate ever opens a peer port, nor a member's peer certificate a client port. What they sign:
//
//   - each member, by peers: server and client use, since a member both accepts and dials. One certificate per member
//     with its full name: the peer port checks whence a caller dials by its addresses, then by reverse lookup, then by
//     looking up each name, but never a wildcard (etcd-io/etcd:client/pkg/transport/listener_tls.go);
//   - each member, by clients: server use, and client use for the gRPC gateway, which dials the member's own client
//     port with the server certificate (etcd-io/etcd:server/embed/serve.go);
//   - the operator, by clients: client use, common name root;
//   - the users' bundle, by clients: client use, common name <cluster>-client.
//
// etcd reads a leaf and its key again at each handshake, so renewing one needs no restart (the Secret is mounted as a
// directory). It reads a CA's certificate once, at its start: replacing a CA needs rolls of all
// members, while both CAs are trusted.
package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	// DefaultCAValidity is how long a CA lives unless told otherwise.
	DefaultCAValidity = 10 * 365 * 24 * time.Hour
	// DefaultLeafValidity is how long a leaf lives unless told otherwise; it is renewed after two thirds of that.
	DefaultLeafValidity = 365 * 24 * time.Hour

	// clockSkew is how far behind a verifier's clock may be: certificates are valid from that long before their issue.
	// A machine that takes the time of its place for UTC is wrong by up to 14 hours. It costs nothing, since the key is
	// no older than the certificate.
	clockSkew = 24 * time.Hour
)

// CA is a certificate CA that was read back and can sign. The zero value cannot; use ParseCA.
type CA struct {
	cert    *x509.Certificate
	key     crypto.Signer
	certPEM []byte
	chain   []byte // see Chain
}

// NewCA makes a self-signed CA (ECDSA P-256) which signs leaves only, never another CA.
// A validity of zero or less means DefaultCAValidity.
func NewCA(commonName string, now time.Time, validity time.Duration) (Pair, error) {
	return makeCA(commonName, "", now, validity)
}

func makeCA(commonName, serial string, now time.Time, validity time.Duration) (Pair, error) {
	if commonName == "" {
		return Pair{}, errors.New("make a CA: the common name is empty")
	}
	if validity <= 0 {
		validity = DefaultCAValidity
	}
	pair, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName, SerialNumber: serial},
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

// ParseCA reads a CA. It refuses anything but one certificate that may sign others, with its own key.
// An expired CA can be read, since its certificate is still needed and its end has to be told: Issue refuses to
// sign with it, and CheckValidity says so beforehand.
func ParseCA(p Pair) (CA, error) {
	certs, err := readCertificates(p.Cert)
	if err != nil {
		return CA{}, fmt.Errorf("read the CA's certificate: %w", err)
	}
	cert := certs[0]
	if len(certs) > 1 || !maySign(cert) {
		return CA{}, fmt.Errorf("read CA %q: want one certificate, and of a CA", cert.Subject.CommonName)
	}
	key, err := readKey(p.Key)
	if err != nil {
		return CA{}, fmt.Errorf("read the key of CA %q: %w", cert.Subject.CommonName, err)
	}
	if !isKeyOf(cert, key) {
		return CA{}, fmt.Errorf("read CA %q: the key belongs to another certificate", cert.Subject.CommonName)
	}
	return CA{cert: cert, key: key, certPEM: encodeCertificate(cert.Raw)}, nil
}

// CertPEM is the CA's certificate, the ca.crt of all who trust it.
func (a CA) CertPEM() []byte { return a.certPEM }

// CheckValidity returns an error, which names the time, when the CA has expired or is not valid yet.
func (a CA) CheckValidity(now time.Time) error {
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

// sign makes a key and its certificate from template, self-signed without a CA, and reads the certificate back:
// what cannot be read must not be stored.
func sign(template *x509.Certificate, by *CA) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128)); err != nil {
		return Pair{}, fmt.Errorf("draw a serial number: %w", err)
	}
	if by == nil {
		by = &CA{cert: template, key: key}
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

// Pair is a certificate and its private key, both PEM: what a Secret of type kubernetes.io/tls holds. The key is
// PKCS#8, which every etcd reads (crypto/tls.X509KeyPair, etcd-io/etcd:client/pkg/tlsutil/tlsutil.go) and most other
// clients too.
type Pair struct{ Cert, Key []byte }

// String keeps the key out of logs and errors.
func (Pair) String() string { return "pki.Pair(redacted)" }

// GoString keeps the key out of %#v.
func (p Pair) GoString() string { return p.String() }

func encodePair(certDER []byte, key crypto.Signer) (Pair, error) {
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, errors.New("encode the private key")
	}
	return Pair{Cert: encodeCertificate(certDER),
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})}, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// readCertificates reads every certificate of a PEM file, and refuses one that has none or ends in anything else: what
// is skipped in silence is trust that somebody believes to have.
func readCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for rest := bytes.TrimSpace(data); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("something is not a PEM certificate")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no PEM certificate")
	}
	return certs, nil
}

// readKey reads the first private key. Its errors are constant, so that no part of a key can get into one.
func readKey(data []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch block.Type { // any other block is passed over: openssl writes EC PARAMETERS before the key
		case "PRIVATE KEY":
			key, _ = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			if ecKey, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
				key = ecKey
			}
		case "RSA PRIVATE KEY": // cert-manager writes this one, unless it is asked for another
			if rsaKey, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
				key = rsaKey
			}
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	return nil, errors.New("no PEM private key of a supported kind")
}

func isKeyOf(cert *x509.Certificate, key crypto.Signer) bool {
	public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}
