package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// ClientTLS is how a client dials etcd: TLS 1.2 or later, trust in exactly the given authorities (several while one
// replaces the other) and none of the system's, and the client's certificate. The caller sets ServerName when it dials
// by address. A certificate renewed later is not picked up: build the configuration again.
func ClientTLS(caPEM []byte, client Pair) (*tls.Config, error) {
	authorities, err := readCertificates(caPEM)
	if err != nil {
		return nil, fmt.Errorf("read the CAs to trust: %w", err)
	}
	roots := x509.NewCertPool()
	for _, authority := range authorities {
		if !maySign(authority) {
			return nil, fmt.Errorf("read the CAs to trust: %q is not one", authority.Subject.CommonName)
		}
		roots.AddCert(authority)
	}
	// The cause is left out: it may quote from what was given as the key.
	certificate, err := tls.X509KeyPair(client.Cert, client.Key)
	if err != nil {
		return nil, errors.New("read the client's certificate and key: unreadable, or not of each other")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{certificate}}, nil
}
