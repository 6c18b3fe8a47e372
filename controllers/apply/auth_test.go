package apply

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/record"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/fake"
)

// rolesOf are those of a user, by the word of a member.
func (r *running) rolesOf(t *testing.T, user string) []string {
	t.Helper()
	roles, err := r.look(t).Clients["demo-0"].Roles(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

func TestUsersAreMadeHoweverOftenThatIsBegunAndStopsHalfway(t *testing.T) {
	for nth := 1; nth <= 6; nth++ {
		for _, method := range []string{"AddUser", "Roles", "GrantRole", ""} {
			r := newRunning(t)
			r.network.Inject(fake.Fault{Method: method, Nth: nth, After: nth%2 == 0})
			for range 3 {
				_ = r.do(t, r.look(t), changes.MakeUsers{})
			}
			r.mustDo(t, r.look(t), changes.MakeUsers{})
			for _, user := range []string{client.RootUser, "demo-client"} {
				if roles := r.rolesOf(t, user); !slices.Equal(roles, []string{client.RootRole}) {
					t.Errorf("%s has the roles %v after %q failed at call %d", user, roles, method, nth)
				}
			}
		}
	}
}

// withRole is a member that says which role a user has, and counts what is granted.
type withRole struct {
	client.Client
	role    map[string]string
	granted *[]string
}

func (w withRole) Roles(_ context.Context, user string) ([]string, error) {
	return []string{w.role[user]}, nil
}

func (w withRole) GrantRole(_ context.Context, user, role string) error {
	*w.granted = append(*w.granted, user+" "+role)
	return nil
}

func TestAUserOfClientsThatHasARoleStaysAsItIsAndRootGetsWhatItNeeds(t *testing.T) {
	r := newRunning(t)
	seen := r.look(t)
	var granted []string
	for name, c := range seen.Clients {
		seen.Clients[name] = withRole{c, map[string]string{client.RootUser: "guest", "demo-client": "shop"}, &granted}
	}
	r.mustDo(t, seen, changes.MakeUsers{})
	if !slices.Equal(granted, []string{"root root"}) {
		t.Errorf("it grants %v", granted)
	}
}

func TestEveryVoterIsAskedBeforeAuthenticationIsTurnedOn(t *testing.T) {
	r := newRunning(t)
	r.mustDo(t, r.look(t), changes.MakeUsers{})
	seen := r.look(t)
	before := len(r.network.Calls())
	r.mustDo(t, seen, changes.EnableAuth{})
	asked := map[string]bool{}
	for _, call := range r.network.Calls()[before:] {
		if call.Method == "EnableAuthentication" {
			break
		}
		asked[call.Address] = call.Method == "Authentication"
	}
	if !asked["demo-0"] || !asked["demo-1"] || !asked["demo-2"] {
		t.Errorf("these were asked before: %v", asked)
	}
	if _, err := seen.Clients["demo-0"].Authentication(t.Context()); !client.IsAuth(err) {
		t.Errorf("it is not on: without a certificate etcd answers %v", err)
	}
}

func TestAuthenticationIsNotTurnedOnWhereAVoterDoesNotAnswerOrUsersAreGone(t *testing.T) {
	r := newRunning(t)
	if err := r.do(t, r.look(t), changes.EnableAuth{}); err == nil {
		t.Error("without users it is turned on")
	}
	r.mustDo(t, r.look(t), changes.MakeUsers{})
	seen := r.look(t)
	delete(seen.Clients, "demo-2")
	var later Later
	if err := r.do(t, seen, changes.EnableAuth{}); !errors.As(err, &later) {
		t.Errorf("without the word of demo-2: %v", err)
	}
	r.mustDo(t, r.look(t), changes.DisableAuth{})
	if known, err := r.look(t).Clients["demo-0"].Authentication(t.Context()); err != nil || known.Enabled {
		t.Errorf("%+v, %v", known, err)
	}
}

func TestThatAuthenticationIsOnForTheSpecIsWrittenIntoTheRecordAndTakenBack(t *testing.T) {
	w := newWorld(t, demo())
	wholeCluster(t, w)
	for _, own := range []bool{true, true, false, false} {
		w.mustDo(t, bootstrapped(), changes.OwnAuth{Own: own})
		text := w.service(t, resources.PeerService("demo")).Annotations[v1alpha1.AnnotationBootstrap]
		if b, err := record.DecodeBootstrap(text); err != nil || b.Auth != own {
			t.Errorf("it says %v, %v", b.Auth, err)
		}
	}
}
