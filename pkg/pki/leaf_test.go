package pki

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestALeafSaysExactlyWhatWasAskedFor(t *testing.T) {
	ca := newCA(t, "demo", start)
	want := member().of("etcd", "steward").withIPs(net.IPv4(127, 0, 0, 1), net.ParseIP("2001:db8::7"))
	pair := ca.mustIssue(t, want, start)
	cert, issuer := parse(t, pair.Cert), parse(t, ca.CertPEM())
	if cert.Subject.CommonName != "demo-0" || !slices.Equal(cert.DNSNames, want.DNSNames) || !slices.EqualFunc(cert.IPAddresses, want.IPs, net.IP.Equal) {
		t.Errorf("%q for %v and %v", cert.Subject.CommonName, cert.DNSNames, cert.IPAddresses)
	}
	if got := slices.Sorted(slices.Values(cert.Subject.Organization)); !slices.Equal(got, want.Organization) {
		t.Errorf("organizations %q", got)
	}
	if !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}) {
		t.Errorf("uses %v, want server and client", cert.ExtKeyUsage)
	}
	if cert.IsCA || cert.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("CA %v, key usage %b", cert.IsCA, cert.KeyUsage)
	}
	if !cert.NotBefore.Equal(start.Add(-day)) || !cert.NotAfter.Equal(start.Add(365*day)) {
		t.Errorf("valid from %s until %s", cert.NotBefore, cert.NotAfter)
	}
	if string(cert.AuthorityKeyId) != string(issuer.SubjectKeyId) {
		t.Errorf("issuer's key id %x, the authority's is %x", cert.AuthorityKeyId, issuer.SubjectKeyId)
	}
}

func TestALeafNeverOutlivesItsCA(t *testing.T) {
	ca := newCA(t, "demo", start)
	end := start.Add(DefaultCAValidity)
	for name, tc := range map[string]struct {
		leaf Leaf
		now  time.Time
		want time.Time
	}{
		"early, by default":   {member(), start, start.Add(365 * day)},
		"early, as asked":     {member().validFor(day), start, start.Add(day)},
		"asked for too much":  {member().validFor(20 * 365 * day), start, end},
		"in the last year":    {member(), end.Add(-100 * day), end},
		"in the last instant": {member(), end, end},
	} {
		t.Run(name, func(t *testing.T) {
			info := parse(t, ca.mustIssue(t, tc.leaf, tc.now).Cert)
			if !info.NotAfter.Equal(tc.want) {
				t.Errorf("valid until %s, want %s", info.NotAfter, tc.want)
			}
		})
	}
}

func TestALeafThatCannotServeItsPurposeIsNotIssued(t *testing.T) {
	ca := newCA(t, "demo", start)
	for name, tc := range map[string]struct {
		leaf Leaf
		want string
	}{
		"without a use":             {Leaf{CommonName: "demo-0"}, "neither server nor client"},
		"without a name":            {Leaf{Client: true}, "common name is empty"},
		"a server without address":  {caller("demo-0").forServersOnly(), "DNS name or an IP address"},
		"with a name not in ASCII":  {member().withDNSNames("größe.example"), "demo-0"},
		"with half an address":      {member().withIPs(net.IP{127, 0}), "demo-0"},
		"with a name not in UTF-8":  {caller("\xff"), "sign"},
		"with a nil address":        {member().withIPs(nil), "demo-0"},
		"an organization not UTF-8": {member().of("\xff"), "sign"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ca.Issue(tc.leaf, start)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestEveryLeafHasItsOwnKey(t *testing.T) {
	ca := newCA(t, "demo", start)
	first, second := ca.mustIssue(t, member(), start), ca.mustIssue(t, member(), start)
	if string(first.Key) == string(second.Key) || len(first.Key) == 0 {
		t.Error("two leaves share a key")
	}
}
