package pki

import "testing"

func TestTheEndOfAChainIsThatOfItsLeaf(t *testing.T) {
	authority := newAuthority(t, "demo", birth)
	pair := authority.mustIssue(t, member(), birth)
	leaf, ca := parse(t, pair.Cert).NotAfter, parse(t, authority.CertPEM()).NotAfter
	if end, err := NotAfter(join(pair.Cert, authority.CertPEM())); err != nil || !end.Equal(leaf) || leaf.Equal(ca) {
		t.Errorf("read %s (%v), the leaf ends at %s and the authority at %s", end, err, leaf, ca)
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
		_, unreadable := NotAfter(cert)
		if read, err := ParseAuthority(Pair{Cert: cert, Key: key}); err == nil {
			if unreadable != nil {
				t.Errorf("an authority whose end cannot be read: %v", unreadable)
			}
			_, _ = read.Issue(member(), birth)
		}
		if _, renew := NeedsRenewal(cert, authority.CertPEM(), member(), birth); unreadable != nil && !renew {
			t.Error("an unreadable certificate needs no renewal")
		}
		NeedsRenewal(leaf.Cert, cert, member(), birth)
		_, _ = ClientTLS(cert, Pair{Cert: cert, Key: key})
	})
}
