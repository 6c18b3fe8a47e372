package access

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

const enough = 12 // passes, from nothing to settled

var shopRole = accessplan.RoleName("", "shop", "shop")

func prefix(name string, write bool) accessplan.Right {
	return accessplan.Right{Key: name + "/", End: name + "0", Read: true, Write: write}
}

func certificateIn(t *testing.T, secret *corev1.Secret) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(secret.Data[resources.KeyCert], secret.Data[resources.KeyKey])
	must(t, err)
	return pair.Leaf
}

func TestAClientGetsItsUserItsRoleAndItsSecret(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "shop")
	w.has("shop", shopRole)
	w.may(shopRole, prefix("shop", true))
	secret := w.secret("shop-etcd")
	if secret == nil {
		t.Fatal("there is no Secret")
	}
	if name := certificateIn(t, secret).Subject.CommonName; name != "shop" || !resources.IsControlledBy(secret, "uid-shop") {
		t.Errorf("it is of %q, owned by %+v", name, secret.OwnerReferences)
	}
	for key, want := range map[string]string{"endpoints": "https://demo.prod.svc:2379", "addresses": "demo.prod.svc:2379", "user": "shop", "ca.crt": string(w.ca)} {
		if got := string(secret.Data[key]); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s is %q", key, got)
		}
	}
}

func TestASettledClientIsLeftAloneAndEtcdIsAskedLittle(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	before, asked := len(w.writes), len(w.network.Calls())
	w.passes(50, "shop")
	if got := len(w.writes) - before; got != 0 {
		t.Errorf("it writes %v", w.writes[before:])
	}
	for _, call := range w.network.Calls()[asked:] {
		if call.Method != "Authentication" {
			t.Errorf("it asks etcd %s", call.Method)
		}
	}
}

func TestAClientThatWasInterruptedAnywhereSettles(t *testing.T) {
	for at := 1; at <= 4; at++ {
		w := newWorld(t, aClient("shop", 0))
		w.crashAt = at
		w.passes(enough+3, "shop")
		w.is("shop", accessplan.ReasonGranted, "")
	}
	for nth := 1; nth <= 12; nth++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t, aClient("shop", 0))
			w.network.Inject(fake.Fault{Nth: nth, After: after})
			w.passes(2*enough, "shop")
			w.is("shop", accessplan.ReasonGranted, "")
			w.has("shop", shopRole)
			w.may(shopRole, prefix("shop", true))
		}
	}
}

func TestPermissionsFollowTheSpecWhileTheCertificateStays(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	was := w.secret("shop-etcd").Data[resources.KeyCert]
	w.change("shop", func(c *v1alpha1.EtcdClient) {
		c.Spec.Permissions = []v1alpha1.ClientPermission{{Prefix: "shop/", Access: v1alpha1.AccessReadOnly}, {Key: "rate", Access: v1alpha1.AccessReadWrite}}
	})
	w.passes(enough, "shop")
	w.may(shopRole, accessplan.Right{Key: "rate", Read: true, Write: true}, prefix("shop", false))
	if !bytes.Equal(was, w.secret("shop-etcd").Data[resources.KeyCert]) {
		t.Error("the certificate is another one")
	}
}

func TestWhatPeopleChangeInEtcdIsPutBack(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	ctx := t.Context()
	must(t, w.root.GrantPermission(ctx, shopRole, fakePermission("everything")))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	w.may(shopRole, prefix("shop", true))
	must(t, w.root.DeleteUser(ctx, "shop"))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	w.has("shop", shopRole)
}

