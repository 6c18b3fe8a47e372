package pki

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"net"
	"slices"
	"time"
)

// candidate is a certificate that may need renewal, and what it is held against.
type candidate struct {
	cert, authority *x509.Certificate
	want            Leaf
	now             time.Time
}

// renewals are the reasons to renew, the most telling first.
var renewals = []struct {
	reason string
	holds  func(candidate) bool
}{
	{"not signed by this CA", candidate.isForeign},
	{"has another subject than wanted", candidate.hasOtherSubject},
	{"has other DNS names or IP addresses than wanted", candidate.hasOtherNames},
	{"has other uses than wanted", candidate.hasOtherUsages},
	{"not valid yet", func(c candidate) bool { return c.now.Before(c.cert.NotBefore) }},
	{"expired", func(c candidate) bool { return c.now.After(c.cert.NotAfter) }},
	{"in the last third of its lifetime", candidate.isOld},
}

// NeedsRenewal says whether a certificate has to be issued anew, and why, in words from a closed set that complete
// "the certificate is". One that Issue just made for the same leaf never needs it. When the authority's own certificate
// cannot be read it gives that as the reason but asks for nothing: no judgement is possible then.
func NeedsRenewal(certPEM []byte, authorityCert []byte, want Leaf, now time.Time) (reason string, renew bool) {
	authorities, err := readCertificates(authorityCert)
	if err != nil {
		return "of a CA that cannot be read", false
	}
	certs, err := readCertificates(certPEM)
	if err != nil {
		return "missing or unreadable", true
	}
	c := candidate{cert: certs[0], authority: authorities[0], want: want, now: now}
	for _, renewal := range renewals {
		if renewal.holds(c) {
			return renewal.reason, true
		}
	}
	return "", false
}

func (c candidate) isForeign() bool {
	return !bytes.Equal(c.cert.RawIssuer, c.authority.RawSubject) || c.cert.CheckSignatureFrom(c.authority) != nil
}

func (c candidate) hasOtherSubject() bool {
	return c.cert.Subject.CommonName != c.want.CommonName || !sameSet(c.cert.Subject.Organization, c.want.Organization)
}

func (c candidate) hasOtherNames() bool {
	return !sameSet(c.cert.DNSNames, c.want.DNSNames) || !sameSet(texts(c.cert.IPAddresses), texts(c.want.IPs))
}

func (c candidate) hasOtherUsages() bool {
	return !sameSet(c.cert.ExtKeyUsage, c.want.usages())
}

// isOld measures against the wanted validity, so that a new certificate is never old, however short its life. One that
// lasts as long as the authority is not old either: a new one would not last longer, and would be asked for without
// end.
func (c candidate) isOld() bool {
	return c.cert.NotAfter.Before(c.authority.NotAfter) && c.cert.NotAfter.Sub(c.now) < c.want.validity()/3
}

func texts(ips []net.IP) []string {
	var out []string
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

func sameSet[T cmp.Ordered](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))),
		slices.Compact(slices.Sorted(slices.Values(b))))
}
