package pki

import (
	"bytes"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
)

// peerPort is etcd's own listener, as a member opens it for its peers, on files as a Secret's volume has them.
type peerPort struct {
	dir      string
	listener net.Listener
	verdicts chan error // one per connection; nil: accepted
}

func openPeerPort(t *testing.T, ca CA, pair Pair) *peerPort {
	t.Helper()
	port := &peerPort{dir: t.TempDir(), verdicts: make(chan error, 1)}
	port.write(t, "tls.crt", pair.Cert)
	port.write(t, "tls.key", pair.Key)
	port.write(t, "ca.crt", ca.CertPEM())
	info := &transport.TLSInfo{
		CertFile:         filepath.Join(port.dir, "tls.crt"),
		KeyFile:          filepath.Join(port.dir, "tls.key"),
		TrustedCAFile:    filepath.Join(port.dir, "ca.crt"),
		ClientCertAuth:   true,
		HandshakeFailure: func(_ *tls.Conn, err error) { port.verdicts <- err },
	}
	var err error
	if port.listener, err = transport.NewListener("127.0.0.1:0", "https", info); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { port.listener.Close() })
	go port.accept()
	return port
}

func (p *peerPort) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *peerPort) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		_ = conn.Close()
		p.verdicts <- nil
	}
}

// dial returns the serial number that the port showed, and what it thought of the caller.
func (p *peerPort) dial(t *testing.T, trusted []byte, caller Pair) (serial string, verdict error) {
	t.Helper()
	config, err := ClientTLS(trusted, caller)
	if err != nil {
		t.Fatal(err)
	}
	config.ServerName = member().DNSNames[0]
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", p.listener.Addr().String(), config)
	if err == nil {
		serial = conn.ConnectionState().PeerCertificates[0].SerialNumber.Text(16)
		defer conn.Close()
	}
	return serial, <-p.verdicts
}

// From here the names looked up are those of /etc/hosts only: nothing leaves the machine.
func TestEtcdsPeerPortAcceptsACallerByAddressThenByName(t *testing.T) {
	now := time.Now()
	ca := newCA(t, "demo peers", now)
	port := openPeerPort(t, ca, ca.mustIssue(t, member(), now))
	elsewhere := net.IPv4(192, 0, 2, 1)
	for name, tc := range map[string]struct {
		caller  Leaf
		refusal string
	}{
		"its address":                          {member().withDNSNames(), ""},
		"its name":                             {member().withIPs().withDNSNames("localhost"), ""},
		"another address, but its name":        {member().withIPs(elsewhere).withDNSNames("localhost"), ""},
		"neither address nor name":             {caller("demo-1"), ""},
		"another address":                      {member().withIPs(elsewhere).withDNSNames(), "192.0.2.1"},
		"a wildcard, which is not looked up":   {member().withIPs().withDNSNames("*.demo-peer.default.svc"), "does not match any of DNSNames"},
		"its address, but the server use only": {member().withDNSNames().forServersOnly(), "incompatible key usage"},
	} {
		t.Run("a certificate with "+name, func(t *testing.T) {
			_, verdict := port.dial(t, ca.CertPEM(), ca.mustIssue(t, tc.caller, now))
			if (tc.refusal == "") != (verdict == nil) || verdict != nil && !strings.Contains(verdict.Error(), tc.refusal) {
				t.Errorf("etcd says %v, want %q", verdict, tc.refusal)
			}
		})
	}
}

func TestEtcdShowsARenewedLeafAtTheNextHandshakeButKeepsTheCAItReadAtItsStart(t *testing.T) {
	now := time.Now()
	old, next := newCA(t, "demo peers", now), newCA(t, "demo peers", now)
	first := old.mustIssue(t, member(), now)
	port := openPeerPort(t, old, first)
	caller := old.mustIssue(t, member().named("demo-1"), now)
	if serial, verdict := port.dial(t, old.CertPEM(), caller); verdict != nil || serial != parse(t, first.Cert).SerialNumber.Text(16) {
		t.Fatalf("before the renewal: serial %s, verdict %v", serial, verdict)
	}

	renewed := old.mustIssue(t, member(), now)
	port.write(t, "tls.crt", renewed.Cert)
	port.write(t, "tls.key", renewed.Key)
	if serial, verdict := port.dial(t, old.CertPEM(), caller); verdict != nil || serial != parse(t, renewed.Cert).SerialNumber.Text(16) {
		t.Errorf("after the renewal: serial %s, want %s, verdict %v", serial, parse(t, renewed.Cert).SerialNumber.Text(16), verdict)
	}

	port.write(t, "ca.crt", bytes.Join([][]byte{old.CertPEM(), next.CertPEM()}, nil))
	if _, verdict := port.dial(t, old.CertPEM(), next.mustIssue(t, member(), now)); verdict == nil {
		t.Error("a caller of an authority added later was accepted: authorities do reload, and the documentation is wrong")
	}
}
