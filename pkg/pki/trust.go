package pki

import (
	"bytes"
	"crypto/sha256"
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

// IsOf reports whether this authority signed a certificate, or is the one that the certificate's holder trusts. An
// authority whose certificate was made anew with the same key and name signed what the key signed before.
func IsOf(certPEM, trustedPEM, authorityCert []byte) bool {
	authorities, err := readCertificates(authorityCert)
	if err != nil {
		return false
	}
	if trusted, err := readCertificates(trustedPEM); err == nil && bytes.Equal(trusted[0].Raw, authorities[0].Raw) {
		return true
	}
	certs, err := readCertificates(certPEM)
	return err == nil && !candidate{cert: certs[0], authority: authorities[0]}.isForeign()
}
