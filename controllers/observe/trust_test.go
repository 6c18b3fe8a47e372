package observe_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// exchangeCA puts another CA in the place of one, and returns what was there.
func (w *world) exchangeCA(name string) map[string][]byte {
	w.t.Helper()
	pair, err := pki.NewCA(name, w.now, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	was := w.secret(name).Data
	w.secret(name).Data = map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key,
		resources.KeyCA: pair.Cert}
	return was
}

// member gives a member a volume and certificates of the CAs that are there.
func (w *world) member(name string) {
	w.put(w.volume(name))
	w.put(resources.BuildMemberSecret(w.cluster, name, w.issue(resources.MemberCertificates(w.cluster, name, ""))))
}

func (w *world) ofAnother(secret string) {
	w.secret(secret).OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(),
		Kind: resources.KindCluster, Name: "demo", UID: "gone", Controller: new(true)}}
}

func TestWhatMembersTrustIsTheCAThatIsUsed(t *testing.T) {
	const clients, peers = "demo-ca", "demo-ca-peer"
	for _, row := range []struct {
		name, ca  string
		given     func(*world)
		isTrusted bool
		isAnother bool
		member    facts.ObjectState // of the Secret of demo-0
	}{
		{"as it was made", peers, func(w *world) { w.member("demo-0") }, true, false, facts.ObjectCurrent},
		{"another CA for peers", peers, func(w *world) { w.member("demo-0"); w.exchangeCA(peers) }, false, true,
			facts.ObjectCurrent},
		{"another CA for clients", clients, func(w *world) { w.member("demo-0"); w.exchangeCA(clients) }, false, true,
			facts.ObjectCurrent},
		{"the one for peers in the place of the one for clients", clients, func(w *world) {
			w.member("demo-0")
			w.secret(clients).Data = w.secret(peers).Data
		}, false, true, facts.ObjectCurrent},
		{"what is no CA", peers, func(w *world) {
			w.member("demo-0")
			w.secret(peers).Data[resources.KeyCert] = []byte("nonsense")
		}, false, true, facts.ObjectCurrent},
		{"one that is gone", peers, func(w *world) { w.member("demo-0"); w.remove(w.secret(peers)) }, false, false,
			facts.ObjectCurrent},
		{"one member of three has certificates of the other", peers, func(w *world) {
			w.member("demo-1")
			w.member("demo-2")
			w.exchangeCA(peers)
			w.member("demo-0")
		}, false, true, facts.ObjectCurrent},
		{"the one that two of three have is put back", peers, func(w *world) {
			w.member("demo-1")
			w.member("demo-2")
			was := w.exchangeCA(peers)
			w.member("demo-0")
			w.secret(peers).Data = was
		}, true, false, facts.ObjectDrifted},
		{"one of two has certificates of either, so either is believed", peers, func(w *world) {
			w.member("demo-0")
			w.exchangeCA(peers)
			w.member("demo-1")
		}, true, false, facts.ObjectDrifted},
		{"a certificate that a person exchanged says nothing of the CA", peers, func(w *world) {
			w.member("demo-0")
			w.secret("demo-0-tls").Data[resources.KeyPeerCert] = w.secret("demo-0-tls").Data[resources.KeyCert]
		}, true, false, facts.ObjectDrifted},
		{"without members, what clients have says it", clients, func(w *world) {
			w.remove(w.secret("demo-0-tls"))
			w.exchangeCA(clients)
		}, false, true, ""},
		{"without members nobody says it of peers", peers, func(w *world) {
			w.remove(w.secret("demo-0-tls"))
			w.exchangeCA(peers)
		}, false, false, ""},
		{"nor what an earlier cluster left", peers, func(w *world) {
			w.member("demo-0")
			w.ofAnother("demo-0-tls")
			w.exchangeCA(peers)
		}, false, false, facts.ObjectTerminating},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newTLSWorld(t)
			row.given(w)
			o := w.object("Secret", row.ca)
			isTrusted := o.Trusted != "" && o.Trusted == o.Holds
			if isTrusted != row.isTrusted || o.IsAnother() != row.isAnother {
				t.Errorf("%+v", o)
			}
			if o.State == facts.ObjectAbsent && o.Trusted == "" {
				t.Error("nothing says which CA was trusted")
			}
			if row.member != "" {
				if s := w.replica("demo-0").Secret; s.State != row.member {
					t.Errorf("the member's: %+v", s)
				}
			}
		})
	}
}
