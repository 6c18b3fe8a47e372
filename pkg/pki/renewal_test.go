package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"testing"
	"time"
)

func TestNeedsRenewal(t *testing.T) {
	ours, theirs := newCA(t, "demo", start), newCA(t, "demo", start)
	renamed := ours.renamed(t, "other") // a verifier would not find ours as the issuer
	good := ours.mustIssue(t, member(), start)
	last := start.Add(DefaultLeafValidity)
	reordered := member().withDNSNames("localhost", "demo-0.demo-peer.default.svc.cluster.local").withIPs(net.IP{127, 0, 0, 1})
	for name, tc := range map[string]struct {
		cert []byte
		want Leaf
		now  time.Time
		says string
	}{
		"just issued":                                   {good.Cert, member(), start, ""},
		"just before the last third":                    {good.Cert, member(), last.Add(-DefaultLeafValidity / 3), ""},
		"just within the last third":                    {good.Cert, member(), last.Add(-DefaultLeafValidity/3 + time.Second), "in the last third of its lifetime"},
		"in its last second":                            {good.Cert, member(), last, "in the last third of its lifetime"},
		"after its end":                                 {good.Cert, member(), last.Add(time.Second), "expired"},
		"by a clock that is slow within the allowance":  {good.Cert, member(), start.Add(-23 * time.Hour), ""},
		"by a clock that is slow beyond the allowance":  {good.Cert, member(), start.Add(-25 * time.Hour), "not valid yet"},
		"names and addresses in another order and form": {good.Cert, reordered, start, ""},
		"one name twice":                                {good.Cert, member().withDNSNames(append(member().DNSNames, "localhost")...), start, ""},
		"one name more":                                 {good.Cert, member().withDNSNames(append(member().DNSNames, "demo.example")...), start, "has other DNS names or IP addresses than wanted"},
		"one name less":                                 {good.Cert, member().withDNSNames("localhost"), start, "has other DNS names or IP addresses than wanted"},
		"another address":                               {good.Cert, member().withIPs(net.IPv4(127, 0, 0, 2)), start, "has other DNS names or IP addresses than wanted"},
		"no address":                                    {good.Cert, member().withIPs(), start, "has other DNS names or IP addresses than wanted"},
		"for servers only":                              {good.Cert, member().forServersOnly(), start, "has other uses than wanted"},
		"for clients only":                              {good.Cert, member().forClientsOnly(), start, "has other uses than wanted"},
		"another common name":                           {good.Cert, member().named("demo-1"), start, "has another subject than wanted"},
		"an organization":                               {good.Cert, member().of("etcd"), start, "has another subject than wanted"},
		"an authority of the same name":                 {theirs.mustIssue(t, member(), start).Cert, member(), start, "not signed by this CA"},
		"an authority of the same key":                  {renamed.mustIssue(t, member(), start).Cert, member(), start, "not signed by this CA"},
		"the authority itself":                          {ours.CertPEM(), member(), start, "has another subject than wanted"},
		"nothing":                                       {nil, member(), start, "missing or unreadable"},
		"nonsense":                                      {[]byte("nonsense"), member(), start, "missing or unreadable"},
		"a longer life, past two thirds of the old":     {good.Cert, member().validFor(3 * DefaultLeafValidity), start.Add(day), "in the last third of its lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, renew := NeedsRenewal(tc.cert, ours.CertPEM(), tc.want, tc.now)
			if reason != tc.says || renew != (tc.says != "") {
				t.Errorf("%v, %q; want %q", renew, reason, tc.says)
			}
		})
	}
}

// renamed is a CA with the same key under another name.
func (a CA) renamed(t *testing.T, name string) CA {
	t.Helper()
	template := *a.cert
	template.Subject, template.RawSubject = pkix.Name{CommonName: name}, nil
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := encodePair(der, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return parseCA(t, pair)
}

func TestWithoutAReadableCANothingIsRenewed(t *testing.T) {
	cert := newCA(t, "demo", start).mustIssue(t, member(), start).Cert
	for _, ca := range [][]byte{nil, []byte("nonsense")} {
		if reason, renew := NeedsRenewal(cert, ca, member(), start); renew || reason == "" {
			t.Errorf("renew %v, reason %q", renew, reason)
		}
	}
}

// A renewal that is asked for again at once would write a Secret in every pass.
func TestARenewedCertificateNeverNeedsRenewalAtOnce(t *testing.T) {
	ca := newCA(t, "demo", start)
	end := start.Add(DefaultCAValidity)
	leaves := []Leaf{
		member(), caller("root"), member().of("b", "a", "b"), member().withDNSNames("*.demo.example"),
		member().withIPs(net.ParseIP("::1"), net.IPv4(10, 0, 0, 1)), caller("a,b=c+d \"e\""), caller("größe"),
	}
	for _, validity := range []time.Duration{0, time.Second, time.Minute, time.Hour, 90 * day, 40 * 365 * day} {
		for _, before := range []time.Duration{0, time.Second, time.Minute, time.Hour, 200 * day, DefaultCAValidity} {
			for _, leaf := range leaves {
				leaf, now := leaf.validFor(validity), end.Add(-before)
				cert := ca.mustIssue(t, leaf, now).Cert
				if reason, renew := NeedsRenewal(cert, ca.CertPEM(), leaf, now); renew {
					t.Errorf("%+v, %s before the authority's end: %s", leaf, before, reason)
				}
			}
		}
	}
}

// The whole life of a CA, a day at a time: always a valid certificate, few renewals, none of them for nothing.
func TestThroughACAsLifeACertificateIsAlwaysValidAndRarelyRenewed(t *testing.T) {
	ca := newCA(t, "demo", start)
	end := start.Add(DefaultCAValidity)
	cert := ca.mustIssue(t, member(), start).Cert
	var renewals []time.Time
	for now := start; !now.After(end); now = now.Add(day) {
		if reason, renew := NeedsRenewal(cert, ca.CertPEM(), member(), now); renew {
			if reason != "in the last third of its lifetime" {
				t.Fatalf("at %s: %s", now, reason)
			}
			renewals = append(renewals, now)
			cert = ca.mustIssue(t, member(), now).Cert
		}
		if info := parse(t, cert); now.Before(info.NotBefore) || now.After(info.NotAfter) || info.NotAfter.After(end) {
			t.Fatalf("at %s the certificate is valid from %s until %s", now, info.NotBefore, info.NotAfter)
		}
	}
	if len(renewals) < 13 || len(renewals) > 15 || !slices.IsSortedFunc(renewals, time.Time.Compare) {
		t.Errorf("%d renewals in ten years, want one in eight months: %v", len(renewals), renewals)
	}
}
