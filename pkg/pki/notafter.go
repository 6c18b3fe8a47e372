package pki

import (
	"fmt"
	"time"
)

// NotAfter is when the first certificate of a PEM file, the leaf of a chain, ends. It believes what is written: no
// signature is checked.
func NotAfter(certPEM []byte) (time.Time, error) {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the end of a certificate: %w", err)
	}
	return certs[0].NotAfter, nil
}
