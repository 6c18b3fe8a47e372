package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

// person makes CAs as other tools do.
type person struct {
	t    testing.TB
	cert *x509.Certificate
	key  crypto.Signer
}

// caTemplate is a CA of 90 days, as cert-manager issues it.
func caTemplate(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(start.Unix()), Subject: pkix.Name{CommonName: name},
		NotBefore: start.Add(-time.Minute), NotAfter: start.Add(90 * day),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true}
}

func ecKey(t testing.TB, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// makes is a certificate of this template and key, by itself or by another CA.
func makes(t testing.TB, template *x509.Certificate, key crypto.Signer, by *person) *person {
	t.Helper()
	issuer := &person{t, template, key}
	if by != nil {
		issuer = by
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, cert, key}
}

func (p *person) pem() []byte { return encodeCertificate(p.cert.Raw) }

func (p *person) gives() Given {
	p.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		p.t.Fatal(err)
	}
	return Given{Cert: p.pem(), Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

func corporate(t testing.TB, change func(*x509.Certificate)) *person {
	t.Helper()
	template := caTemplate("etcd of shop")
	if change != nil {
		change(template)
	}
	return makes(t, template, ecKey(t, elliptic.P256()), nil)
}

func weakRSA(t *testing.T) Given {
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return makes(t, caTemplate("short"), key, nil).gives()
}

func TestWhatIsWrongWithACAOfOnesOwnIsSaidByFile(t *testing.T) {
	leaf := makes(t, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "web"},
		NotBefore: start, NotAfter: start.Add(90 * day), BasicConstraintsValid: true}, ecKey(t, elliptic.P256()), nil)
	other := corporate(t, nil).gives()
	for _, row := range []struct {
		name, want string
		given      func(t *testing.T) Given
	}{
		{"no certificate", "tls.crt is missing", func(*testing.T) Given { return Given{Key: other.Key} }},
		{"no key", "tls.key is missing", func(*testing.T) Given { return Given{Cert: other.Cert} }},
		{"no PEM", "tls.crt cannot be read: something is not a PEM certificate", func(*testing.T) Given {
			return Given{Cert: []byte("nonsense"), Key: other.Key}
		}},
		{"a key in the place of the certificate", "tls.crt cannot be read", func(*testing.T) Given {
			return Given{Cert: other.Key, Key: other.Key}
		}},
		{"a certificate in the place of the key", "tls.key holds no private key that can be read", func(*testing.T) Given {
			return Given{Cert: other.Cert, Key: other.Cert}
		}},
		{"what stands above it cannot be read", "ca.crt cannot be read", func(*testing.T) Given {
			return Given{Cert: other.Cert, Key: other.Key, Above: []byte("nonsense")}
		}},
		{"the key of another one", "tls.key does not belong to the certificate in tls.crt", func(t *testing.T) Given {
			return Given{Cert: corporate(t, nil).pem(), Key: other.Key}
		}},
		{"a certificate of a server", "tls.crt is not the certificate of a CA", func(*testing.T) Given { return leaf.gives() }},
		{"one that may not sign", "tls.crt may not sign certificates", func(t *testing.T) Given {
			return corporate(t, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }).gives()
		}},
		{"one without a name", "tls.crt has no subject", func(t *testing.T) Given {
			return corporate(t, func(c *x509.Certificate) { c.Subject = pkix.Name{} }).gives()
		}},
		{"one that is not valid yet", "tls.crt is not valid before 2026-03-02T12:00:00Z", func(t *testing.T) Given {
			return corporate(t, func(c *x509.Certificate) { c.NotBefore = start.Add(day) }).gives()
		}},
		{"one that expired", "tls.crt expired at 2026-03-01T11:59:30Z", func(t *testing.T) Given {
			return corporate(t, func(c *x509.Certificate) { c.NotAfter = start.Add(-30 * time.Second) }).gives()
		}},
		{"one that ends soon", "tls.crt ends at 2026-03-04T12:00:00Z, and has to last 7 days yet", func(t *testing.T) Given {
			return corporate(t, func(c *x509.Certificate) { c.NotAfter = start.Add(3 * day) }).gives()
		}},
		{"a short RSA key", "tls.crt has an RSA key of 1024 bits, and it has to have 2048 to 8192", weakRSA},
		{"a weak curve", "tls.crt has a key of a kind that clients do not take", func(t *testing.T) Given {
			return makes(t, caTemplate("weak"), ecKey(t, elliptic.P224()), nil).gives()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := row.given(t).Take(start)
			if unusable := (Unusable{}); !errors.As(err, &unusable) || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestACAOfOnesOwnThatForbidsWhatItHasToSignIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*x509.Certificate)
		want   string
	}{
		"other names": {func(c *x509.Certificate) {
			c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"example.com"}
		}, "is not permitted"},
		"these names":        {func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"cluster.local"} }, "excluded"},
		"servers alone":      {func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, "usage"},
		"nothing":            {nil, ""},
		"another CA below":   {func(c *x509.Certificate) { c.MaxPathLenZero = true }, ""},
		"names that it has ": {func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"cluster.local", "localhost"} }, ""},
	} {
		ca, err := corporate(t, row.change).gives().Take(start)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = ca.Allows([]Leaf{member(), caller("root")}, start)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) ||
			!strings.HasPrefix(err.Error(), "tls.crt forbids what it has to sign: ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Otherwise one name too many would cut a cluster off.
func TestNoCertificateIsIssuedThatThoseWhoTrustTheCAWouldRefuse(t *testing.T) {
	ca, err := corporate(t, func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"example.com"} }).gives().Take(start)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ca.Issue(member(), start); err != nil {
		t.Error(err)
	}
	if pair, err := ca.Issue(member().withDNSNames("etcd.example.com"), start); err == nil || pair.Cert != nil {
		t.Errorf("a certificate that no client takes is issued: %v", err)
	}
}

