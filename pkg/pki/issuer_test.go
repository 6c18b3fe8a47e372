package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// An issuer of these tests signs what it is asked, unless it is told to do something else.
type issuing struct {
	by       *person
	above    []*x509.Certificate // behind the certificate
	names    *x509.Certificate   // what it calls its CA; nil: the one that signs
	noCA     bool
	change   func(*x509.Certificate)
	key      any // instead of the one that is asked for
	verbatim []byte
}

func (i issuing) answer(t testing.TB, request []byte) Answer {
	t.Helper()
	csr, err := readRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: csr.Subject, DNSNames: csr.DNSNames, IPAddresses: csr.IPAddresses,
		NotBefore: start, NotAfter: start.Add(DefaultLeafValidity), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}
	if i.change != nil {
		i.change(cert)
	}
	key := i.key
	if key == nil {
		key = csr.PublicKey
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, i.by.cert, key, i.by.key)
	if err != nil {
		t.Fatal(err)
	}
	a := Answer{Request: request, Cert: encodeCertificate(der), CA: i.by.pem()}
	for _, ca := range i.above {
		a.Cert = append(a.Cert, encodeCertificate(ca.Raw)...)
	}
	if i.names != nil {
		a.CA = encodeCertificate(i.names.Raw)
	}
	if i.noCA {
		a.CA = nil
	}
	if i.verbatim != nil {
		a.Cert = i.verbatim
	}
	return a
}

func wanted(leaf Leaf) Wanted {
	return Wanted{Leaf: leaf, Seed: NewSeed(), Draw: "drawn", Name: "demo-0-tls-clients"}
}

func (w Wanted) mustAsk(t testing.TB) []byte {
	t.Helper()
	request, err := w.Request()
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func seedOf(text string) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockSeed, Bytes: []byte(text)})
}

var knownScalars = []string{
	"c4b837f0fe33a8fe2423fe792348905ca1caab914cc06284bc473a4ba08d332f",
	"db46b2af38075e0661175c144e466a386f04c9599829594fd7f64dfe0aa8b403",
	"536bb9535f33d58201390cf108931b3bfd35571ca6877e48ebaf42739b0612f2",
	"4273adcf60b6434b62244a39fb719f96e9855784e407a9e21148ed2d6f8a0d5b",
}

// The scalar was computed by another implementation: HKDF-SHA256 (RFC 5869) of 48 bytes, and modulo n-1, plus 1 (FIPS
// 186-5, A.2.1).
func TestAKeyFollowsFromSeedDrawAndNameAsAnotherImplementationComputesIt(t *testing.T) {
	for _, row := range []struct{ seed, draw, name, scalar string }{
		{strings.Repeat("s", 32), "draw-1", "demo-0-tls-clients", knownScalars[0]},
		{strings.Repeat("s", 32), "draw-2", "demo-0-tls-clients", knownScalars[1]},
		{strings.Repeat("s", 32), "draw-1", "demo-0-tls-peers", knownScalars[2]},
		{strings.Repeat("t", 32), "draw-1", "demo-0-tls-clients", knownScalars[3]},
	} {
		w := Wanted{Leaf: member(), Seed: seedOf(row.seed), Draw: row.draw, Name: row.name}
		key, err := w.key()
		if err != nil {
			t.Fatal(err)
		}
		d, err := key.Bytes()
		if err != nil || hex.EncodeToString(d) != row.scalar {
			t.Errorf("%s %s: got %x, want %s", row.draw, row.name, d, row.scalar)
		}
		again, _ := w.key()
		if !again.Equal(key) {
			t.Error("the key does not follow from them alone")
		}
	}
}

func TestASeedIsNoKeyAndWhatIsNoSeedGivesNone(t *testing.T) {
	seed := NewSeed()
	if _, err := readKey(seed); err == nil {
		t.Error("a seed is taken for the key of a CA")
	}
	if !IsSeed(seed) || bytes.Equal(seed, NewSeed()) {
		t.Error("no new seed is made")
	}
	ca := newCA(t, "ca", start)
	pair, err := ca.Pair()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{nil, pair.Key, seedOf("short"), []byte("text")} {
		if _, err := (Wanted{Leaf: member(), Seed: append(file, ' '), Draw: "d", Name: "n"}).Request(); err == nil || IsSeed(file) {
			t.Errorf("%q is taken for a seed", file)
		}
	}
}

