package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Given is a CA that a person gives: what cert-manager and others write into a Secret.
type Given struct {
	Cert  []byte // tls.crt: the CA, and behind it those above it, if any
	Key   []byte // tls.key
	Above []byte // ca.crt: those above it; may be empty
}

// The names of its files, as a Secret has them.
const (
	fileCert  = "tls.crt"
	fileKey   = "tls.key"
	fileAbove = "ca.crt"
)

// Unusable says why a CA that a person gives is not used: which file is wrong, and what is wrong with it. No part of a
// key is in it.
type Unusable struct{ File, Why string }

func (u Unusable) Error() string { return u.File + " " + u.Why }

// ShortestCA is what a CA has to last yet, so that there is time to bring it to all who are to trust it.
const ShortestCA = 7 * 24 * time.Hour

// Clients refuse what a shorter RSA key signs, and Go takes no longer one in a handshake (crypto/tls, checkKeySize).
const shortestRSA, longestRSA = 2048, 8192

// Take reads a CA that a person gives. Every error is Unusable.
func (g Given) Take(now time.Time) (CA, error) {
	certs, err := g.certificates()
	if err != nil {
		return CA{}, err
	}
	cert := certs[0]
	key, err := readKey(g.Key)
	switch {
	case len(g.Key) == 0:
		return CA{}, Unusable{fileKey, "is missing"}
	case err != nil:
		return CA{}, Unusable{fileKey, "holds no private key that can be read. It has to be RSA, ECDSA or Ed25519, " +
			"in PEM, and not encrypted"}
	case !isKeyOf(cert, key):
		return CA{}, Unusable{fileKey, "does not belong to the certificate in tls.crt"}
	}
	for _, why := range []string{whyNoCA(cert), whyWeak(key.Public()), whyNotNow(cert, now)} {
		if why != "" {
			return CA{}, Unusable{fileCert, why}
		}
	}
	ca := CA{cert: cert, key: key, certPEM: encodeCertificate(cert.Raw)}
	ca.chain = chainOf(cert, certs[1:])
	return ca, nil
}

// certificates are the CA, and behind it those above it.
func (g Given) certificates() ([]*x509.Certificate, error) {
	if len(g.Cert) == 0 {
		return nil, Unusable{fileCert, "is missing"}
	}
	certs, err := readCertificates(g.Cert)
	if err != nil {
		return nil, Unusable{fileCert, "cannot be read: " + err.Error()}
	}
	if len(bytes.TrimSpace(g.Above)) == 0 {
		return certs, nil
	}
	above, err := readCertificates(g.Above)
	if err != nil {
		return nil, Unusable{fileAbove, "cannot be read: " + err.Error()}
	}
	return append(certs, above...), nil
}

func whyNoCA(cert *x509.Certificate) string {
	switch {
	case !cert.BasicConstraintsValid || !cert.IsCA:
		return "is not the certificate of a CA: its basic constraints do not say so. With cert-manager, set isCA: true"
	case cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return "may not sign certificates: its key usage lacks Certificate Sign"
	case len(cert.Subject.Names) == 0:
		return "has no subject, so nothing could name it as its issuer"
	}
	return ""
}

func whyWeak(key crypto.PublicKey) string {
	switch public := key.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < shortestRSA || bits > longestRSA {
			return fmt.Sprintf("has an RSA key of %d bits, and it has to have %d to %d", bits, shortestRSA, longestRSA)
		}
		return ""
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P224() {
			return ""
		}
	case ed25519.PublicKey:
		return ""
	}
	return "has a key of a kind that clients do not take. It has to be RSA, ECDSA P-256, P-384 or P-521, or Ed25519"
}

func whyNotNow(cert *x509.Certificate, now time.Time) string {
	switch {
	case now.Before(cert.NotBefore):
		return "is not valid before " + cert.NotBefore.UTC().Format(time.RFC3339)
	case now.After(cert.NotAfter):
		return "expired at " + cert.NotAfter.UTC().Format(time.RFC3339)
	case cert.NotAfter.Sub(now) < ShortestCA:
		return fmt.Sprintf("ends at %s, and has to last %d days yet", cert.NotAfter.UTC().Format(time.RFC3339),
			ShortestCA/(24*time.Hour))
	}
	return ""
}

// Allows returns an error, which is Unusable, when the CA forbids one of the certificates that it is to sign: by name
// constraints, or by what they may be used for. It signs each of them to find out.
func (a CA) Allows(leaves []Leaf, now time.Time) error {
	for _, leaf := range leaves {
		if _, err := a.Issue(leaf, now); err != nil {
			return Unusable{fileCert, "forbids what it has to sign: " + errors.Unwrap(err).Error()}
		}
	}
	return nil
}

// verify asks of a certificate that was just signed what those will ask who trust the CA, and nothing beyond it.
func (a CA) verify(certPEM []byte, usages []x509.ExtKeyUsage, now time.Time) error {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	for _, usage := range usages {
		_, err := certs[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return err
		}
	}
	return nil
}

// longestChain bounds what is walked.
const longestChain = 8

// chainOf is what stands behind each certificate that a CA signs: the CA and those above it, without the root at the
// end, which a client has, or nothing helps. Of a CA that is a root it is empty.
func chainOf(ca *x509.Certificate, above []*x509.Certificate) []byte {
	var chain []byte
	for range longestChain {
		if isRoot(ca) {
			break
		}
		chain = append(chain, encodeCertificate(ca.Raw)...)
		i := slices.IndexFunc(above, func(cert *x509.Certificate) bool {
			return bytes.Equal(cert.RawSubject, ca.RawIssuer) && ca.CheckSignatureFrom(cert) == nil
		})
		if i < 0 {
			break
		}
		ca = above[i]
	}
	return chain
}

func isRoot(cert *x509.Certificate) bool {
	return bytes.Equal(cert.RawSubject, cert.RawIssuer) && cert.CheckSignatureFrom(cert) == nil
}

// Chain is what stands behind each certificate that the CA signs; empty for a root.
func (a CA) Chain() []byte { return a.chain }

// WithChain is the CA that puts these certificates behind each one that it signs.
func (a CA) WithChain(chain []byte) CA { a.chain = chain; return a }

// Pair is the CA as ParseCA reads it: its certificate alone, and its key as PKCS#8.
func (a CA) Pair() (Pair, error) { return encodePair(a.cert.Raw, a.key) }

// Identity is the same for two certificates of one name and one key, in hexadecimal; empty where none can be read. What
// one of them signed, the other one signed. The name of the key counts as well: OpenSSL asks for it.
func Identity(certPEM []byte) string {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(slices.Concat(certs[0].RawSubject, certs[0].RawSubjectPublicKeyInfo,
		certs[0].SubjectKeyId))
	return fmt.Sprintf("%x", sum)
}
