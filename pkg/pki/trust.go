package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Fingerprint is the SHA-256 of the first certificate, as "openssl x509 -noout -fingerprint -sha256" prints it; empty
// where there is none that can be read.
func Fingerprint(certPEM []byte) string {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(certs[0].Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// IsOf reports whether this CA signed a certificate, or is the one that the certificate's holder trusts. An
// CA whose certificate was made anew with the same key and name signed what the key signed before.
func IsOf(certPEM, trustedPEM, caCert []byte) bool {
	cas, err := readCertificates(caCert)
	if err != nil {
		return false
	}
	if trusted, err := readCertificates(trustedPEM); err == nil && bytes.Equal(trusted[0].Raw, cas[0].Raw) {
		return true
	}
	certs, err := readCertificates(certPEM)
	return err == nil && !candidate{cert: certs[0], ca: cas[0]}.isForeign()
}

// ClientTLS is how a client dials etcd: TLS 1.2 or later, trust in exactly the given CAs (several while one
// replaces the other) and none of the system's, and the client's certificate. The caller sets ServerName when it dials
// by address. A certificate renewed later is not picked up: build the configuration again.
func ClientTLS(caPEM []byte, client Pair) (*tls.Config, error) {
	cas, err := readCertificates(caPEM)
	if err != nil {
		return nil, fmt.Errorf("read the CAs to trust: %w", err)
	}
	roots := x509.NewCertPool()
	for _, ca := range cas {
		if !maySign(ca) {
			return nil, fmt.Errorf("read the CAs to trust: %q is not one", ca.Subject.CommonName)
		}
		roots.AddCert(ca)
	}
	// The cause is left out: it may quote from what was given as the key.
	certificate, err := tls.X509KeyPair(client.Cert, client.Key)
	if err != nil {
		return nil, errors.New("read the client's certificate and key: unreadable, or not of each other")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{certificate}}, nil
}
