package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// usersInEtcd are the users of an etcd, with their roles, and its roles with their rights.
type usersInEtcd struct {
	pb.UnimplementedAuthServer

	isOff, isForbidden bool
	users              map[string][]string
	roles              map[string][]*authpb.Permission
}

func (u *usersInEtcd) AuthStatus(context.Context, *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	if u.isForbidden {
		return nil, status.Error(codes.PermissionDenied, "etcdserver: permission denied")
	}
	return &pb.AuthStatusResponse{Enabled: !u.isOff}, nil
}

func (u *usersInEtcd) UserList(context.Context, *pb.AuthUserListRequest) (*pb.AuthUserListResponse, error) {
	return &pb.AuthUserListResponse{Users: keysOf(u.users)}, nil
}

func (u *usersInEtcd) UserGet(_ context.Context, r *pb.AuthUserGetRequest) (*pb.AuthUserGetResponse, error) {
	return &pb.AuthUserGetResponse{Roles: u.users[r.GetName()]}, nil
}

func (u *usersInEtcd) RoleList(context.Context, *pb.AuthRoleListRequest) (*pb.AuthRoleListResponse, error) {
	return &pb.AuthRoleListResponse{Roles: keysOf(u.roles)}, nil
}

func (u *usersInEtcd) RoleGet(_ context.Context, r *pb.AuthRoleGetRequest) (*pb.AuthRoleGetResponse, error) {
	return &pb.AuthRoleGetResponse{Perm: u.roles[r.GetRole()]}, nil
}

func keysOf[V any](all map[string]V) []string {
	var keys []string
	for key := range all {
		keys = append(keys, key)
	}
	return keys
}

// withClients is the cluster demo with two EtcdClients, one of which is not Ready, and with users of people.
func withClients(t *testing.T) (*etcds, *session) {
	t.Helper()
	e, s := startEtcds(t, v1alpha1.TLSManaged)
	e.users.users = map[string][]string{"root": {"root"}, "demo-client": {"root"}, "shop": {"etcdsteward.dev/shop/shop"},
		"ann": {"ops"}, "old": {"etcdsteward.dev/old/old"}}
	e.users.roles = map[string][]*authpb.Permission{"root": nil, "etcdsteward.dev/shop/shop": nil,
		"ops": {{PermType: authpb.READ, Key: []byte{0}, RangeEnd: []byte{0}}},
		"etcdsteward.dev/old/old": {{PermType: authpb.READWRITE, Key: []byte("old/"), RangeEnd: []byte("old0")},
			{PermType: authpb.READ, Key: []byte("etcdsteward.dev/password/0123")}}}
	expires := metav1.NewTime(noon.Add(272 * 24 * time.Hour))
	shop := clientOf("shop", "demo", metav1.ConditionTrue, accessplan.ReasonGranted, "The user shop has the rights of the spec, and the Secret shop-etcd its certificate.")
	shop.Spec.Permissions = append(shop.Spec.Permissions, v1alpha1.ClientPermission{Key: "settings/currency", Access: v1alpha1.AccessReadOnly})
	shop.Status.CertificateNotAfter = &expires
	ann := clientOf("billing", "demo", metav1.ConditionFalse, accessplan.ReasonUserTaken, "etcd has a user ann that the operator did not make for this EtcdClient.")
	ann.Spec.User = "ann"
	for _, c := range []*v1alpha1.EtcdClient{shop, ann, clientOf("other", "elsewhere", metav1.ConditionTrue, accessplan.ReasonGranted, "")} {
		if err := s.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return e, s
}

func clientOf(name, cluster string, ready metav1.ConditionStatus, reason, message string) *v1alpha1.EtcdClient {
	return &v1alpha1.EtcdClient{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name},
		Spec: v1alpha1.EtcdClientSpec{ClusterRef: v1alpha1.ClientClusterReference{Name: cluster},
			Permissions: []v1alpha1.ClientPermission{{Prefix: name + "/", Access: v1alpha1.AccessReadWrite}}},
		Status: v1alpha1.EtcdClientStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ClientReady, Status: ready, Reason: reason, Message: message}}}}
}

func whoMayIn(t *testing.T, s *session, args ...string) (whoMay, result) {
	t.Helper()
	got := plugin(t, s, append([]string{"access", "demo", "-o", "json"}, args...)...)
	var shown whoMay
	if err := json.Unmarshal([]byte(got.out), &shown); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return shown, got
}

