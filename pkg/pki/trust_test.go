package pki

import (
	"strings"
	"testing"
)

func TestACertificateIsOfTheCAThatSignedItOrThatItsHolderTrusts(t *testing.T) {
	ours, theirs := newCA(t, "demo", start), newCA(t, "demo", start)
	good, foreign := ours.mustIssue(t, member(), start).Cert, theirs.mustIssue(t, member(), start).Cert
	nonsense := []byte("nonsense")
	for name, tc := range map[string]struct {
		cert, trusted, ca []byte
		want              bool
	}{
		"as it was issued":                              {good, ours.CertPEM(), ours.CertPEM(), true},
		"another authority of the same name":            {good, ours.CertPEM(), theirs.CertPEM(), false},
		"a certificate that was exchanged":              {foreign, ours.CertPEM(), ours.CertPEM(), true},
		"trust that was exchanged":                      {good, theirs.CertPEM(), ours.CertPEM(), true},
		"both exchanged":                                {foreign, theirs.CertPEM(), ours.CertPEM(), false},
		"no certificate":                                {nil, ours.CertPEM(), ours.CertPEM(), true},
		"no trust":                                      {good, nil, ours.CertPEM(), true},
		"neither":                                       {nil, nonsense, ours.CertPEM(), false},
		"an authority that cannot be read":              {good, ours.CertPEM(), nonsense, false},
		"its own certificate, made anew with the key":   {good, ours.CertPEM(), ours.renamed(t, "demo").CertPEM(), true},
		"another name with the same key, which differs": {good, ours.CertPEM(), ours.renamed(t, "other").CertPEM(), false},
	} {
		if got := IsOf(tc.cert, tc.trusted, tc.ca); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAFingerprintNamesACertificate(t *testing.T) {
	ours, theirs := newCA(t, "demo", start), newCA(t, "demo", start)
	one := Fingerprint(ours.CertPEM())
	if one != Fingerprint(ours.CertPEM()) || one == Fingerprint(theirs.CertPEM()) || len(strings.Split(one, ":")) != 32 {
		t.Errorf("%q", one)
	}
	if none := Fingerprint([]byte("nonsense")); none != "" {
		t.Errorf("of nothing: %q", none)
	}
}
