package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestANewCASignsLeavesOnlyForTenYears(t *testing.T) {
	cert := parse(t, newCA(t, "demo clients", start).CertPEM())
	if !cert.IsCA || cert.MaxPathLen != 0 || !cert.MaxPathLenZero {
		t.Errorf("CA %v, path length %d (zero set: %v), want an authority of path length 0", cert.IsCA, cert.MaxPathLen, cert.MaxPathLenZero)
	}
	if want := x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature; cert.KeyUsage != want {
		t.Errorf("key usage %b, want %b", cert.KeyUsage, want)
	}
	if want := start.Add(-day); !cert.NotBefore.Equal(want) {
		t.Errorf("valid from %s, want %s", cert.NotBefore, want)
	}
	if want := start.Add(3650 * day); !cert.NotAfter.Equal(want) {
		t.Errorf("valid until %s, want %s", cert.NotAfter, want)
	}
	if key, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key is a %T, want ECDSA P-256", cert.PublicKey)
	}
	if cert.Subject.CommonName != "demo clients" || len(cert.SubjectKeyId) == 0 {
		t.Errorf("subject %q, key id %x", cert.Subject.CommonName, cert.SubjectKeyId)
	}
}

// A machine that takes the time of its place for UTC is off by up to 14 hours, to either side.
func TestACertificateIsGoodForAMachineThatTakesTheTimeOfItsPlaceForUTC(t *testing.T) {
	ca := newCA(t, "demo", start)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM())
	cert := parse(t, ca.mustIssue(t, member(), start).Cert)
	for _, off := range []time.Duration{-14 * time.Hour, 0, 14 * time.Hour} {
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start.Add(off)}); err != nil {
			t.Errorf("a clock that is off by %s: %v", off, err)
		}
	}
}

// Otherwise nothing could be issued until the clock has caught up.
func TestACAOfAClockThatRanAheadSignsOnceItIsPutRight(t *testing.T) {
	ca := newCA(t, "demo", start.Add(12*time.Hour))
	if _, err := ca.Issue(member(), start); err != nil {
		t.Error(err)
	}
}

func TestACANeedsAName(t *testing.T) {
	if _, err := NewCA("", start, 0); err == nil {
		t.Error("an authority without a name was made")
	}
}

func TestACALivesAsLongAsAsked(t *testing.T) {
	pair, err := NewCA("demo", start, 30*day)
	if err != nil {
		t.Fatal(err)
	}
	if got := parse(t, pair.Cert).NotAfter; !got.Equal(start.Add(30 * day)) {
		t.Errorf("valid until %s", got)
	}
}

func TestSerialNumbersAreRandomAndOf128Bits(t *testing.T) {
	ca, longest, seen := newCA(t, "demo", start), 0, map[string]bool{}
	for range 64 {
		serial := parse(t, ca.mustIssue(t, member(), start).Cert).SerialNumber
		seen[serial.String()] = true
		longest = max(longest, serial.BitLen())
	}
	if len(seen) != 64 || longest > 128 || longest < 120 {
		t.Errorf("%d different serials of 64, the longest has %d bits", len(seen), longest)
	}
}

func TestACAReadBackIsTheSame(t *testing.T) {
	pair, err := NewCA("demo", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	first := parseCA(t, pair)
	second := parseCA(t, Pair{Cert: first.CertPEM(), Key: pair.Key})
	leaf := second.mustIssue(t, member(), start)
	if reason, renew := NeedsRenewal(leaf.Cert, pair.Cert, member(), start); renew {
		t.Errorf("a leaf of the authority read back needs renewal: %s", reason)
	}
}

func TestACAsKeyIsReadInBothFormsThatEtcdReads(t *testing.T) {
	pair, err := NewCA("demo", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	if block, _ := pem.Decode(pair.Key); block.Type != "PRIVATE KEY" {
		t.Errorf("key is written as %q, want PKCS#8", block.Type)
	}
	der, err := x509.MarshalECPrivateKey(parseCA(t, pair).key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8}})
	sec1 := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	parseCA(t, Pair{Cert: pair.Cert, Key: join(parameters, sec1)})
}

func TestACAMayHaveAnRSAKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "brought along"},
		NotBefore: start, NotAfter: start.Add(day),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := encodePair(der, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf := parseCA(t, pair).mustIssue(t, member(), start)
	if reason, renew := NeedsRenewal(leaf.Cert, pair.Cert, member(), start); renew {
		t.Errorf("its leaf needs renewal: %s", reason)
	}
}