func TestEachKindOfKeySignsAndIsReadBackFromACopy(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaCA := makes(t, caTemplate("rsa"), rsaKey, nil)
	asCertManager := rsaCA.gives()
	asCertManager.Key = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	for name, given := range map[string]Given{
		"RSA": rsaCA.gives(), "RSA in PKCS#1": asCertManager, "Ed25519": makes(t, caTemplate("ed"), edKey, nil).gives(),
		"P-384": makes(t, caTemplate("ec"), ecKey(t, elliptic.P384()), nil).gives(),
	} {
		ca, err := given.Take(start)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pair, err := ca.Pair()
		if err != nil || !bytes.Equal(pair.Cert, given.Cert) {
			t.Fatalf("%s: %v", name, err)
		}
		copied := parseCA(t, pair)
		if reason, renew := NeedsRenewal(copied.mustIssue(t, member(), start).Cert, given.Cert, member(), start); renew && reason != "in the last third of its lifetime" {
			t.Errorf("%s: what its copy signed is %s", name, reason)
		}
	}
}

// A client that trusts the root of a company needs all between that and the certificate.
func TestBehindEachCertificateStandWhatLeadsFromItToTheRoot(t *testing.T) {
	root := makes(t, caTemplate("root"), ecKey(t, elliptic.P256()), nil)
	middle := makes(t, caTemplate("middle"), ecKey(t, elliptic.P256()), root)
	lowest := makes(t, caTemplate("etcd"), ecKey(t, elliptic.P256()), middle)
	for name, given := range map[string]Given{
		"in ca.crt":  {Cert: lowest.pem(), Above: join(root.pem(), middle.pem())},
		"in tls.crt": {Cert: join(lowest.pem(), middle.pem(), root.pem())},
	} {
		given.Key = lowest.gives().Key
		ca, err := given.Take(start)
		if err != nil {
			t.Fatal(err)
		}
		issued := ca.mustIssue(t, member(), start).Cert
		if want := []string{Fingerprint(lowest.pem()), Fingerprint(middle.pem())}; strings.Join(Fingerprints(issued)[1:], " ") != strings.Join(want, " ") {
			t.Errorf("%s: behind the certificate stand %v, want %v", name, Fingerprints(issued)[1:], want)
		}
		roots, between := x509.NewCertPool(), x509.NewCertPool()
		roots.AddCert(root.cert)
		between.AppendCertsFromPEM(issued)
		if _, err := parse(t, issued).Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: start}); err != nil {
			t.Errorf("%s: who trusts the root: %v", name, err)
		}
		if !bytes.Equal(ca.CertPEM(), lowest.pem()) {
			t.Errorf("%s: more is trusted than the CA itself", name)
		}
	}
	ca, err := root.gives().Take(start)
	if err != nil || len(ca.Chain()) > 0 || len(Fingerprints(ca.mustIssue(t, member(), start).Cert)) != 1 {
		t.Errorf("behind what a root signs stand %q, %v", ca.Chain(), err)
	}
}

