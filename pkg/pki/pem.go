package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
	ecKeyBlock       = "EC PRIVATE KEY"
)

// Pair is a certificate and its private key, both PEM: what a Secret of type kubernetes.io/tls holds. The key is PKCS#8,
// which every etcd reads (crypto/tls.X509KeyPair, etcd-io/etcd:client/pkg/tlsutil/tlsutil.go) and most other clients too.
type Pair struct{ Cert, Key []byte }

// String keeps the key out of logs and errors.
func (Pair) String() string { return "pki.Pair(redacted)" }

// GoString keeps the key out of %#v.
func (p Pair) GoString() string { return p.String() }

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func encodePair(certDER []byte, key crypto.Signer) (Pair, error) {
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, errors.New("encode the private key")
	}
	return Pair{Cert: encodeCertificate(certDER), Key: pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: keyDER})}, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
}

// readCertificates reads every certificate of a PEM file, and refuses one that has none or has anything else: what is
// skipped in silence is trust that somebody believes to have.
func readCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certificateBlock {
			return nil, errors.New("a PEM block is not a certificate")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
		data = rest
	}
	if len(certs) == 0 {
		return nil, errors.New("no PEM certificate")
	}
	if len(bytes.TrimSpace(data)) > 0 {
		return nil, errors.New("text after the last certificate")
	}
	return certs, nil
}

// readKey reads the first private key. Its errors are constant, so that no part of a key can get into one.
func readKey(data []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case keyBlock:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case ecKeyBlock:
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default: // openssl writes EC PARAMETERS before the key
			continue
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok {
			return nil, errors.New("the private key is malformed or of an unsupported kind")
		}
		return signer, nil
	}
	return nil, errors.New("no PEM private key")
}

func isKeyOf(cert *x509.Certificate, key crypto.Signer) bool {
	public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}
