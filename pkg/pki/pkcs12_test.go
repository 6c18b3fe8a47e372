package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

const storePassword = "Gm3iT2sYxwJ5mS1b0CzQd4nYw8mVbq0kq3tq2eYc9hA"

func keyStore(t *testing.T, pair Pair, password string) []byte {
	t.Helper()
	store, err := KeyStore(pair, password)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func trustStore(t *testing.T, cas []byte, password string) []byte {
	t.Helper()
	store, err := TrustStore(cas, password)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestAKeyStoreHasTheKeyTheCertificateAndWhatStandsBehindIt(t *testing.T) {
	ca := newCA(t, "demo", start)
	pair := ca.mustIssue(t, member(), start)
	pair.Cert = slices.Concat(pair.Cert, ca.CertPEM())
	key, cert, behind, err := pkcs12.DecodeChain(keyStore(t, pair, storePassword), storePassword)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	if got, isEC := key.(*ecdsa.PrivateKey); !isEC || !got.Equal(want.PrivateKey) {
		t.Error("it is another key")
	}
	if !bytes.Equal(cert.Raw, want.Certificate[0]) || len(behind) != 1 || !bytes.Equal(behind[0].Raw, want.Certificate[1]) {
		t.Error("these are other certificates")
	}
}

func TestATrustStoreHasEachCAUnderANameOfItsOwn(t *testing.T) {
	one, other := newCA(t, "demo", start), newCA(t, "demo", start.Add(day)) // of the same subject
	store := trustStore(t, Bundle(one.CertPEM(), other.CertPEM()), storePassword)
	certs, err := pkcs12.DecodeTrustStore(store, storePassword)
	if err != nil {
		t.Fatal(err)
	}
	if len(certs) != 2 || !bytes.Equal(certs[0].Raw, parse(t, one.CertPEM()).Raw) || !bytes.Equal(certs[1].Raw, parse(t, other.CertPEM()).Raw) {
		t.Errorf("it has %d certificates, or others", len(certs))
	}
	entries := entriesOf(certs)
	if entries[0].FriendlyName == entries[1].FriendlyName || !strings.HasPrefix(entries[0].FriendlyName, "ca-") {
		t.Errorf("Java would trust one of %v", entries)
	}
}

func TestTheSameContentMakesTheSameStoreAndAnyOtherOneHasNothingOfItsSalts(t *testing.T) {
	ca := newCA(t, "demo", start)
	pair, next := ca.mustIssue(t, member(), start), ca.mustIssue(t, member(), start.Add(day))
	other := strings.ToLower(storePassword)
	if !bytes.Equal(keyStore(t, pair, storePassword), keyStore(t, pair, storePassword)) ||
		!bytes.Equal(trustStore(t, ca.CertPEM(), storePassword), trustStore(t, ca.CertPEM(), storePassword)) {
		t.Error("the same content makes another store each time")
	}
	made := map[string]string{}
	for name, content := range map[string][][]byte{
		"keystore":   {[]byte(storePassword), pair.Cert, pair.Key},
		"a password": {[]byte(other), pair.Cert, pair.Key},
		"a key":      {[]byte(storePassword), next.Cert, next.Key},
		"one less":   {[]byte(storePassword), pair.Cert},
		"cut anew":   {[]byte(storePassword), pair.Cert[:9], pair.Cert[9:], pair.Key},
		"truststore": {[]byte(storePassword), pair.Cert, pair.Key},
	} {
		kind := "keystore"
		if name == "truststore" {
			kind = name
		}
		drawn, err := saltsFrom(kind, content...)
		if err != nil {
			t.Fatal(err)
		}
		for rest := drawn.rest; len(rest) > 0; rest = rest[16:] {
			if before, isThere := made[string(rest[:16])]; isThere {
				t.Errorf("%s has a salt of %s", name, before)
			}
			made[string(rest[:16])] = name
		}
	}
}

func TestAnEncoderThatTakesMoreSaltsThanThereAreFailsInThePlaceOfRepeatingThem(t *testing.T) {
	drawn, err := saltsFrom("keystore", []byte(storePassword))
	if err != nil {
		t.Fatal(err)
	}
	salt := make([]byte, 16)
	for range saltBytes / len(salt) {
		if n, err := drawn.Read(salt); n != len(salt) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, err := drawn.Read(salt); n != 0 || err == nil {
		t.Errorf("it gave %d bytes more", n)
	}
}

func TestAStoreOfWhatDoesNotBelongTogetherIsNotMadeAndTheKeyIsNotTold(t *testing.T) {
	ca := newCA(t, "demo", start)
	pair, other := ca.mustIssue(t, member(), start), ca.mustIssue(t, member(), start.Add(time.Hour))
	for name, wrong := range map[string]Pair{
		"another key": {Cert: pair.Cert, Key: other.Key}, "no key": {Cert: pair.Cert}, "no certificate": {Key: pair.Key},
		"a key that is none": {Cert: pair.Cert, Key: []byte("-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n")},
	} {
		store, err := KeyStore(wrong, storePassword)
		if store != nil || err == nil {
			t.Errorf("%s: a store is made", name)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "PRIVATE KEY")) {
			t.Errorf("%s: it tells %v", name, err)
		}
	}
	if store, err := TrustStore([]byte("no certificate"), storePassword); store != nil || err == nil {
		t.Error("a store of no CA is made")
	}
}

func BenchmarkStores(b *testing.B) {
	ca := newCA(b, "demo", start)
	pair := ca.mustIssue(b, member(), start)
	for b.Loop() {
		if _, err := KeyStore(pair, storePassword); err != nil {
			b.Fatal(err)
		}
		if _, err := TrustStore(ca.CertPEM(), storePassword); err != nil {
			b.Fatal(err)
		}
	}
}
