package pki

import "testing"

func TestTheEndOfAChainIsThatOfItsLeaf(t *testing.T) {
	ca := newCA(t, "demo", start)
	pair := ca.mustIssue(t, member(), start)
	leaf, lasts := parse(t, pair.Cert).NotAfter, parse(t, ca.CertPEM()).NotAfter
	if end, err := NotAfter(join(pair.Cert, ca.CertPEM())); err != nil || !end.Equal(leaf) || leaf.Equal(lasts) {
		t.Errorf("read %s (%v), the leaf ends at %s and the authority at %s", end, err, leaf, lasts)
	}
}

func FuzzNothingReadCausesAPanic(f *testing.F) {
	pair, err := NewCA("demo", start, 0)
	if err != nil {
		f.Fatal(err)
	}
	ca := parseCA(f, pair)
	leaf := ca.mustIssue(f, member(), start)
	f.Add(pair.Cert, pair.Key)
	f.Add(leaf.Cert, leaf.Key)
	f.Add(join(leaf.Cert, pair.Cert), leaf.Key)
	f.Add(pair.Cert[:100], pair.Key[:50])
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		_, unreadable := NotAfter(cert)
		if read, err := ParseCA(Pair{Cert: cert, Key: key}); err == nil {
			if unreadable != nil {
				t.Errorf("an authority whose end cannot be read: %v", unreadable)
			}
			_, _ = read.Issue(member(), start)
		}
		if _, renew := NeedsRenewal(cert, ca.CertPEM(), member(), start); unreadable != nil && !renew {
			t.Error("an unreadable certificate needs no renewal")
		}
		NeedsRenewal(leaf.Cert, cert, member(), start)
		_, _ = ClientTLS(cert, Pair{Cert: cert, Key: key})
	})
}