func TestADeletedClientLosesItsRightBeforeItGoes(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	must(t, w.kube.Delete(t.Context(), w.client("shop")))
	for range enough {
		c := &v1alpha1.EtcdClient{}
		if err := w.kube.Get(t.Context(), w.key("shop"), c); apierrors.IsNotFound(err) {
			break
		}
		w.pass("shop")
	}
	w.has("shop")
	if _, err := w.root.Permissions(t.Context(), shopRole); err == nil {
		t.Error("its role is still there")
	}
	if err := w.kube.Get(t.Context(), w.key("shop"), &v1alpha1.EtcdClient{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestADeletedClientWaitsForAQuorumAndGoesWithItsCluster(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	w.process.Stop()
	must(t, w.kube.Delete(t.Context(), w.client("shop")))
	w.passes(3, "shop")
	w.is("shop", accessplan.ReasonRevoking, "etcdsteward.dev/access")
	must(t, w.kube.Delete(t.Context(), demo()))
	w.passes(2, "shop")
	if err := w.kube.Get(t.Context(), w.key("shop"), &v1alpha1.EtcdClient{}); !apierrors.IsNotFound(err) {
		t.Errorf("it stays although its cluster is gone: %v", err)
	}
}

func TestOfTwoThatClaimOneUserTheOlderHasItAndTheNewerFollows(t *testing.T) {
	same := func(c *v1alpha1.EtcdClient) { c.Spec.User = "both" }
	w := newWorld(t, aClient("newer", 0, same), aClient("older", 60, same))
	w.passes(enough, "newer", "older")
	w.is("older", accessplan.ReasonGranted, "")
	w.is("newer", accessplan.ReasonUserClaimed, "older")
	if w.secret("newer-etcd") != nil {
		t.Error("the newer one has a Secret")
	}
	must(t, w.kube.Delete(t.Context(), w.client("older")))
	w.passes(4, "older")
	w.passes(enough, "newer")
	w.is("newer", accessplan.ReasonGranted, "")
	w.has("both", accessplan.RoleName("", "newer", "both"))
}

func TestOfTwoThatClaimOneSecretTheOlderHasIt(t *testing.T) {
	same := func(c *v1alpha1.EtcdClient) { c.Spec.SecretName = "both-etcd" }
	w := newWorld(t, aClient("newer", 0, same), aClient("older", 60, same))
	w.passes(enough, "newer", "older")
	w.is("newer", accessplan.ReasonSecretClaimed, "older")
	if !resources.IsControlledBy(w.secret("both-etcd"), "uid-older") {
		t.Error("the older one does not have it")
	}
	w.has("newer")
}

func TestASecretAndAUserOfPeopleAreNotTouched(t *testing.T) {
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-etcd"}, Data: map[string][]byte{"a": []byte("b")}}
	w := newWorld(t, aClient("shop", 0), theirs)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonSecretTaken, "shop-etcd")
	w.has("shop")
	if secret := w.secret("shop-etcd"); len(secret.Data) != 1 {
		t.Errorf("it has %v", secret.Data)
	}
	must(t, w.kube.Delete(t.Context(), theirs))
	must(t, w.root.NewUser(t.Context(), "shop"))
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonUserTaken, "shop")
	w.has("shop", []string{}...)
	must(t, w.kube.Delete(t.Context(), w.client("shop")))
	w.passes(2, "shop")
	if _, err := w.root.Roles(t.Context(), "shop"); err != nil {
		t.Errorf("the user of people went with the client: %v", err)
	}
}

func TestAUserThatPeopleMadeInThePlaceOfItsOwnIsNotTaken(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	must(t, w.root.DeleteUser(t.Context(), "shop"))
	must(t, w.root.NewUser(t.Context(), "shop")) // a person, who has not granted it a role yet
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonUserTaken, "")
	w.has("shop", []string{}...)
	if roles, err := w.root.Roles(t.Context(), "shop"); err != nil || len(roles) > 0 {
		t.Errorf("the person's user has the roles %v, %v", roles, err)
	}
}

func TestNoCertificateIsHandedOutWhileAuthenticationIsOff(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	must(t, w.root.DisableAuthentication(t.Context()))
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonAuthenticationOff, "")
	w.has("shop", shopRole)
	if w.secret("shop-etcd") != nil {
		t.Error("there is a Secret")
	}
	must(t, w.root.EnableAuthentication(t.Context()))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "")
}

func TestACertificateIsRenewedInTimeAndWhenAsked(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	first := certificateIn(t, w.secret("shop-etcd"))
	w.now = w.now.Add(260 * 24 * time.Hour)
	w.passes(4, "shop")
	second := certificateIn(t, w.secret("shop-etcd"))
	if !second.NotAfter.After(first.NotAfter) {
		t.Errorf("it ends at %s, and ended at %s", second.NotAfter, first.NotAfter)
	}
	w.now = w.now.Add(time.Hour)
	w.change("shop", func(c *v1alpha1.EtcdClient) {
		c.Annotations = map[string]string{v1alpha1.AnnotationRenewCertificate: w.now.UTC().Format(time.RFC3339)}
	})
	w.now = w.now.Add(time.Second)
	w.passes(4, "shop")
	third := certificateIn(t, w.secret("shop-etcd"))
	if third.SerialNumber.Cmp(second.SerialNumber) == 0 {
		t.Error("it is not renewed when asked")
	}
	w.passes(10, "shop")
	if certificateIn(t, w.secret("shop-etcd")).SerialNumber.Cmp(third.SerialNumber) != 0 {
		t.Error("it is renewed again and again")
	}
}