func TestEachClientIsShownWithWhatItMayDoAndThoseWhomNoClientAccountsFor(t *testing.T) {
	_, s := withClients(t)
	shown, got := whoMayIn(t, s)
	if got.code != exitNotGranted || len(shown.Clients) != 2 || shown.NotAsked != "" {
		t.Fatalf("%+v", got)
	}
	shop := shown.Clients[1]
	if want := []string{"read and write shop/*", "read settings/currency"}; !slices.Equal(shop.May, want) || !shop.Ready || shop.Secret != "shop-etcd" {
		t.Errorf("%+v", shop)
	}
	var users, roles []string
	for _, u := range shown.Etcd.Users {
		users = append(users, u.Name+": "+u.Whose)
	}
	for _, r := range shown.Etcd.Roles {
		roles = append(roles, r.Name+": "+strings.Join(r.May, "; "))
	}
	if want := []string{"ann: people", "demo-client: all who have the Secret demo-client-tls", "old: left over from an EtcdClient that is gone", "root: the operator"}; !slices.Equal(users, want) {
		t.Errorf("users: %q", users)
	}
	if want := []string{"etcdsteward.dev/old/old: read and write old/*", "ops: read all keys", "root: everything"}; !slices.Equal(roles, want) {
		t.Errorf("roles: %q", roles)
	}
}

func TestWhereEtcdCannotBeAskedTheClientsAreShownAndWhyIsSaid(t *testing.T) {
	for name, row := range map[string]struct {
		given func(*etcds, *session)
		says  string
	}{
		"no member runs": {func(e *etcds, s *session) {
			for pod := range e.addresses {
				e.cut(s, podOf(pod, true))
			}
		}, "no member of EtcdCluster demo runs"},
		"no right to read the Secret": {func(_ *etcds, s *session) {
			s.WithWatch = interceptor.NewClient(s.WithWatch, refusing("get", schema.GroupResource{Resource: "secrets"}))
		}, "you may not get secrets in namespace prod"},
		"a user without the role root": {func(e *etcds, _ *session) { e.users.isForbidden = true },
			"etcd does not let the user demo-client read users and roles. Ask as the user root, with the right to get the Secret demo-operator-tls: `kubectl etcd-steward access demo -n prod --operator`."},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := withClients(t)
			row.given(e, s)
			shown, got := whoMayIn(t, s)
			if got.code != exitNotGranted || len(shown.Clients) != 2 || shown.Etcd != nil || !strings.Contains(shown.NotAsked, row.says) {
				t.Errorf("%+v", got)
			}
			text := plugin(t, s, "access", "demo")
			if !strings.Contains(text.out, "\nWho else is in etcd is not known: ") || !strings.Contains(text.out, row.says) {
				t.Errorf("%+v", text)
			}
		})
	}
}

func TestClientsOfNamespacesThatTheClusterAllowsAreShownAndThoseThatMayNotBeListedAreTold(t *testing.T) {
	e, s := withClients(t)
	c := &v1alpha1.EtcdCluster{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "prod", Name: "demo"}, c); err != nil {
		t.Fatal(err)
	}
	c.Spec.Access = &v1alpha1.AccessSpec{Namespaces: []v1alpha1.ClientNamespace{{Name: "team"}, {Name: "closed"}}}
	if err := s.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	cart := clientOf("cart", "demo", metav1.ConditionTrue, accessplan.ReasonGranted, "")
	cart.Namespace, cart.Spec.ClusterRef.Namespace = "team", "prod"
	namesake := clientOf("namesake", "demo", metav1.ConditionTrue, accessplan.ReasonGranted, "") // of a cluster of its own namespace
	namesake.Namespace = "team"
	for _, c := range []*v1alpha1.EtcdClient{cart, namesake} {
		if err := s.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	e.users.users["team.cart"], e.users.roles["etcdsteward.dev/team/cart/team.cart"] = []string{"etcdsteward.dev/team/cart/team.cart"}, nil
	e.users.users["closed.a"], e.users.roles["etcdsteward.dev/closed/a/closed.a"] = []string{"etcdsteward.dev/closed/a/closed.a"}, nil
	s.WithWatch = interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, under client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if (&client.ListOptions{}).ApplyOptions(o).Namespace == "closed" {
				return missingRight("list", schema.GroupResource{Group: v1alpha1.Group, Resource: "etcdclients"})
			}
			return under.List(ctx, list, o...)
		}})
	got := plugin(t, s, "access", "demo").out
	for _, want := range []string{"NAMESPACE  NAME ", "\n  team       cart     team.cart  ", "  prod/billing: etcd has a user ann",
		"\nEtcdClients of namespace closed are not shown: you may not list etcdclients.etcdsteward.dev in namespace closed",
		"an EtcdClient of namespace closed, unless that is gone"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if strings.Contains(got, "namesake") || strings.Contains(got, "etcdsteward.dev/team/cart") {
		t.Errorf("it shows what is another cluster's, or accounted for:\n%s", got)
	}
}

