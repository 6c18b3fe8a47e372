package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// birth is when the cluster demo and its certificates were made.
var birth = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// safe is the Secrets of the cluster demo, by name.
type safe map[string]map[string][]byte

func tenYears(t *testing.T, pair pki.Pair, err error) pki.Pair {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// secretsOfDemo are those that the operator makes.
func secretsOfDemo(t *testing.T, c *v1alpha1.EtcdCluster) safe {
	t.Helper()
	all := safe{}
	for _, name := range []string{"demo-ca", "demo-ca-peer"} {
		pair, err := pki.NewCA(name, birth, 10*365*24*time.Hour)
		pair = tenYears(t, pair, err)
		all[name] = map[string][]byte{resources.KeyCA: pair.Cert, resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key}
	}
	for _, member := range []string{"demo-0", "demo-1", "demo-2"} {
		all.issue(t, member+"-tls", resources.MemberCertificates(c, member, ""), birth)
	}
	for _, name := range []string{"demo-client-tls", "demo-operator-tls"} {
		all.issue(t, name, resources.Certificates(c, name), birth)
	}
	return all
}

func (s safe) issue(t *testing.T, secret string, certificates []resources.Certificate, now time.Time) {
	t.Helper()
	s[secret] = map[string][]byte{}
	for _, one := range certificates {
		data := s[one.CA]
		ca, err := pki.ParseCA(pki.Pair{Cert: data[resources.KeyCert], Key: data[resources.KeyKey]})
		if err != nil {
			t.Fatal(err)
		}
		pair, err := ca.Issue(one.Leaf, now)
		if err != nil {
			t.Fatal(err)
		}
		s[secret][one.CertKey], s[secret][one.KeyKey], s[secret][one.CAKey] = pair.Cert, pair.Key, one.Trusts(data)
	}
}

// certified is the cluster demo with its Secrets.
func certified(t *testing.T, change func(*v1alpha1.EtcdCluster, safe)) *session {
	t.Helper()
	var secrets safe
	all := changed(t, func(c *v1alpha1.EtcdCluster) {
		secrets = secretsOfDemo(t, c)
		if change != nil {
			change(c, secrets)
		}
	})
	for name, data := range secrets {
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}, Data: data})
	}
	return sessionOf(all, interceptor.Funcs{})
}

func tableOf(t *testing.T, s *session) certificateTable {
	t.Helper()
	got := plugin(t, s, "certificates", "demo", "-o", "json")
	var shown certificateTable
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	return shown
}

func TestEachCAAndEachCertificateIsShown(t *testing.T) {
	s := certified(t, nil)
	got := plugin(t, s, "certificates", "demo")
	if got.code != 0 || strings.Contains(got.out, "not as the CA says") {
		t.Errorf("got %+v", got)
	}
	for _, want := range []string{ // day of birth, a year later, a third of it earlier
		"  demo-0-tls         tls.crt   demo-0    clients  demo-0       ",
		"  demo-0-tls         peer.crt  demo-0    members  demo-0       2      2026-05-04  2027-05-04  2027-01-02",
		"  demo-client-tls    tls.crt   clients   members  demo-client  0 ",
		"  demo-operator-tls  tls.crt   operator  members  root         0 ",
		"  demo-ca       clients  yes    yes      2026-05-04  2036-05-01  2034-05-02 ",
		"  demo-ca-peer  members  yes    yes ",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not shown:\n%s", want, got.out)
		}
	}
	shown := tableOf(t, s)
	if len(shown.CAs) != 2 || len(shown.Certificates) != 8 || shown.NextStep != nil {
		t.Fatalf("got %+v", shown)
	}
	for _, one := range shown.Certificates {
		by := slices.IndexFunc(shown.CAs, func(ca caRow) bool { return ca.Fingerprint == one.SignedBy })
		if by < 0 || (shown.CAs[by].For == "members") != (one.File == "peer.crt") || !one.TrustIsComplete {
			t.Errorf("%s %s is signed by %q: %+v", one.Secret, one.File, one.SignedBy, shown.CAs)
		}
	}
}

