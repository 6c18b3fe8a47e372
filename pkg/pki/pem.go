package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

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
