package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"time"
)

// Info is what a certificate says, without anything secret.
type Info struct {
	NotBefore, NotAfter time.Time
	CommonName          string
	Organization        []string
	DNSNames            []string
	IPs                 []net.IP
	EKUs                []x509.ExtKeyUsage
	IsCA                bool
	// Serial, IssuerKeyID (of the authority that signed it) and Fingerprint (SHA-256 of the certificate) are lower-case hex.
	Serial, IssuerKeyID, Fingerprint string
}

// Inspect reads the first certificate of a PEM file, the leaf of a chain. It believes what is written: no signature is checked.
func Inspect(certPEM []byte) (Info, error) {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return Info{}, fmt.Errorf("inspect certificate: %w", err)
	}
	cert := certs[0]
	fingerprint := sha256.Sum256(cert.Raw)
	return Info{
		NotBefore:    cert.NotBefore,
		NotAfter:     cert.NotAfter,
		CommonName:   cert.Subject.CommonName,
		Organization: cert.Subject.Organization,
		DNSNames:     cert.DNSNames,
		IPs:          cert.IPAddresses,
		EKUs:         cert.ExtKeyUsage,
		IsCA:         cert.IsCA,
		Serial:       cert.SerialNumber.Text(16),
		IssuerKeyID:  hex.EncodeToString(cert.AuthorityKeyId),
		Fingerprint:  hex.EncodeToString(fingerprint[:]),
	}, nil
}
