package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// asRoots makes the test's own program say whether it trusts anybody.
const asRoots = "COUNT_ROOTS"

// countRoots is the exit code: 0 when there are CAs to trust.
func countRoots() int {
	roots, err := x509.SystemCertPool()
	if err != nil || roots.Equal(x509.NewCertPool()) {
		return 1
	}
	return 0
}

func TestAnImageWithoutCAsOfItsOwnTrustsThoseOfTheWeb(t *testing.T) {
	bare := exec.Command(os.Args[0])
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	bare.Env = append(os.Environ(), asRoots+"=1", "SSL_CERT_FILE="+nowhere, "SSL_CERT_DIR="+nowhere)
	if output, err := bare.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
