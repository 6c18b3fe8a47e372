package apply

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

func keyOf(name string) ctrlclient.ObjectKey {
	return ctrlclient.ObjectKey{Namespace: "prod", Name: name}
}

func TestACAThatIsThereIsNeverMadeAnew(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	before := w.secret(t, "demo-ca")
	w.edit(t, before, func() { before.Data[resources.KeyKey] = []byte("damaged") })
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{{Kind: "Secret", Name: "demo-ca"}}})
	if after := w.secret(t, "demo-ca"); !bytes.Equal(after.Data[resources.KeyKey], []byte("damaged")) || w.writes != 0 {
		t.Errorf("%d writes", w.writes)
	}
	drifted := w.secret(t, "demo-0-tls")
	w.edit(t, drifted, func() { delete(drifted.Data, resources.KeyCert) })
	if err := w.do(t, bootstrapped(), changes.ApplyObjects{Secrets: []string{"demo-0"}}); !isRejected(err, RejectedUnreadable) {
		t.Errorf("a certificate of an authority that cannot be read: %v", err)
	}
}

func TestACAThatWentAfterTheLookIsNotMadeAnew(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	if err := w.inner.Delete(t.Context(), w.secret(t, "demo-ca")); err != nil {
		t.Fatal(err)
	}
	seen := facts.Object{Kind: "Secret", Name: "demo-ca", State: facts.ObjectCurrent, Unmarked: true}
	if err := w.do(t, bootstrapped(), changes.ApplyObjects{Objects: []facts.Object{seen}}); !errors.Is(err, ErrStale) ||
		w.writes != 0 {
		t.Errorf("members live by the one that is gone: %v, %d writes", err, w.writes)
	}
}

// TestNothingIsSignedByACAThatCameAfterTheLook is about a CA of which nobody looked whether members trust it.
func TestNothingIsSignedByACAThatCameAfterTheLook(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	seen := w.trusting(t, begun())
	other, err := pki.NewCA("another", now, 0)
	if err != nil {
		t.Fatal(err)
	}
	secret := w.secret(t, "demo-ca-peer")
	w.edit(t, secret, func() { secret.Data[resources.KeyCert], secret.Data[resources.KeyKey] = other.Cert, other.Key })
	for _, change := range []changes.Change{
		changes.ApplyObjects{Secrets: []string{"demo-0"}},
		changes.PrepareMember{Secret: true, Volume: changes.NewVolume{Name: "demo-3", Bytes: 1 << 30,
			Settings: settings(w.cluster)}},
	} {
		w.calls = nil
		if err := w.do(t, seen, change); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", changes.KindOf(change), err)
		}
		if slices.ContainsFunc(w.calls, func(call string) bool {
			return !strings.HasPrefix(call, "get") && strings.Contains(call, "Secret")
		}) {
			t.Errorf("%s: %q", changes.KindOf(change), w.calls)
		}
	}
}

// TestCertificatesAreOfTheCAAsReadBack lets somebody else's CA be the one that is there.
func TestCertificatesAreOfTheCAAsReadBack(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	other, err := pki.NewCA("of the one who was first", now, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.put(t, resources.BuildCA(w.cluster, "demo-ca", map[string][]byte{
		resources.KeyCert: other.Cert, resources.KeyKey: other.Key, resources.KeyCA: other.Cert,
	}))
	w.mustDo(t, unmade(), bootstrap(w.cluster))
	holdsBootstrap(t, w)
	if data := w.secret(t, "demo-0-tls").Data; !bytes.Equal(data[resources.KeyCA], other.Cert) {
		t.Error("the members trust an authority that is not there")
	}
}

func TestRenewingOneCertificateLeavesTheOtherAsItIs(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	before := w.secret(t, "demo-0-tls")
	w.edit(t, before, func() { before.Data[resources.KeyCert] = before.Data[resources.KeyPeerCert] })
	w.mustDo(t, bootstrapped(), changes.ApplyObjects{Secrets: []string{"demo-0"}})
	after := w.secret(t, "demo-0-tls")
	holdsCertificates(t, w, "demo-0-tls", resources.MemberCertificates(w.cluster, "demo-0", ""))
	if !bytes.Equal(after.Data[resources.KeyPeerCert], before.Data[resources.KeyPeerCert]) {
		t.Error("the good certificate was made anew as well")
	}
}

func TestACertificateIsRenewedInTheLastThirdOfItsLife(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	applier := w.applier()
	for renewals, after := range []time.Duration{200 * 24 * time.Hour, 300 * 24 * time.Hour} { // none, then one
		applier.Now = func() time.Time { return now.Add(after) }
		w.writes = 0
		s := step{Applier: applier, cluster: w.cluster, view: w.trusting(t, bootstrapped())}
		if err := s.carryOut(t.Context(), changes.ApplyObjects{Secrets: []string{"demo-0"}}); err != nil ||
			w.writes != renewals {
			t.Errorf("after %v: %d writes, %v", after, w.writes, err)
		}
	}
}

func TestNoKeyIsEverInAnError(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	ca := w.secret(t, "demo-ca")
	key := string(ca.Data[resources.KeyKey])
	w.edit(t, ca, func() { ca.Data[resources.KeyCert] = []byte(key) })
	broken := &corev1.Secret{}
	if err := w.inner.Get(t.Context(), keyOf("demo-1-tls"), broken); err != nil {
		t.Fatal(err)
	}
	w.edit(t, broken, func() { broken.Data = nil })
	err := w.do(t, bootstrapped(), changes.ApplyObjects{Secrets: []string{"demo-1"}})
	if err == nil || bytes.Contains([]byte(err.Error()), []byte(key[40:80])) {
		t.Errorf("%v", err)
	}
}
