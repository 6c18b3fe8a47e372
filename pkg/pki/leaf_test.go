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
	authority := newAuthority(t, "demo", birth)
	want := member().of("etcd", "steward").withIPs(net.IPv4(127, 0, 0, 1), net.ParseIP("2001:db8::7"))
	pair := authority.mustIssue(t, want, birth)
	cert, ca := parse(t, pair.Cert), parse(t, authority.CertPEM())
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
	if !cert.NotBefore.Equal(birth.Add(-day)) || !cert.NotAfter.Equal(birth.Add(365*day)) {
		t.Errorf("valid from %s until %s", cert.NotBefore, cert.NotAfter)
	}
	if string(cert.AuthorityKeyId) != string(ca.SubjectKeyId) {
		t.Errorf("issuer's key id %x, the authority's is %x", cert.AuthorityKeyId, ca.SubjectKeyId)
	}
}

func TestALeafNeverOutlivesItsAuthority(t *testing.T) {
	authority := newAuthority(t, "demo", birth)
	end := birth.Add(DefaultAuthorityValidity)
	for name, tc := range map[string]struct {
		leaf Leaf
		now  time.Time
		want time.Time
	}{
		"early, by default":   {member(), birth, birth.Add(365 * day)},
		"early, as asked":     {member().validFor(day), birth, birth.Add(day)},
		"asked for too much":  {member().validFor(20 * 365 * day), birth, end},
		"in the last year":    {member(), end.Add(-100 * day), end},
		"in the last instant": {member(), end, end},
	} {
		t.Run(name, func(t *testing.T) {
			info := parse(t, authority.mustIssue(t, tc.leaf, tc.now).Cert)
			if !info.NotAfter.Equal(tc.want) {
				t.Errorf("valid until %s, want %s", info.NotAfter, tc.want)
			}
		})
	}
}

func TestALeafThatCannotServeItsPurposeIsNotIssued(t *testing.T) {
	authority := newAuthority(t, "demo", birth)
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
			_, err := authority.Issue(tc.leaf, birth)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestEveryLeafHasItsOwnKey(t *testing.T) {
	authority := newAuthority(t, "demo", birth)
	first, second := authority.mustIssue(t, member(), birth), authority.mustIssue(t, member(), birth)
	if string(first.Key) == string(second.Key) || len(first.Key) == 0 {
		t.Error("two leaves share a key")
	}
}
