package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net"
	"testing"
	"time"
)

// start is when everything in these tests is made, unless real clocks are involved.
var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func newCA(t testing.TB, name string, now time.Time) CA {
	t.Helper()
	pair, err := NewCA(name, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parseCA(t, pair)
}

func parseCA(t testing.TB, pair Pair) CA {
	t.Helper()
	ca, err := ParseCA(pair)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func (a CA) mustIssue(t testing.TB, l Leaf, now time.Time) Pair {
	t.Helper()
	pair, err := a.Issue(l, now)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func parse(t testing.TB, certPEM []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	if block == nil {
		t.Fatal("no PEM block")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// member is a member's certificate for either port; it is for both uses.
func member() Leaf {
	return Leaf{
		CommonName: "demo-0",
		DNSNames:   []string{"demo-0.demo-peer.default.svc.cluster.local", "localhost"},
		IPs:        []net.IP{net.IPv4(127, 0, 0, 1)},
		Server:     true,
		Client:     true,
	}
}

// caller is a client's certificate without any address.
func caller(name string) Leaf { return Leaf{CommonName: name, Client: true} }

func (l Leaf) withDNSNames(names ...string) Leaf { l.DNSNames = names; return l }
func (l Leaf) withIPs(ips ...net.IP) Leaf        { l.IPs = ips; return l }
func (l Leaf) validFor(d time.Duration) Leaf     { l.Validity = d; return l }
func (l Leaf) forServersOnly() Leaf              { l.Server, l.Client = true, false; return l }
func (l Leaf) forClientsOnly() Leaf              { l.Server, l.Client = false, true; return l }
func (l Leaf) named(name string) Leaf            { l.CommonName = name; return l }
func (l Leaf) of(organization ...string) Leaf    { l.Organization = organization; return l }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