func TestWhatIsNoCAIsRefused(t *testing.T) {
	pair, err := NewCA("demo", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCA("demo", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	leaf := parseCA(t, pair).mustIssue(t, member(), start)
	for name, tc := range map[string]struct {
		pair Pair
		want string
	}{
		"the key of another authority":   {Pair{pair.Cert, other.Key}, "another certificate"},
		"a leaf with its key":            {leaf, "of a CA"},
		"two authorities in one file":    {Pair{join(pair.Cert, other.Cert), pair.Key}, "one certificate"},
		"no certificate":                 {Pair{nil, pair.Key}, "no PEM certificate"},
		"no key":                         {Pair{pair.Cert, nil}, "no PEM private key"},
		"a certificate as key":           {Pair{pair.Cert, pair.Cert}, "no PEM private key"},
		"a key as certificate":           {Pair{pair.Key, pair.Key}, "not a PEM certificate"},
		"text after the certificate":     {Pair{join(pair.Cert, []byte("more")), pair.Key}, "not a PEM certificate"},
		"a certificate that is cut":      {Pair{pair.Cert[:len(pair.Cert)-40], pair.Key}, "not a PEM certificate"},
		"a certificate that is no ASN.1": {Pair{encodeCertificate([]byte("nonsense")), pair.Key}, "parse certificate 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseCA(tc.pair)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestAnExpiredCAIsReadButSignsNothing(t *testing.T) {
	ca := newCA(t, "demo", start)
	for name, tc := range map[string]struct {
		now  time.Time
		want string
	}{
		"after its end":        {start.Add(3651 * day), `CA "demo" expired at 2036-02-27T12:00:00Z`},
		"before its beginning": {start.Add(-25 * time.Hour), `CA "demo" is not valid before 2026-02-28T12:00:00Z`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := ca.CheckValidity(tc.now); err == nil || err.Error() != tc.want {
				t.Errorf("CheckValidity: %v, want %q", err, tc.want)
			}
			if _, err := ca.Issue(member(), tc.now); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Issue: %v, want an error with %q", err, tc.want)
			}
		})
	}
	if err := ca.CheckValidity(start); err != nil {
		t.Errorf("at its start: %v", err)
	}
}

func TestTheZeroCASignsNothing(t *testing.T) {
	if _, err := (CA{}).Issue(member(), start); err == nil {
		t.Error("the zero authority signed")
	}
}

func TestKeysDoNotGetIntoTextsOrErrors(t *testing.T) {
	pair, err := NewCA("demo", start, 0)
	if err != nil {
		t.Fatal(err)
	}
	// A key file whose every part is a secret: its block type, its headers, its bytes.
	secret := "c2VjcmV0c2VjcmV0"
	odd := []byte("-----BEGIN " + secret + "-----\n" + secret + ": " + secret + "\n\n" + secret + "\n-----END " + secret + "-----\n")
	badPKCS8 := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secretsecret")})
	texts := []string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		texts = append(texts, fmt.Sprintf(verb, pair), fmt.Sprintf(verb, &pair), fmt.Sprintf(verb, []Pair{pair}),
			fmt.Sprintf(verb, parseCA(t, pair)))
	}
	for _, key := range [][]byte{odd, badPKCS8, []byte(secret), pair.Key[:60]} {
		_, parseErr := ParseCA(Pair{Cert: pair.Cert, Key: key})
		_, tlsErr := ClientTLS(pair.Cert, Pair{Cert: pair.Cert, Key: key})
		// A key that was put where a certificate belongs is a secret too.
		_, endErr := NotAfter(key)
		_, swappedErr := ParseCA(Pair{Cert: key, Key: pair.Cert})
		_, trustErr := ClientTLS(key, pair)
		for _, err := range []error{parseErr, tlsErr, endErr, swappedErr, trustErr} {
			if err == nil {
				t.Fatal("a malformed key was read")
			}
			texts = append(texts, err.Error())
		}
	}
	block, _ := pem.Decode(pair.Key)
	scalar := parseCA(t, pair).key.(*ecdsa.PrivateKey).D.String() //nolint:staticcheck // only to look for it
	body := strings.Split(string(pair.Key), "\n")[1]
	for _, text := range texts {
		for _, leak := range []string{secret, "secretsecret", body, body[:16], scalar, fmt.Sprint(block.Bytes[:8])[1:20]} {
			if strings.Contains(text, leak) {
				t.Errorf("%q shows a part of a key", text)
			}
		}
	}
}
