package observe_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	etcdfake "github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

func TestMembersAreAskedForAuthenticationOnlyWhereTheSpecOrTheRecordSpeaksOfIt(t *testing.T) {
	w := readRelease(t, filepath.Join("testdata", "released", "v0.1-three.yaml"))
	isAsked := func(c etcdfake.Call) bool { return c.Method == "Authentication" || c.Method == "Roles" }
	if o := w.look(); o.Auth != (facts.Auth{}) || slices.ContainsFunc(w.network.Calls(), isAsked) {
		t.Errorf("unasked it knows %+v", o.Auth)
	}
	w.cluster.Spec.Auth = &v1alpha1.AuthSpec{Enabled: true}
	if o := w.look(); o.Auth != (facts.Auth{Known: true}) || o.Desired.Auth != facts.AuthOn || o.Desired.ClientUser == "" {
		t.Errorf("asked for, without users, it sees %+v", o.Auth)
	}
	leader := w.clientOfLeader(t)
	for _, user := range []string{client.RootUser, w.look().Desired.ClientUser} {
		if err := leader.AddUser(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if o := w.look(); o.Auth.HasUsers {
			t.Errorf("%s has no role yet, and users are called complete", user)
		}
		if err := leader.GrantRole(t.Context(), user, client.RootRole); err != nil {
			t.Fatal(err)
		}
	}
	if o := w.look(); o.Auth != (facts.Auth{Known: true, HasUsers: true}) {
		t.Errorf("with its users it sees %+v", o.Auth)
	}
	w.cluster.Spec.Auth.Enabled = false
	if o := w.look(); o.Auth != (facts.Auth{Known: true}) || o.Desired.Auth != facts.AuthOff {
		t.Errorf("where the spec says that it is off it sees %+v", o.Auth)
	}
	w.network.Inject(etcdfake.Fault{Method: "Authentication", Nth: 1})
	if o := w.look(); o.Auth.Known || o.Auth.Why == "" {
		t.Errorf("without an answer it sees %+v", o.Auth)
	}
}

// clientOfLeader is who can make users.
func (w *world) clientOfLeader(t *testing.T) client.Client {
	t.Helper()
	for _, call := range w.network.Calls() {
		if call.Method == "MemberList" {
			c, err := w.network.Dialer().Dial(client.Endpoint{Address: call.Address})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	t.Fatal("no member was asked for the list")
	return nil
}