func TestARequestIsKnownAgainByWhatItAsksForAndByItsKey(t *testing.T) {
	w := wanted(member())
	request := w.mustAsk(t)
	if !w.IsAskedBy(request) || !w.IsAskedBy(w.mustAsk(t)) {
		t.Error("a request is not known again")
	}
	for what, other := range map[string]func(*Wanted){
		"another draw": func(w *Wanted) { w.Draw = "other" }, "another seed": func(w *Wanted) { w.Seed = NewSeed() },
		"another name of the request": func(w *Wanted) { w.Name = "demo-1-tls-clients" },
		"another user":                func(w *Wanted) { w.Leaf = w.Leaf.named("root") },
		"other DNS names":             func(w *Wanted) { w.Leaf = w.Leaf.withDNSNames("localhost") },
		"other addresses":             func(w *Wanted) { w.Leaf = w.Leaf.withIPs(net.IPv4(10, 0, 0, 1)) },
		"another organization":        func(w *Wanted) { w.Leaf = w.Leaf.of("company") },
	} {
		changed := w
		if other(&changed); changed.IsAskedBy(request) {
			t.Errorf("%s: the request is taken for another one", what)
		}
	}
	if w.IsAskedBy([]byte("text")) {
		t.Error("something else is taken for a request")
	}
	asks := Wanted{Leaf: member()}
	if one := asks.mustAsk(t); !asks.IsAskedBy(one) || bytes.Equal(one, asks.mustAsk(t)) {
		t.Error("a question is not known again, or has a key that was used before")
	}
}

func TestWhatAnIssuerSignedIsTakenWithItsKeyAndTheChainOfItsCA(t *testing.T) {
	root := corporate(t, nil)
	template := caTemplate("etcd issuing")
	inter := makes(t, template, ecKey(t, elliptic.P256()), root)
	for name, i := range map[string]issuing{
		"it names the CA that signs":         {by: inter},
		"it names the root, as cert-manager": {by: inter, above: []*x509.Certificate{inter.cert}, names: root.cert},
		"it adds an organization and a URI": {by: inter, change: func(c *x509.Certificate) {
			c.Subject.Organization = []string{"company"}
			c.URIs = []*url.URL{{Scheme: "spiffe", Host: "company"}}
		}},
		"it adds the name as a DNS name":      {by: inter, change: func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, c.Subject.CommonName) }},
		"it adds a use":                       {by: inter, change: func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning) }},
		"it shortens the life to thirty days": {by: inter, change: func(c *x509.Certificate) { c.NotAfter = start.Add(30 * day) }},
		"it lets it live for ten years":       {by: inter, change: func(c *x509.Certificate) { c.NotAfter = start.Add(3650 * day) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted(member())
			a := i.answer(t, w.mustAsk(t))
			signer, err := a.Signer(w.Leaf, start)
			if err != nil || !bytes.Equal(signer.CertPEM(), inter.pem()) {
				t.Fatalf("the CA is another one than that which signed: %v", err)
			}
			pair, err := w.Take(a, signer, start)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
				t.Errorf("certificate and key are not of each other: %v", err)
			}
			if behind := Fingerprints(pair.Cert)[1:]; !slices.Equal(behind, Fingerprints(signer.Chain())) {
				t.Errorf("behind it stand %v", behind)
			}
			if reason, renew := NeedsRenewal(pair.Cert, signer.CertPEM(), w.Leaf.OfIssuer(), start); renew {
				t.Errorf("it is due at once: %s", reason)
			}
		})
	}
}

