package pki

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"
)

// Trust is a set: while one CA takes the place of another, both are trusted.

// NextCA makes the CA that takes the place of an earlier one of this name. Its subject has a serial number beside the
// name, so that nothing takes the one for the other: etcd tells its callers by their subjects which CAs it trusts.
func NextCA(commonName string, now time.Time, validity time.Duration) (Pair, error) {
	return makeCA(commonName, now.UTC().Format("20060102T150405Z"), now, validity)
}

// IsFirst reports a CA that took the place of none: NewCA made it.
func IsFirst(caCert []byte) bool {
	certs, err := readCertificates(caCert)
	return err == nil && certs[0].Subject.SerialNumber == ""
}

// Made is when Issue, or what makes a CA, made the first certificate of a PEM file; zero where none can be read.
func Made(certPEM []byte) time.Time {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return time.Time{}
	}
	return certs[0].NotBefore.Add(clockSkew)
}

// Bundle is the certificates of all these files in one, each once, the oldest first; nil where one cannot be read. So
// it does not matter which of two CAs signs.
func Bundle(files ...[]byte) []byte {
	var all []*x509.Certificate
	for _, file := range files {
		certs, err := readCertificates(file)
		if err != nil {
			return nil
		}
		all = append(all, certs...)
	}
	slices.SortStableFunc(all, func(a, b *x509.Certificate) int {
		if before := a.NotBefore.Compare(b.NotBefore); before != 0 {
			return before
		}
		return bytes.Compare(a.Raw, b.Raw)
	})
	all = slices.CompactFunc(all, func(a, b *x509.Certificate) bool { return bytes.Equal(a.Raw, b.Raw) })
	var out []byte
	for _, cert := range all {
		out = append(out, encodeCertificate(cert.Raw)...)
	}
	return out
}

// Fingerprints are those of all certificates of a PEM file; none where it cannot be read.
func Fingerprints(file []byte) []string {
	certs, err := readCertificates(file)
	if err != nil {
		return nil
	}
	prints := make([]string, 0, len(certs))
	for _, cert := range certs {
		prints = append(prints, Fingerprint(encodeCertificate(cert.Raw)))
	}
	return prints
}

// Read is the first certificate of a PEM file.
func Read(certPEM []byte) (*x509.Certificate, error) {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

// SignerOf is the fingerprint of the CA that signed a certificate, of those in these PEM files; empty where none did.
func SignerOf(cert *x509.Certificate, files ...[]byte) string {
	for _, file := range files {
		cas, err := readCertificates(file)
		if err != nil {
			continue
		}
		for _, ca := range cas {
			if cert.CheckSignatureFrom(ca) == nil {
				return Fingerprint(encodeCertificate(ca.Raw))
			}
		}
	}
	return ""
}