func TestARenewedCertificateOfACAIsOfTheSameIdentityAndAnotherKeyIsNot(t *testing.T) {
	key := ecKey(t, elliptic.P256())
	first := makes(t, caTemplate("etcd"), key, nil)
	later := caTemplate("etcd")
	later.SerialNumber, later.NotAfter = big.NewInt(7), start.Add(180*day)
	again := makes(t, later, key, nil)
	renamed := caTemplate("etcd")
	renamed.SubjectKeyId = []byte{1, 2, 3}
	if Identity(first.pem()) != Identity(again.pem()) || Fingerprint(first.pem()) == Fingerprint(again.pem()) {
		t.Error("the renewed certificate is another CA")
	}
	for name, other := range map[string]*person{"another key": makes(t, caTemplate("etcd"), ecKey(t, elliptic.P256()), nil),
		"another name": makes(t, caTemplate("etc"), key, nil), "another name of the key": makes(t, renamed, key, nil)} {
		if Identity(first.pem()) == Identity(other.pem()) {
			t.Errorf("%s: it is the same CA", name)
		}
	}
	ca, err := first.gives().Take(start)
	if err != nil {
		t.Fatal(err)
	}
	renewedCA, err := again.gives().Take(start)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]CA{{ca, renewedCA}, {renewedCA, ca}} {
		roots := x509.NewCertPool()
		roots.AddCert(pair[1].cert)
		if _, err := parse(t, pair[0].mustIssue(t, member(), start).Cert).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start}); err != nil {
			t.Errorf("who trusts one certificate of the CA refuses what it signed with the other: %v", err)
		}
	}
}

// Of etcd's own listener: it trusts the CA of the cluster, and no other one of the same company.
func TestMembersUnderAnIntermediateCATakeWhatThatSignedAndNothingElseOfItsRoot(t *testing.T) {
	now := time.Now()
	lasting := func(name string) *x509.Certificate {
		template := caTemplate(name)
		template.NotBefore, template.NotAfter = now.Add(-time.Minute), now.Add(90*day)
		return template
	}
	root := makes(t, lasting("root"), ecKey(t, elliptic.P256()), nil)
	var cas []CA
	for _, name := range []string{"etcd", "web"} {
		given := makes(t, lasting(name), ecKey(t, elliptic.P256()), root).gives()
		given.Above = root.pem()
		ca, err := given.Take(now)
		if err != nil {
			t.Fatal(err)
		}
		cas = append(cas, ca)
	}
	port := openPeerPort(t, cas[0], cas[0].mustIssue(t, memberHere(), now))
	if serial, verdict := port.dial(t, cas[0].CertPEM(), cas[0].mustIssue(t, memberHere(), now)); verdict != nil || serial == "" {
		t.Errorf("a member is refused: %v", verdict)
	}
	if _, verdict := port.dial(t, cas[0].CertPEM(), cas[1].mustIssue(t, memberHere(), now)); verdict == nil {
		t.Error("a certificate of another CA of the company opens the port")
	}
}

// long is a key of more bits than a handshake takes. To make one takes half a minute.
type long struct{ crypto.Signer }

func (long) Public() crypto.PublicKey {
	return &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 9000), E: 65537}
}

func TestAKeyThatNoHandshakeTakesIsRefused(t *testing.T) {
	if why := whyWeak(long{}.Public()); !strings.Contains(why, "9001 bits, and it has to have 2048 to 8192") {
		t.Errorf("got %q", why)
	}
}