func TestASecretFollowsTheRollOfTheCA(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	secret := w.secret(resources.CASecret("demo"))
	next, err := pki.NextCA("demo", w.now, 0)
	must(t, err)
	secret.Data[resources.KeyOtherCert], secret.Data[resources.KeyOtherKey] = next.Cert, next.Key
	must(t, w.kube.Update(t.Context(), secret))
	w.now = w.now.Add(time.Minute)
	w.passes(4, "shop")
	if both := pki.Fingerprints(w.secret("shop-etcd").Data[resources.KeyCA]); len(both) != 2 {
		t.Errorf("it trusts %v", both)
	}
	secret = w.secret(resources.CASecret("demo"))
	d := secret.Data
	d[resources.KeyCert], d[resources.KeyKey], d[resources.KeyOtherCert], d[resources.KeyOtherKey] =
		next.Cert, next.Key, d[resources.KeyCert], d[resources.KeyKey]
	must(t, w.kube.Update(t.Context(), secret))
	own := w.secret(resources.OperatorSecret("demo"))
	own.Data[resources.KeyCA] = pki.Bundle(next.Cert, w.ca)
	must(t, w.kube.Update(t.Context(), own))
	w.now = w.now.Add(time.Minute)
	w.passes(4, "shop")
	if signer := pki.SignerOf(certificateIn(t, w.secret("shop-etcd")), next.Cert); signer == "" {
		t.Error("the next CA does not sign it")
	}
}

func TestASecretThatIsDeletedIsWrittenAnew(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	must(t, w.kube.Delete(t.Context(), w.secret("shop-etcd")))
	w.passes(3, "shop")
	if w.secret("shop-etcd") == nil {
		t.Error("it stays away")
	}
}

func TestNoKeyIsInAnyStatusOrEvent(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.passes(enough, "shop")
	told := fmt.Sprintf("%+v", w.client("shop").Status)
	ca := w.secret(resources.CASecret("demo"))
	broken := []byte("-----BEGIN PRIVATE KEY-----\ncanary-canary-canary\n-----END PRIVATE KEY-----\n")
	ca.Data[resources.KeyKey] = broken
	must(t, w.kube.Update(t.Context(), ca))
	secret := w.secret("shop-etcd")
	secret.Data[resources.KeyKey] = broken
	must(t, w.kube.Update(t.Context(), secret))
	w.now = w.now.Add(time.Minute)
	w.passes(4, "shop")
	w.is("shop", accessplan.ReasonCANotReady, resources.CASecret("demo"))
	told += fmt.Sprintf("%+v", w.client("shop").Status)
	for len(w.events.Events) > 0 {
		told += <-w.events.Events
	}
	for _, canary := range []string{"canary", "PRIVATE KEY", string(ca.Data[resources.KeyKey])} {
		if strings.Contains(told, canary) {
			t.Errorf("it tells %q", canary)
		}
	}
}

func TestAnOperatorThatLostTheLeaseChangesNothingInEtcd(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.operator.Leads = kit.LeadsBy(w.kube, &kit.Lease{Identity: "me", Now: func() time.Time { return w.now }})
	w.passes(enough, "shop")
	w.has("shop")
	w.is("shop", "NotLeading", "")
}

func TestTheWebhookRefusesWhatCannotBecomeGoodAndWarnsOfTheRest(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	for _, row := range []struct {
		name     string
		edit     func(*v1alpha1.EtcdClient)
		refuses  bool
		warnings int
	}{
		{"a good one", func(*v1alpha1.EtcdClient) {}, false, 0},
		{"the user of the shared certificate", func(c *v1alpha1.EtcdClient) { c.Spec.User = "demo-client" }, true, 0},
		{"a user that another one has", func(c *v1alpha1.EtcdClient) { c.Spec.User = "shop" }, false, 1},
		{"a Secret that another one has", func(c *v1alpha1.EtcdClient) { c.Spec.SecretName = "shop-etcd" }, false, 1},
		{"no cluster", func(c *v1alpha1.EtcdClient) { c.Spec.ClusterRef.Name = "other" }, false, 1},
		{"a namespace that the cluster does not allow", fromTeam, false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := aClient("next", 0, row.edit)
			c.CreationTimestamp, c.UID = metav1.Time{}, ""
			before := len(w.network.Calls())
			said, err := w.operator.admit(t.Context(), nil, nil, c)
			if err != nil || (len(said.Refusals) > 0) != row.refuses || len(said.Warnings) != row.warnings {
				t.Errorf("%+v, %v", said, err)
			}
			if len(w.network.Calls()) != before {
				t.Error("etcd is asked")
			}
		})
	}
}

