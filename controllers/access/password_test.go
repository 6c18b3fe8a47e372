package access

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

func withPassword(c *v1alpha1.EtcdClient) { c.Spec.Password = true }

// logsIn fails unless etcd has the password of the Secret, and gives that.
func (w *world) logsIn(name, user string) string {
	w.t.Helper()
	password := string(w.secret(name + "-etcd").Data[resources.KeyPassword])
	if got := w.process.Password(user); got != password || !resources.IsPassword(password) {
		w.t.Errorf("etcd has another password than the Secret, or that has none that was drawn (%d characters)", len(password))
	}
	return password
}

func TestAClientGetsAPasswordWhereItAsksForOneAndElseNone(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withPassword), aClient("billing", 0))
	w.passes(enough, "shop", "billing")
	w.is("shop", accessplan.ReasonGranted, "")
	password := w.logsIn("shop", "shop")
	w.has("shop", shopRole)
	w.may(shopRole, accessplan.PasswordMark(resources.PasswordDigest(password)), prefix("shop", true))
	if data := w.secret("billing-etcd").Data; w.process.Password("billing") != "" || data[resources.KeyPassword] != nil {
		t.Error("a client that asks for none has one")
	}
	before := len(w.writes)
	w.passes(20, "shop")
	if got := w.writes[before:]; len(got) > 0 {
		t.Errorf("once it is settled the operator writes %v", got)
	}
}

func TestTheCertificateOfAClientWithAPasswordIsNoUserByItself(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withPassword), aClient("billing", 0))
	w.passes(enough, "shop", "billing")
	with, without := certificateIn(t, w.secret("shop-etcd")).Subject, certificateIn(t, w.secret("billing-etcd")).Subject
	if with.CommonName != "" || !slices.Equal(with.Organization, []string{"shop"}) {
		t.Errorf("with a password it is of %q, which etcd's gateway refuses", with)
	}
	if without.CommonName != "billing" {
		t.Errorf("without one it is of %q", without)
	}
}

func TestAPasswordIsDrawnAnewWhenAskedAndNotWhenTheCertificateIsRenewedInTime(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withPassword))
	w.passes(enough, "shop")
	first := w.logsIn("shop", "shop")
	was := certificateIn(t, w.secret("shop-etcd")).SerialNumber
	w.now = w.now.Add(260 * 24 * time.Hour)
	w.passes(enough, "shop")
	if certificateIn(t, w.secret("shop-etcd")).SerialNumber.Cmp(was) == 0 || w.logsIn("shop", "shop") != first {
		t.Error("the certificate is not renewed, or the password is another one")
	}
	w.now = w.now.Add(time.Hour)
	w.change("shop", func(c *v1alpha1.EtcdClient) {
		c.Annotations = map[string]string{v1alpha1.AnnotationRenewCertificate: w.now.UTC().Format(time.RFC3339)}
	})
	w.now = w.now.Add(time.Second)
	w.passes(enough, "shop")
	second := w.logsIn("shop", "shop")
	if second == first {
		t.Error("the password is the same, although another one was asked for")
	}
	w.passes(enough, "shop")
	if w.logsIn("shop", "shop") != second {
		t.Error("it is drawn again and again")
	}
	w.may(shopRole, accessplan.PasswordMark(resources.PasswordDigest(second)), prefix("shop", true))
}

func TestAPasswordThatPeopleWroteOrTookOutIsDrawnAnew(t *testing.T) {
	for _, password := range []string{"", "short", strings.Repeat("!", 43)} {
		w := newWorld(t, aClient("shop", 0, withPassword))
		w.passes(enough, "shop")
		secret := w.secret("shop-etcd")
		secret.Data[resources.KeyPassword] = []byte(password)
		must(t, w.kube.Update(t.Context(), secret))
		w.now = w.now.Add(time.Minute)
		w.passes(enough, "shop")
		if w.logsIn("shop", "shop") == password {
			t.Errorf("etcd takes %q", password)
		}
	}
}

func TestAUserThatPeopleDeletedOrARestoreBroughtBackGetsThePasswordOfTheSecret(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withPassword))
	w.passes(enough, "shop")
	ctx := t.Context()
	must(t, w.root.DeleteUser(ctx, "shop"))
	w.now = w.now.Add(time.Minute)
	w.passes(2*enough, "shop")
	w.logsIn("shop", "shop")
	w.has("shop", shopRole)

	must(t, w.root.DeleteUser(ctx, "shop")) // and what an EtcdClient of that name without a password had is back
	must(t, w.root.DeleteRole(ctx, shopRole))
	must(t, w.root.AddRole(ctx, shopRole))
	must(t, w.root.NewUser(ctx, "shop"))
	must(t, w.root.GrantRole(ctx, "shop", shopRole))
	w.now = w.now.Add(time.Minute)
	w.passes(2*enough, "shop")
	w.logsIn("shop", "shop")
	w.is("shop", accessplan.ReasonGranted, "")
}

func TestAClientWithAPasswordThatWasInterruptedAnywhereSettles(t *testing.T) {
	for nth := 1; nth <= 18; nth++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t, aClient("shop", 0, withPassword))
			w.network.Inject(fake.Fault{Nth: nth, After: after})
			w.passes(2*enough, "shop")
			w.is("shop", accessplan.ReasonGranted, "")
			password := w.logsIn("shop", "shop")
			w.may(shopRole, accessplan.PasswordMark(resources.PasswordDigest(password)), prefix("shop", true))
		}
	}
}

func TestValuesStandUnderFurtherKeysAndFollow(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withPassword, func(c *v1alpha1.EtcdClient) {
		c.Spec.SecretKeys = []v1alpha1.ClientSecretKey{{Key: "tls.crt", Name: "client.pem"}, {Key: "password", Name: "ETCD_PASSWORD"}, {Key: "endpoints", Name: "hosts"}}
	}))
	alike := func() string {
		t.Helper()
		data := w.secret("shop-etcd").Data
		for further, key := range map[string]string{"client.pem": "tls.crt", "ETCD_PASSWORD": "password", "hosts": "endpoints"} {
			if len(data[key]) == 0 || string(data[further]) != string(data[key]) {
				t.Errorf("%s is not as %s", further, key)
			}
		}
		return string(data["client.pem"])
	}
	w.passes(enough, "shop")
	was := alike()
	w.now = w.now.Add(260 * 24 * time.Hour)
	w.passes(enough, "shop")
	if alike() == was {
		t.Error("the certificate is not renewed")
	}
	secret := w.secret("shop-etcd")
	secret.Data["hosts"] = []byte("elsewhere")
	must(t, w.kube.Update(t.Context(), secret))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "shop")
	alike()
}

func TestNoPasswordIsInAnyStatusEventOrName(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, withPassword))
	w.passes(enough, "shop")
	password := w.logsIn("shop", "shop")
	told := fmt.Sprintf("%+v", w.client("shop").Status) + strings.Join(w.writes, " ")
	for len(w.events.Events) > 0 {
		told += <-w.events.Events
	}
	rights, err := w.root.Permissions(t.Context(), shopRole)
	must(t, err)
	for _, right := range rights {
		told += right.Key
	}
	if strings.Contains(told, password) {
		t.Error("it is told")
	}
}
