package access

import (
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

const (
	outsideUser = "team.shop"
	outsideRole = v1alpha1.Group + "/team/shop/team.shop"
)

// fromTeam moves a client into the namespace team, and has it name the cluster where that is.
func fromTeam(c *v1alpha1.EtcdClient) {
	c.Namespace, c.Spec.ClusterRef.Namespace = "team", "prod"
}

// allow has the cluster allow these namespaces, and no others.
func (w *world) allow(namespaces ...v1alpha1.ClientNamespace) {
	w.t.Helper()
	c := &v1alpha1.EtcdCluster{}
	must(w.t, w.kube.Get(w.t.Context(), w.key("demo"), c))
	c.Spec.Access = &v1alpha1.AccessSpec{Namespaces: namespaces}
	c.Spec.InheritedMetadata = &v1alpha1.InheritedMetadata{Labels: map[string]string{"tier": "gold"}}
	must(w.t, w.kube.Update(w.t.Context(), c))
}

func TestAClientOfAnotherNamespaceThatTheClusterAllowsGetsItsSecretThere(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, fromTeam))
	w.allow(v1alpha1.ClientNamespace{Name: "team"})
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonGranted, outsideUser)
	w.has(outsideUser, outsideRole)
	w.may(outsideRole, prefix("shop", true))
	secret := w.secret("team/shop-etcd")
	if secret == nil || w.secret("shop-etcd") != nil {
		t.Fatal("the Secret is not in the namespace of the client, or also in that of the cluster")
	}
	if name := certificateIn(t, secret).Subject.CommonName; name != outsideUser || !resources.IsControlledBy(secret, "uid-shop") {
		t.Errorf("it is of %q, owned by %+v", name, secret.OwnerReferences)
	}
	if got := string(secret.Data["endpoints"]); got != "https://demo.prod.svc:2379" || secret.Labels["tier"] != "" {
		t.Errorf("it leads to %s, with the labels %v", got, secret.Labels)
	}
	before := len(w.writes)
	w.passes(20, "team/shop")
	if got := w.writes[before:]; len(got) > 0 {
		t.Errorf("once it is settled the operator writes %v", got)
	}
}

func TestANamespaceThatIsNotAllowedGetsNothingAndLosesWhatItHad(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, fromTeam))
	setUp := w.network.Calls()
	nothing := func(reason string) {
		t.Helper()
		w.is("team/shop", reason, "spec.access.namespaces")
		w.has(outsideUser)
		if _, err := w.root.Permissions(t.Context(), outsideRole); err == nil {
			t.Error("there is its role")
		}
	}
	w.passes(enough, "team/shop")
	if finalizers := w.client("team/shop").Finalizers; len(finalizers) > 0 || len(w.network.Calls()) > len(setUp) {
		t.Errorf("before it was ever allowed it has %v, or etcd was asked about it", finalizers)
	}
	nothing(accessplan.ReasonNamespaceNotAllowed)
	w.allow(v1alpha1.ClientNamespace{Name: "other"}, v1alpha1.ClientNamespace{Name: "team"})
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonGranted, "")
	was := string(w.secret("team/shop-etcd").Data[resources.KeyCert])

	w.allow(v1alpha1.ClientNamespace{Name: "other"})
	w.passes(enough, "team/shop")
	nothing(accessplan.ReasonNamespaceNotAllowed)
	if secret := w.secret("team/shop-etcd"); secret == nil {
		t.Error("its Secret is deleted, which would keep its Pods from starting")
	}
	must(t, w.root.AddRole(t.Context(), outsideRole)) // as a restore brings them back
	must(t, w.root.NewUser(t.Context(), outsideUser))
	must(t, w.root.GrantRole(t.Context(), outsideUser, outsideRole))
	w.now = w.now.Add(time.Minute)
	w.passes(enough, "team/shop")
	nothing(accessplan.ReasonNamespaceNotAllowed)
	w.allow(v1alpha1.ClientNamespace{Name: "team"})
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonGranted, "")
	if got := string(w.secret("team/shop-etcd").Data[resources.KeyCert]); got != was {
		t.Error("the certificate is another one, although nothing is wrong with it")
	}
}

func TestPrefixesOfANamespaceBoundWhatItsClientsGet(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, fromTeam, func(c *v1alpha1.EtcdClient) {
		c.Spec.Permissions = append(c.Spec.Permissions, v1alpha1.ClientPermission{Prefix: "billing/", Access: v1alpha1.AccessReadOnly})
	}))
	w.allow(v1alpha1.ClientNamespace{Name: "team"})
	w.passes(enough, "team/shop")
	w.may(outsideRole, prefix("billing", false), prefix("shop", true))
	w.allow(v1alpha1.ClientNamespace{Name: "team", Prefixes: []string{"shop/", "team/"}})
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonKeysNotAllowed, `"billing/"`)
	w.may(outsideRole, prefix("shop", true))
	w.has(outsideUser, outsideRole)
}

// Otherwise an EtcdClient of any namespace could keep a cluster's own clients from their users.
func TestAClientThatIsNotAllowedClaimsNoUser(t *testing.T) {
	same := func(c *v1alpha1.EtcdClient) { c.Spec.User = outsideUser }
	w := newWorld(t, aClient("shop", 60, fromTeam), aClient("own", 0, same))
	w.passes(enough, "team/shop", "own")
	w.is("own", accessplan.ReasonGranted, "")
	w.allow(v1alpha1.ClientNamespace{Name: "team"})
	w.passes(enough, "team/shop", "own")
	w.is("team/shop", accessplan.ReasonUserTaken, outsideUser)
	w.has(outsideUser, accessplan.RoleName("", "own", outsideUser))
	must(t, w.kube.Delete(t.Context(), w.client("own")))
	w.passes(enough, "own")
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonGranted, "")
}

func TestOfTwoNamespacesThatClaimOneUserTheOlderHasIt(t *testing.T) {
	same := func(c *v1alpha1.EtcdClient) { c.Spec.User = outsideUser }
	w := newWorld(t, aClient("shop", 60, fromTeam), aClient("own", 0, same))
	w.allow(v1alpha1.ClientNamespace{Name: "team"})
	w.passes(enough, "own", "team/shop")
	w.is("team/shop", accessplan.ReasonGranted, "")
	w.is("own", accessplan.ReasonUserClaimed, "shop of namespace team")
}

func TestAClusterInANamespaceThatTheOperatorDoesNotLookAfterIsTold(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, fromTeam))
	w.allow(v1alpha1.ClientNamespace{Name: "team"})
	w.operator.Watches = []string{"team"}
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonNamespaceNotWatched, "namespace prod")
	w.operator.Watches = []string{"prod", "team"}
	w.passes(enough, "team/shop")
	w.is("team/shop", accessplan.ReasonGranted, "")
}

func TestAChangeOfTheClusterIsNoticedByItsClientsInAllNamespaces(t *testing.T) {
	w := newWorld(t, aClient("shop", 0, fromTeam), aClient("own", 0), aClient("other", 0, func(c *v1alpha1.EtcdClient) { c.Namespace = "team" }))
	var names []string
	for _, request := range w.operator.lookAtClientsOf(t.Context(), demo()) {
		names = append(names, request.String())
	}
	if len(names) != 2 {
		t.Errorf("it asks for passes over %v", names)
	}
}