// before does something else right before the operator makes a change.
func (w *world) before(name, change string, do func()) {
	w.t.Helper()
	for range 2 * enough {
		c := w.client(name)
		seen, err := w.operator.look(w.t.Context(), c)
		must(w.t, err)
		next := accessplan.Next(seen.Observation).Change
		if strings.HasSuffix(fmt.Sprintf("%T", next), "."+change) {
			do()
			if err := w.operator.apply(w.t.Context(), c, seen, next); !errors.Is(err, apply.ErrStale) {
				w.t.Errorf("%s goes on: %v", change, err)
			}
			return
		}
		w.pass(name)
	}
	w.t.Fatalf("it never comes to %s", change)
}

func TestACertificateIsNotWrittenWhereAuthenticationWentOffSinceTheLook(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	w.before("shop", "WriteSecret", func() { must(t, w.root.DisableAuthentication(t.Context())) })
	if w.secret("shop-etcd") != nil {
		t.Error("it is written")
	}
}

func TestAUserThatIsMadeWhileTheOperatorMakesItIsNotTaken(t *testing.T) {
	for change, prepare := range map[string]func(*world){
		"MakeBoth": func(*world) {},
		"MakeUser": func(w *world) { // the user that people deleted
			w.passes(enough, "shop")
			must(t, w.root.DeleteUser(t.Context(), "shop"))
			w.now = w.now.Add(time.Minute)
		},
	} {
		w := newWorld(t, aClient("shop", 0))
		prepare(w)
		w.before("shop", change, func() { must(t, w.root.NewUser(t.Context(), "shop")) })
		w.passes(enough, "shop")
		w.is("shop", accessplan.ReasonUserTaken, "")
		if roles, err := w.root.Roles(t.Context(), "shop"); err != nil || len(roles) > 0 {
			t.Errorf("%s: the person's user has the roles %v, %v", change, roles, err)
		}
	}
}

// With 1,000 clients of a cluster each request counts: so many are made for one of them until it settles. What changes
// users or rights counts most. For a role, a right, a user, and that this has the role, there have to be four.
func TestAClientCostsFewRequestsUntilItSettles(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	before := len(w.network.Calls())
	w.passes(4, "shop")
	w.is("shop", accessplan.ReasonGranted, "")
	asked := w.network.Calls()[before:]
	changes := slices.DeleteFunc(slices.Clone(asked), func(c fake.Call) bool {
		return slices.Contains([]string{"Authentication", "Permissions", "Roles"}, c.Method)
	})
	if len(asked) > 10 || len(changes) != 4 {
		t.Errorf("etcd is asked %d times, %d of them for a change: %v", len(asked), len(changes), asked)
	}
	if len(w.writes) > 3 { // finalizer, Secret, status
		t.Errorf("it writes %v", w.writes)
	}
}

func TestAnOperatorWithoutItsCertificateSaysSoAndGoesOnOnceItIsThere(t *testing.T) {
	w := newWorld(t, aClient("shop", 0))
	own := w.secret(resources.OperatorSecret("demo"))
	must(t, w.kube.Delete(t.Context(), own))
	w.passes(3, "shop")
	w.is("shop", accessplan.ReasonEtcdUnavailable, resources.OperatorSecret("demo"))
	own.ResourceVersion = ""
	must(t, w.kube.Create(t.Context(), own))
	w.passes(enough, "shop")
	w.is("shop", accessplan.ReasonGranted, "")
}

func TestAClusterThatDoesNotAnswerIsAskedOnceForAllItsClients(t *testing.T) {
	w := newWorld(t, aClient("shop", 0), aClient("billing", 0))
	w.passes(enough, "shop", "billing")
	w.process.Stop()
	w.now = w.now.Add(time.Minute)
	before := len(w.network.Calls())
	w.pass("shop")
	w.now = w.now.Add(-10 * time.Second)
	w.pass("billing")
	w.is("billing", accessplan.ReasonEtcdUnavailable, "")
	if asked := len(w.network.Calls()) - before; asked > 1 {
		t.Errorf("it is asked %d times", asked)
	}
}