func TestTheRightToListClientsIsNamedAndAnUnknownClusterIsToo(t *testing.T) {
	_, s := withClients(t)
	if got := plugin(t, s, "access", "dmeo"); got.code != exitFailed || !strings.Contains(got.errOut, "The namespace has: demo") {
		t.Errorf("%+v", got)
	}
	s.WithWatch = interceptor.NewClient(s.WithWatch, refusing("list", schema.GroupResource{Group: v1alpha1.Group, Resource: "etcdclients"}))
	for _, args := range [][]string{{"access", "demo"}, {"access"}} {
		got := plugin(t, s, args...)
		if got.code != exitFailed || !strings.Contains(got.errOut, "you may not list etcdclients.etcdsteward.dev in namespace prod") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestWhileAuthenticationIsOffThePageSaysThatEachCertificateMayDoAll(t *testing.T) {
	e, s := withClients(t)
	e.users.isOff = true
	if got := plugin(t, s, "access", "demo").out; !strings.Contains(got, "every certificate of this cluster may read and write all keys") {
		t.Error(got)
	}
}

func TestWithoutANameTheClientsOfTheNamespaceAreShown(t *testing.T) {
	_, s := withClients(t)
	got := plugin(t, s, "access")
	for _, want := range []string{"NAME     CLUSTER    USER", "other    elsewhere  other", "\nNot ready:\n  billing: etcd has a user ann"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing: %+v", want, got)
		}
	}
	s.namespace = "empty"
	if got := plugin(t, s, "access"); got.code != 0 || got.out != "There is no EtcdClient in namespace empty.\n" {
		t.Errorf("%+v", got)
	}
}

func TestAClientThatTheOperatorHasNotLookedAtIsNotReady(t *testing.T) {
	c := clientOf("shop", "demo", metav1.ConditionTrue, accessplan.ReasonGranted, "")
	c.Generation = 2
	if row := clientRowOf(c); row.Ready || row.Message != isLate {
		t.Errorf("%+v", row)
	}
}

func TestWhatAClientTakesIsShownBesideItsQuotaWhereOneHasAQuota(t *testing.T) {
	_, s := startEtcds(t, v1alpha1.TLSManaged)
	if got := plugin(t, s, "access"); strings.Contains(got.out, "TAKES") {
		t.Errorf("without any quota: %s", got.out)
	}
	for name, change := range map[string]func(*v1alpha1.EtcdClientStatus){
		"over": func(s *v1alpha1.EtcdClientStatus) {
			s.Usage = &v1alpha1.MeasuredUsage{Bytes: 800 << 20, Keys: 7, Backup: "nightly"}
		},
		"small": func(s *v1alpha1.EtcdClientStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ClientWithinQuota, Status: metav1.ConditionTrue, Reason: accessplan.ReasonWithinQuota})
		},
		"free": func(*v1alpha1.EtcdClientStatus) {}, "new": func(*v1alpha1.EtcdClientStatus) {},
	} {
		c, quota := clientOf(name, "demo", metav1.ConditionTrue, accessplan.ReasonGranted, ""), resource.MustParse("8Mi")
		c.Spec.Quota = &quota
		change(&c.Status)
		if name == "free" {
			c.Spec.Quota = nil
		}
		if err := s.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got := plugin(t, s, "access")
	for _, line := range []string{"over .* 800Mi of 8Mi", "small .* within 8Mi", `new .* \? of 8Mi`, "free .* <none>"} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(got.out) {
			t.Errorf("want %s:\n%s", line, got.out)
		}
	}
}

func TestRightsAreSaidInWords(t *testing.T) {
	for want, rights := range map[string][]accessplan.Right{
		"":                                nil,
		"read a; write b":                 {{Key: "a", Read: true}, {Key: "b", Write: true}},
		"read and write a/*, b":           {{Key: "a/", End: "a0", Read: true, Write: true}, {Key: "b", Read: true, Write: true}},
		"read all keys":                   {{Key: "\x00", End: "\x00", Read: true}},
		"read all keys from m on":         {{Key: "m", End: "\x00", Read: true}},
		"read from a to before c":         {{Key: "a", End: "c", Read: true}},
		`read "a b"*`:                     {{Key: "a b", End: "a c", Read: true}},
		`read "\x1b[31m"`:                 {{Key: "\x1b[31m", Read: true}},
		`read from "\xff" to before "\n"`: {{Key: "\xff", End: "\n", Read: true}},
	} {
		if got := strings.Join(rightsInWords(rights), "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNoKeyOfACertificateIsShown(t *testing.T) {
	e, s := withClients(t)
	pair := e.issue(resources.ClientLeaf(e.cluster))
	for _, format := range []string{"text", "json", "yaml"} {
		got := plugin(t, s, "access", "demo", "-o", format)
		if strings.Contains(got.out+got.errOut, "PRIVATE KEY") || strings.Contains(got.out, strings.Split(string(pair.Key), "\n")[1]) {
			t.Errorf("-o %s prints a key", format)
		}
	}
}
