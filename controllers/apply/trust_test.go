package apply

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// turn is one turn of the roll of a CA, as its Secret is.
func (w *world) turn(t *testing.T, name string, turn facts.Turn) changes.TurnCA {
	t.Helper()
	data := w.secret(t, name).Data
	return changes.TurnCA{CA: name, Turn: turn, Signs: pki.Fingerprint(data[resources.KeyCert]),
		Other: pki.Fingerprint(data[resources.KeyOtherCert])}
}

func TestACAIsReplacedInFourTurnsOfWhichEachIsOneWrite(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	data := func() map[string][]byte { return w.secret(t, "demo-ca-peer").Data }
	first := data()[resources.KeyCert]
	records := backupplan.KeyOf(resources.RecordSecret(data()), "prod", "demo")

	for _, step := range []struct {
		turn             facts.Turn
		hasOther, hasKey bool
		isFirst          bool // the one that signs
		trusted, clients int
	}{
		{facts.TurnWiden, true, true, true, 2, 2},
		{facts.TurnSwap, true, true, false, 2, 2},
		{facts.TurnSwap, true, true, true, 2, 2}, // it is called off
		{facts.TurnSwap, true, true, false, 2, 2},
		{facts.TurnNarrow, true, false, false, 1, 2},
		{facts.TurnForget, false, false, false, 1, 1},
	} {
		turn := w.turn(t, "demo-ca-peer", step.turn)
		w.writes = 0
		w.mustDo(t, bootstrapped(), turn)
		has := data()
		signs, err := pki.ParseCA(pki.Pair{Cert: has[resources.KeyCert], Key: has[resources.KeyKey]})
		if err != nil || bytes.Equal(signs.CertPEM(), first) != step.isFirst || w.writes != 1 {
			t.Fatalf("%s: %v, %d writes", step.turn, err, w.writes)
		}
		if len(has[resources.KeyOtherCert]) > 0 != step.hasOther || len(has[resources.KeyOtherKey]) > 0 != step.hasKey ||
			len(pki.Fingerprints(resources.MembersTrust(has))) != step.trusted ||
			len(pki.Fingerprints(has[resources.KeyCA])) != step.clients {
			t.Errorf("%s leaves %v", step.turn, slices.Sorted(maps.Keys(has)))
		}
		if got := backupplan.KeyOf(resources.RecordSecret(has), "prod", "demo"); !bytes.Equal(got, records) {
			t.Errorf("%s: backups that were signed before count no more", step.turn)
		}
		if err := w.do(t, bootstrapped(), turn); !errors.Is(err, ErrStale) && step.turn != facts.TurnNarrow {
			t.Errorf("%s a second time: %v", step.turn, err)
		}
		if step.turn == facts.TurnWiden && bytes.Contains(has[resources.KeyRecords], has[resources.KeyKey]) {
			t.Error("the key of the CA is kept beside its end")
		}
	}
}

// A certificate says since when the CAs beside it stand there, so it is issued anew with them.
func TestACertificateIsIssuedAnewWithTheCAsBesideItWhileACAIsReplaced(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	before := w.secret(t, "demo-client-tls").Data
	w.mustDo(t, bootstrapped(), w.turn(t, "demo-ca", facts.TurnWiden))
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "Secret", Name: "demo-client-tls"}},
		Secrets: []string{"demo-1"}})
	after := w.secret(t, "demo-client-tls").Data
	if len(pki.Fingerprints(after[resources.KeyCA])) != 2 || bytes.Equal(before[resources.KeyCert], after[resources.KeyCert]) {
		t.Errorf("clients trust %v, with a certificate of before", pki.Fingerprints(after[resources.KeyCA]))
	}
	member := w.secret(t, "demo-1-tls").Data
	if len(pki.Fingerprints(member[resources.KeyCA])) != 2 || len(pki.Fingerprints(member[resources.KeyPeerCA])) != 1 {
		t.Errorf("the member trusts %v and %v", pki.Fingerprints(member[resources.KeyCA]), pki.Fingerprints(member[resources.KeyPeerCA]))
	}
	w.writes = 0
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "Secret", Name: "demo-client-tls"}},
		Secrets: []string{"demo-1"}})
	if w.writes != 0 {
		t.Errorf("%d writes for what is so already", w.writes)
	}
}
