package pki

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// candidate is a certificate that may need renewal, and what it is held against.
type candidate struct {
	cert, ca *x509.Certificate
	want     Leaf
	now      time.Time
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
// "the certificate is". One that Issue just made for the same leaf never needs it. When the CA's own certificate
// cannot be read it gives that as the reason but asks for nothing: no judgement is possible then.
func NeedsRenewal(certPEM []byte, caCert []byte, want Leaf, now time.Time) (reason string, renew bool) {
	cas, err := readCertificates(caCert)
	if err != nil {
		return "of a CA that cannot be read", false
	}
	certs, err := readCertificates(certPEM)
	if err != nil {
		return "missing or unreadable", true
	}
	c := candidate{cert: certs[0], ca: cas[0], want: want, now: now}
	for _, renewal := range renewals {
		if renewal.holds(c) {
			return renewal.reason, true
		}
	}
	return "", false
}

func (c candidate) isForeign() bool {
	return !bytes.Equal(c.cert.RawIssuer, c.ca.RawSubject) || c.cert.CheckSignatureFrom(c.ca) != nil
}

func (c candidate) hasOtherSubject() bool {
	isOther := !sameSet(c.cert.Subject.Organization, c.want.Organization)
	return c.cert.Subject.CommonName != c.want.CommonName || isOther && !c.want.ofIssuer
}

func (c candidate) hasOtherNames() bool {
	names := c.cert.DNSNames
	if c.want.ofIssuer {
		names = without(names, c.want.CommonName, c.want.DNSNames)
	}
	return !sameSet(names, c.want.DNSNames) || !sameSet(texts(c.cert.IPAddresses), texts(c.want.IPs))
}

func (c candidate) hasOtherUsages() bool {
	if c.want.ofIssuer { // etcd asks for no more than that it may be used for what it is
		return slices.ContainsFunc(c.want.usages(), func(usage x509.ExtKeyUsage) bool {
			return !slices.Contains(c.cert.ExtKeyUsage, usage)
		})
	}
	return !sameSet(c.cert.ExtKeyUsage, c.want.usages())
}

// isOld measures against the wanted validity, so that a new certificate is never old, however short its life. One that
// lasts as long as the CA is not old either: a new one would not last longer, and would be asked for without
// end.
func (c candidate) isOld() bool {
	if c.want.ofIssuer { // one that the issuer shortens is not asked for without end either
		return !c.now.Before(RenewedAt(c.cert))
	}
	return c.cert.NotAfter.Before(c.ca.NotAfter) && c.cert.NotAfter.Sub(c.now) < c.want.validity()/3
}

// RenewedFrom is when a certificate of the usual lifetime is old: NeedsRenewal says so from then on.
func RenewedFrom(cert *x509.Certificate) time.Time {
	return cert.NotAfter.Add(-DefaultLeafValidity / 3)
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

// Leaf is what a certificate has to say. It is compared as a set: the order of names and addresses means nothing.
type Leaf struct {
	// CommonName is the user's name for etcd's authentication, where that is enabled. A certificate that names an
	// organization alone is no user.
	CommonName   string
	Organization []string
	// DNSNames and IPs are what a server is called, and on the peer port also from where etcd lets its holder dial.
	DNSNames []string
	IPs      []net.IP
	// Server and Client are the uses; at least one, since a certificate with none may be used for everything.
	Server, Client bool
	// Validity is counted from the issue; zero or less means DefaultLeafValidity.
	Validity time.Duration

	ofIssuer bool // see OfIssuer
}

// Issue signs a certificate for l with a new key, with the chain of the CA behind it. It never outlives the CA. One
// that those would refuse who trust the CA is an error.
func (a CA) Issue(l Leaf, now time.Time) (Pair, error) {
	if err := cmp.Or(l.check(), a.CheckValidity(now)); err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", l.CommonName, err)
	}
	pair, err := sign(l.template(now, a.cert.NotAfter), &a)
	if err == nil {
		err = a.verify(pair.Cert, l.usages(), now)
	}
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate %q: %w", l.CommonName, err)
	}
	pair.Cert = append(pair.Cert, a.chain...)
	return pair, nil
}

func (l Leaf) check() error {
	switch {
	case l.CommonName == "" && len(l.Organization) == 0:
		return errors.New("the common name is empty, and no organization stands in its place")
	case !l.Server && !l.Client:
		return errors.New("it is for neither server nor client")
	case l.Server && len(l.DNSNames) == 0 && len(l.IPs) == 0:
		return errors.New("a server needs a DNS name or an IP address")
	}
	return nil
}

func (l Leaf) template(now, latest time.Time) *x509.Certificate {
	notAfter := now.Add(l.validity())
	if notAfter.After(latest) {
		notAfter = latest
	}
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: l.CommonName, Organization: l.Organization},
		DNSNames:              l.DNSNames,
		IPAddresses:           l.IPs,
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           l.usages(),
		BasicConstraintsValid: true,
	}
}

func (l Leaf) validity() time.Duration {
	if l.Validity <= 0 {
		return DefaultLeafValidity
	}
	return l.Validity
}

func (l Leaf) usages() []x509.ExtKeyUsage {
	var usages []x509.ExtKeyUsage
	if l.Server {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	if l.Client {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	return usages
}

// NotAfter is when the first certificate of a PEM file, the leaf of a chain, ends. It believes what is written: no
// signature is checked.
func NotAfter(certPEM []byte) (time.Time, error) {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the end of a certificate: %w", err)
	}
	return certs[0].NotAfter, nil
}

// Fingerprint is the SHA-256 of the first certificate, as "openssl x509 -noout -fingerprint -sha256" prints it; empty
// where there is none that can be read.
func Fingerprint(certPEM []byte) string {
	certs, err := readCertificates(certPEM)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(certs[0].Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// IsOf reports whether this CA signed a certificate, or is one of those that the certificate's holder trusts. A
// CA whose certificate was made anew with the same key and name signed what the key signed before.
func IsOf(certPEM, trustedPEM, caCert []byte) bool {
	cas, err := readCertificates(caCert)
	if err != nil {
		return false
	}
	isIt := func(trusted *x509.Certificate) bool { return bytes.Equal(trusted.Raw, cas[0].Raw) }
	if trusted, err := readCertificates(trustedPEM); err == nil && slices.ContainsFunc(trusted, isIt) {
		return true
	}
	certs, err := readCertificates(certPEM)
	return err == nil && !candidate{cert: certs[0], ca: cas[0]}.isForeign()
}

// ClientTLS is how a client dials etcd: TLS 1.2 or later, trust in exactly the given CAs (several while one
// replaces the other) and none of the system's, and the client's certificate. The caller sets ServerName when it dials
// by address. A certificate renewed later is not picked up: build the configuration again.
func ClientTLS(caPEM []byte, client Pair) (*tls.Config, error) {
	cas, err := readCertificates(caPEM)
	if err != nil {
		return nil, fmt.Errorf("read the CAs to trust: %w", err)
	}
	roots := x509.NewCertPool()
	for _, ca := range cas {
		if !maySign(ca) {
			return nil, fmt.Errorf("read the CAs to trust: %q is not one", ca.Subject.CommonName)
		}
		roots.AddCert(ca)
	}
	// The cause is left out: it may quote from what was given as the key.
	certificate, err := tls.X509KeyPair(client.Cert, client.Key)
	if err != nil {
		return nil, errors.New("read the client's certificate and key: unreadable, or not of each other")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{certificate}}, nil
}
