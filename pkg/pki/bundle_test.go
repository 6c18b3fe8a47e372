package pki

import (
	"bytes"
	"testing"
	"time"
)

func nextCA(t testing.TB, name string, now time.Time) CA {
	t.Helper()
	pair, err := NextCA(name, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parseCA(t, pair)
}

func TestTheCAThatTakesThePlaceOfAnotherIsNotTakenForIt(t *testing.T) {
	first, next := newCA(t, "demo", start), nextCA(t, "demo", start.Add(day))
	if !IsFirst(first.CertPEM()) || IsFirst(next.CertPEM()) || IsFirst(nil) {
		t.Error("which CA the cluster was made with is not told")
	}
	one, other := parse(t, first.CertPEM()), parse(t, next.CertPEM())
	if one.Subject.CommonName != other.Subject.CommonName || bytes.Equal(one.RawSubject, other.RawSubject) {
		t.Errorf("etcd names them %s and %s", one.Subject, other.Subject)
	}
	if got := Made(next.CertPEM()); !got.Equal(start.Add(day)) {
		t.Errorf("it was made at %s", got)
	}
	if !Made([]byte("nonsense")).IsZero() {
		t.Error("nonsense was made at some time")
	}
}

func TestABundleIsTheSameWhicheverCASigns(t *testing.T) {
	first, next := newCA(t, "demo", start), nextCA(t, "demo", start.Add(day))
	one := Bundle(first.CertPEM(), next.CertPEM())
	if !bytes.Equal(one, Bundle(next.CertPEM(), first.CertPEM(), first.CertPEM())) {
		t.Error("the order of CAs, or one that stands twice, makes another bundle")
	}
	if got := Fingerprints(one); len(got) != 2 || got[0] != Fingerprint(first.CertPEM()) || got[1] != Fingerprint(next.CertPEM()) {
		t.Errorf("the oldest is not the first: %v", got)
	}
	if Bundle(first.CertPEM(), []byte("nonsense")) != nil || Fingerprints([]byte("nonsense")) != nil {
		t.Error("what cannot be read is left out in silence")
	}
}

func TestACertificateIsOfEachCAThatItsHolderTrusts(t *testing.T) {
	first, next := newCA(t, "demo", start), nextCA(t, "demo", start.Add(day))
	cert, both := first.mustIssue(t, member(), start).Cert, Bundle(first.CertPEM(), next.CertPEM())
	if !IsOf(cert, both, first.CertPEM()) || !IsOf(cert, both, next.CertPEM()) {
		t.Error("one of two CAs that are trusted counts as another")
	}
	if IsOf(cert, both, newCA(t, "demo", start).CertPEM()) {
		t.Error("a CA that is not trusted counts as one that is")
	}
}
