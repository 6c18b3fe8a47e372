package client

import (
	"crypto/tls"
	"crypto/x509"
)

// Following is the TLS of a client that reads anew for each connection what it shows, and whom it trusts.
func Following(read func() (*tls.Config, error)) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies, by the CAs that are read just then
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			fresh, err := read()
			if err != nil {
				return nil, err
			}
			return &fresh.Certificates[0], nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			fresh, err := read()
			if err != nil {
				return err
			}
			_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: fresh.RootCAs, DNSName: state.ServerName})
			return err
		},
	}
}
