package apply

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
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

// give puts a CA into the Secret corp, as a person has it, and returns the turn that takes it in.
func (w *world) give(t *testing.T, ca string, turn facts.Turn, pair pki.Pair) changes.TurnCA {
	t.Helper()
	w.put(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "corp"},
		Data: map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key}})
	c := w.turn(t, ca, turn)
	c.From, c.Next = "Secret corp", pki.Fingerprint(pair.Cert)
	return c
}

func TestACAOfAPersonIsCopiedWithItsOriginWhichGoesWhereItGoes(t *testing.T) {
	cluster := demo()
	cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: "corp"}}}
	w := newWorld(t, cluster)
	wholeCluster(t, w)
	data := func() map[string][]byte { return w.secret(t, "demo-ca").Data }
	records := backupplan.KeyOf(resources.RecordSecret(data()), "prod", "demo")
	pair, err := pki.NewCA("corp", now, 0)
	if err != nil {
		t.Fatal(err)
	}
	given := w.give(t, "demo-ca", facts.TurnWiden, pair)
	other := given
	other.Next = pki.Fingerprint(data()[resources.KeyCert])
	if err := w.do(t, bootstrapped(), other); !errors.Is(err, ErrStale) {
		t.Errorf("another CA than the one that was checked is taken: %v", err)
	}
	w.mustDo(t, bootstrapped(), given)
	origin := resources.OriginIn(data(), resources.KeyOtherOrigin)
	if !bytes.Equal(data()[resources.KeyOtherCert], pair.Cert) || origin.Secret != "corp" || !origin.Since.Equal(now) || origin.IsFirst {
		t.Errorf("beside the CA stands one from %+v", origin)
	}
	w.mustDo(t, bootstrapped(), w.turn(t, "demo-ca", facts.TurnSwap))
	if from, left := resources.OriginIn(data(), resources.KeyOrigin), data()[resources.KeyOtherOrigin]; from.Secret != "corp" || left != nil {
		t.Errorf("the one that signs is from %+v, and the other one from %s", from, left)
	}
	w.mustDo(t, bootstrapped(), w.turn(t, "demo-ca", facts.TurnNarrow))
	w.mustDo(t, bootstrapped(), w.turn(t, "demo-ca", facts.TurnForget))
	w.mustDo(t, bootstrapped(), w.turn(t, "demo-ca", facts.TurnWiden))
	if from := resources.OriginIn(data(), resources.KeyOtherOrigin); from.Secret != "" {
		t.Errorf("a CA that the operator made is said to be from %+v", from)
	}
	if got := backupplan.KeyOf(resources.RecordSecret(data()), "prod", "demo"); !bytes.Equal(got, records) {
		t.Error("backups that were signed before count no more")
	}
}

func TestAClusterBeginsWithTheCAOfAPersonAndRecordsOfBackupsAreSignedWithAnotherKey(t *testing.T) {
	cluster := demo()
	cluster.Spec.TLS = &v1alpha1.TLSSpec{ClientCA: &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: "corp"}}}
	w := newWorld(t, cluster)
	pair, err := pki.NewCA("corp", now, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "corp"},
		Data: map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key}})
	absent := facts.Object{Kind: "Secret", Name: "demo-ca", CA: true, State: facts.ObjectAbsent,
		Source: facts.CASource{Origin: facts.OriginSecret, From: "Secret corp", Print: pki.Fingerprint(pair.Cert)}}
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{absent}})
	data := w.secret(t, "demo-ca").Data
	if origin := resources.OriginIn(data, resources.KeyOrigin); !bytes.Equal(data[resources.KeyCert], pair.Cert) || !origin.IsFirst {
		t.Errorf("the cluster begins with a CA from %+v", origin)
	}
	if signed := resources.RecordSecret(data); len(signed) == 0 || bytes.Equal(signed, data[resources.KeyKey]) {
		t.Error("anyone who has the key of the CA could sign records of backups")
	}
}