func TestWhileACAIsReplacedItIsShownHowFarThatIs(t *testing.T) {
	later := birth.Add(time.Hour)
	s := certified(t, func(c *v1alpha1.EtcdCluster, all safe) {
		pair, err := pki.NextCA("demo-ca", later, 10*365*24*time.Hour)
		pair = tenYears(t, pair, err)
		all["demo-ca"][resources.KeyOtherCert], all["demo-ca"][resources.KeyOtherKey] = pair.Cert, pair.Key
		all.issue(t, "demo-client-tls", resources.Certificates(c, "demo-client-tls"), later)
		c.Status.NextStep = &v1alpha1.NextStep{Rule: "trust", Message: "A CA is replaced. The next step is to let the new one sign."}
	})
	shown := tableOf(t, s)
	if len(shown.CAs) != 3 || !shown.CAs[0].Signs || shown.CAs[1].Signs || !shown.CAs[1].HasKey || shown.NextStep == nil {
		t.Errorf("got %+v", shown)
	}
	for _, one := range shown.Certificates {
		if want := one.File == "peer.crt" || one.Secret == "demo-client-tls"; one.TrustIsComplete != want || one.SignedBy == shown.CAs[1].Fingerprint {
			t.Errorf("%s %s: %+v", one.Secret, one.File, one)
		}
	}
	got := plugin(t, s, "certificates", "demo")
	if !strings.HasSuffix(got.out, "by rule trust:\nA CA is replaced. The next step is to let the new one sign.\n") || !strings.Contains(got.out, "not as the CA says") {
		t.Errorf("got %+v", got)
	}
}

func TestACAOfAPersonIsShownWithTheSecretThatItComesFrom(t *testing.T) {
	s := certified(t, func(_ *v1alpha1.EtcdCluster, all safe) {
		all["demo-ca"][resources.KeyOrigin] = resources.Origin{Secret: "corp", Since: birth.Add(time.Hour)}.Encode()
	})
	got := plugin(t, s, "certificates", "demo").out
	for _, want := range []string{"  as its Secret  Secret corp  ", "  operator  "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not shown:\n%s", want, got)
		}
	}
	if shown := tableOf(t, s); shown.CAs[0].From != "Secret corp" || shown.CAs[1].From != "" {
		t.Errorf("got %+v", shown.CAs)
	}
}

func TestACertificateOfAnotherCAAndASecretThatIsGoneAreSeen(t *testing.T) {
	s := certified(t, func(c *v1alpha1.EtcdCluster, all safe) {
		foreign := secretsOfDemo(t, c)
		all["demo-1-tls"] = foreign["demo-1-tls"]
		all["demo-1-tls"][resources.KeyCA] = []byte("no certificate")
		all["demo-2-tls"][resources.KeyPeerCert] = nil
		delete(all, "demo-0-tls")
	})
	shown := tableOf(t, s)
	if want := []string{"Secret demo-0-tls is not there.", "Secret demo-2-tls holds no certificate under peer.crt."}; !slices.Equal(shown.Unreadable, want) {
		t.Errorf("got %q", shown.Unreadable)
	}
	at := slices.IndexFunc(shown.Certificates, func(one certificateRow) bool { return one.Secret == "demo-1-tls" })
	if one := shown.Certificates[at]; one.SignedBy != "" || one.TrustIsComplete {
		t.Errorf("got %+v", one)
	}
}

func TestNoKeyIsPrinted(t *testing.T) {
	var keys []string
	s := certified(t, func(_ *v1alpha1.EtcdCluster, all safe) {
		for _, data := range all {
			for _, key := range []string{resources.KeyKey, resources.KeyPeerKey} {
				if lines := strings.Split(string(data[key]), "\n"); len(lines) > 2 {
					keys = append(keys, lines[1])
				}
			}
		}
	})
	if len(keys) < 8 {
		t.Fatalf("only %d keys", len(keys))
	}
	for _, format := range []string{"text", "json", "yaml"} {
		got := plugin(t, s, "certificates", "demo", "-o", format)
		for _, key := range keys {
			if strings.Contains(got.out+got.errOut, key) {
				t.Errorf("-o %s prints a key", format)
			}
		}
	}
}

func TestWithoutTLSThereAreNoCertificatesAndARightThatIsMissingIsNamed(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "demo"}}
	c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled}
	got := plugin(t, sessionOf([]client.Object{c}, refusing("get", secrets)), "certificates", "demo")
	if got.code != 0 || !strings.HasSuffix(got.out, "There are no certificates: spec.tls.mode is Disabled.\n") {
		t.Errorf("got %+v", got)
	}
	got = plugin(t, sessionOf(objects(t, "healthy"), refusing("get", secrets)), "certificates", "demo")
	if got.code != exitFailed || !strings.Contains(got.errOut, "you may not get secrets in namespace prod") {
		t.Errorf("got %+v", got)
	}
}