func TestNothingIsTakenFromAnIssuerThatDoesNotVerify(t *testing.T) {
	ca, other := corporate(t, nil), corporate(t, nil)
	held, err := ReadCA(ca.pem())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short := corporate(t, func(c *x509.Certificate) { c.NotAfter = start.Add(3 * day) })
	narrow := corporate(t, func(c *x509.Certificate) {
		c.PermittedDNSDomains, c.PermittedDNSDomainsCritical = []string{"company.example"}, true
	})
	for _, row := range []struct {
		name    string
		i       issuing
		byOther bool // the CA is another one than the one that is held
		says    string
	}{
		{"another CA", issuing{by: other}, true, ErrOtherCA.Error()},
		{"no CA, as of ACME", issuing{by: other, noCA: true}, true, "status.ca is empty: the issuer does not say which CA"},
		{"a CA that did not sign", issuing{by: other, names: ca.cert}, true, "stands neither behind it nor in status.ca"},
		{"a CA that ends in three days", issuing{by: short}, true, "the CA that signed ends at"},
		{"a CA that forbids the names", issuing{by: narrow}, true, "is not taken by who trusts its CA"},
		{"another key", issuing{by: ca, key: stranger.Public()}, false, "has another key than was asked for"},
		{"other names", issuing{by: ca, change: func(c *x509.Certificate) { c.DNSNames = []string{"evil.example"} }}, false,
			"has other DNS names or IP addresses than wanted"},
		{"a name too much", issuing{by: ca, change: func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "evil.example") }}, false,
			"has other DNS names"},
		{"another user", issuing{by: ca, change: func(c *x509.Certificate) { c.Subject.CommonName = "root" }}, false, "has another subject than wanted"},
		{"one use only", issuing{by: ca, change: func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }}, false, "has other uses than wanted"},
		{"no use of the key", issuing{by: ca, change: func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }}, false,
			"may not be used for signatures"},
		{"a CA in the place of a certificate", issuing{by: ca, change: func(c *x509.Certificate) { c.IsCA = true }}, false, "is a CA, and could sign others"},
		{"an hour of life", issuing{by: ca, change: func(c *x509.Certificate) { c.NotAfter = start.Add(time.Hour) }}, false, "has to last 12 hours yet"},
		{"expired", issuing{by: ca, change: func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = start.Add(-2*day), start.Add(-day)
		}}, false, "ends at"},
		{"not valid for a day yet", issuing{by: ca, change: func(c *x509.Certificate) { c.NotBefore = start.Add(day) }}, false, "not valid yet"},
		{"valid in a minute", issuing{by: ca, change: func(c *x509.Certificate) { c.NotBefore = start.Add(time.Minute) }}, false, "it is not valid before"},
		{"one that was signed long ago", issuing{by: ca, change: func(c *x509.Certificate) { c.NotBefore = start.Add(-300 * day) }}, false,
			"in the last third of its lifetime"},
		{"something else", issuing{by: ca, verbatim: []byte("text")}, false, "status.certificate cannot be read"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := wanted(member())
			a := row.i.answer(t, w.mustAsk(t))
			if _, err := w.Take(a, held, start); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want %q", err, row.says)
			}
			isOther := errors.Is(err, ErrOtherCA)
			if _, err := a.Signer(w.Leaf, start); !isOther && row.name != "another CA" && err == nil {
				t.Error("its CA is believed")
			}
		})
	}
}

func TestACertificateOfAnIssuerIsRenewedAfterTwoThirdsOfItsOwnLife(t *testing.T) {
	ca := corporate(t, nil)
	held, err := ReadCA(ca.pem())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ life, due time.Duration }{
		{30 * day, 20 * day}, {DefaultLeafValidity, DefaultLeafValidity * 2 / 3}, {3650 * day, DefaultLeafValidity * 2 / 3},
	} {
		w := wanted(caller("demo-client"))
		a := issuing{by: ca, change: func(c *x509.Certificate) { c.NotAfter = start.Add(row.life) }}.answer(t, w.mustAsk(t))
		pair, err := w.Take(a, held, start)
		if err != nil {
			t.Fatal(err)
		}
		for at, isDue := range map[time.Duration]bool{row.due - time.Hour: false, row.due + time.Hour: true} {
			if _, renew := NeedsRenewal(pair.Cert, ca.pem(), w.Leaf.OfIssuer(), start.Add(at)); renew != isDue {
				t.Errorf("of %s, after %s: renewed %t", row.life, at, renew)
			}
		}
		if got := RenewedAt(parse(t, pair.Cert)); !got.Equal(start.Add(row.due)) {
			t.Errorf("shown as renewed from %s", got)
		}
	}
}

func TestACAWithoutItsKeySignsNothing(t *testing.T) {
	held, err := ReadCA(corporate(t, nil).pem())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Issue(member(), start); err == nil {
		t.Error("it signed")
	}
}
