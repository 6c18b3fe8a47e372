package pki

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func TestInspectNamesSerialIssuerAndFingerprint(t *testing.T) {
	authority := newAuthority(t, "demo", birth)
	pair := authority.mustIssue(t, member(), birth)
	cert, ca, info := parse(t, pair.Cert), parse(t, authority.CertPEM()), mustInspect(t, pair.Cert)
	sum := sha256.Sum256(cert.Raw)
	if info.Serial != cert.SerialNumber.Text(16) || info.Fingerprint != hex.EncodeToString(sum[:]) {
		t.Errorf("serial %s, fingerprint %s", info.Serial, info.Fingerprint)
	}
	if info.IssuerKeyID != hex.EncodeToString(ca.SubjectKeyId) || info.IssuerKeyID == "" {
		t.Errorf("issuer key id %q, the authority's is %x", info.IssuerKeyID, ca.SubjectKeyId)
	}
	if !mustInspect(t, authority.CertPEM()).IsCA {
		t.Error("an authority's certificate is not told from a leaf")
	}
}

func TestInspectReadsTheLeafOfAChain(t *testing.T) {
	authority := newAuthority(t, "demo", birth)
	pair := authority.mustIssue(t, member(), birth)
	if got := mustInspect(t, join(pair.Cert, authority.CertPEM())).CommonName; got != "demo-0" {
		t.Errorf("read %q", got)
	}
}

func FuzzNothingReadCausesAPanic(f *testing.F) {
	pair, err := NewAuthority("demo", birth, 0)
	if err != nil {
		f.Fatal(err)
	}
	authority := parseAuthority(f, pair)
	leaf := authority.mustIssue(f, member(), birth)
	f.Add(pair.Cert, pair.Key)
	f.Add(leaf.Cert, leaf.Key)
	f.Add(join(leaf.Cert, pair.Cert), leaf.Key)
	f.Add(pair.Cert[:100], pair.Key[:50])
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		info, inspectErr := Inspect(cert)
		if read, err := ParseAuthority(Pair{Cert: cert, Key: key}); err == nil {
			if inspectErr != nil || !info.IsCA {
				t.Errorf("an authority that Inspect does not know: %+v, %v", info, inspectErr)
			}
			_, _ = read.Issue(member(), birth)
		}
		if _, renew := NeedsRenewal(cert, authority.CertPEM(), member(), birth); inspectErr != nil && !renew {
			t.Error("an unreadable certificate needs no renewal")
		}
		NeedsRenewal(leaf.Cert, cert, member(), birth)
		_, _ = ClientTLS(cert, Pair{Cert: cert, Key: key})
	})
}
