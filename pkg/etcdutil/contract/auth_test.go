package contract

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// Who may do what once authentication is on. A client is the user that its certificate names.
const (
	anyone = "a certificate of no user"
	aUser  = "a user without the role root"
	root   = "the role root"
)

// rights is who may make each call of the operator and its agents: that of the snapshot is the agent's own.
var rights = []right{
	{"Status", anyone, func(p *play, c client.Client) error { return second(c.Status(p.Context())) }},
	{"MemberList", anyone, func(p *play, c client.Client) error { return second(c.MemberList(p.Context())) }},
	{"MemberListSerializable", anyone, func(p *play, c client.Client) error {
		return second(c.MemberListSerializable(p.Context()))
	}},
	{"AppendEntry", anyone, func(p *play, c client.Client) error { return c.AppendEntry(p.Context()) }},

	// Served beside gRPC.
	{"ClusterVersion", anyone, func(p *play, c client.Client) error { return second(c.ClusterVersion(p.Context())) }},
	{"SnapshotsSaved", anyone, func(p *play, c client.Client) error { return second(c.SnapshotsSaved(p.Context())) }},
	{"Compacted", anyone, func(p *play, c client.Client) error { return second(c.Compacted(p.Context())) }},
	{"StreamsSnapshot", anyone, func(p *play, c client.Client) error { return second(c.StreamsSnapshot(p.Context())) }},

	// Keys of the operator's own, that no role of people is for.
	{"ReadLinearizable", root, func(p *play, c client.Client) error { return c.ReadLinearizable(p.Context()) }},
	{"HoldsKeys", root, func(p *play, c client.Client) error { return second(c.HoldsKeys(p.Context(), 0)) }},

	{"HashKV", root, func(p *play, c client.Client) error { return second(c.HashKV(p.Context(), 0)) }},
	{"SizeInUse", root, func(p *play, c client.Client) error { return second(c.SizeInUse(p.Context())) }},
	{"Compact", root, func(p *play, c client.Client) error { return c.Compact(p.Context(), 1) }},
	{"Defragment", root, func(p *play, c client.Client) error { return c.Defragment(p.Context()) }},
	{"MoveLeader", root, func(p *play, c client.Client) error { return c.MoveLeader(p.Context(), 1) }},
	{"DisarmAlarm", root, func(p *play, c client.Client) error {
		return c.DisarmAlarm(p.Context(), 1, etcdutil.AlarmNoSpace)
	}},
	{"AddLearner", root, func(p *play, c client.Client) error {
		return second(c.AddLearner(p.Context(), "http://127.0.0.1:1"))
	}},
	{"Promote", root, func(p *play, c client.Client) error { return c.Promote(p.Context(), 1) }},
	{"Remove", root, func(p *play, c client.Client) error { return c.Remove(p.Context(), 1) }},
	{"EnableDowngrade", root, func(p *play, c client.Client) error {
		return c.EnableDowngrade(p.Context(), etcdutil.Version{Major: 3, Minor: 1})
	}},
	{"CancelDowngrade", root, func(p *play, c client.Client) error { return c.CancelDowngrade(p.Context()) }},

	// From 3.7 on anyone may ask whether authentication is on: see askedByAnyone.
	{authentication, root, func(p *play, c client.Client) error { return second(c.Authentication(p.Context())) }},
	{"Roles", root, func(p *play, c client.Client) error { return second(c.Roles(p.Context(), client.RootUser)) }},
	{"AddUser", root, func(p *play, c client.Client) error { return c.AddUser(p.Context(), "added") }},
	{"GrantRole", root, func(p *play, c client.Client) error { return c.GrantRole(p.Context(), "app", "app") }},
	{"NewUser", root, func(p *play, c client.Client) error { return c.NewUser(p.Context(), "new") }},
	{"NewUserWithPassword", root, func(p *play, c client.Client) error {
		return c.NewUserWithPassword(p.Context(), "newer", "secret")
	}},
	{"ChangePassword", root, func(p *play, c client.Client) error { return c.ChangePassword(p.Context(), "newer", "other") }},
	{"DeleteUser", root, func(p *play, c client.Client) error { return c.DeleteUser(p.Context(), "new") }},
	{"RoleNames", root, func(p *play, c client.Client) error { return second(c.RoleNames(p.Context())) }},
	{"Permissions", root, func(p *play, c client.Client) error { return second(c.Permissions(p.Context(), client.RootRole)) }},
	{"AddRole", root, func(p *play, c client.Client) error { return c.AddRole(p.Context(), "new") }},
	{"DeleteRole", root, func(p *play, c client.Client) error { return c.DeleteRole(p.Context(), "new") }},
	{"GrantPermission", root, func(p *play, c client.Client) error {
		return c.GrantPermission(p.Context(), "app", client.Permission{Key: "app", Read: true})
	}},
	{"RevokePermission", root, func(p *play, c client.Client) error {
		return c.RevokePermission(p.Context(), "app", client.Permission{Key: "app"})
	}},
	{"EnableAuthentication", root, func(p *play, c client.Client) error { return c.EnableAuthentication(p.Context()) }},
	{"DisableAuthentication", root, func(p *play, c client.Client) error { return c.DisableAuthentication(p.Context()) }},
}

// right says who may make a call of the operator.
type right struct {
	call string
	who  string
	make func(p *play, c client.Client) error
}

const (
	authentication = "Authentication"
	askedByAnyone  = "3.7.3"
)

func second[T any](_ T, err error) error { return err }

func TestWhoMayMakeEachCallOnceAuthenticationIsOn(t *testing.T) {
	for _, version := range needs.AllReleases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, w := withUsers(t, version, "a")
			p.startAll("a")
			p.turnOn("a")
			p.addRole(w.clientOf(client.RootUser, "a"), "app")
			levels := map[string]client.Client{anyone: w.operatorAs("stranger", "a"), aUser: w.operatorAs("app", "a"),
				root: w.operatorAs(client.RootUser, "a")}
			for _, r := range rights {
				want := r.who
				if r.call == authentication && version == askedByAnyone {
					want = anyone
				}
				if least := p.leastFor(func(who string) error { return r.make(p, levels[who]) }); least != want {
					t.Errorf("%s needs %s, want %s", r.call, least, want)
				}
			}
		})
	}
}

// leastFor is who is let in first, from the least to the most.
func (p *play) leastFor(call func(who string) error) string {
	p.Helper()
	for _, who := range []string{anyone, aUser, root} {
		if err := call(who); !client.IsAuth(err) {
			return who
		}
	}
	return "more than the role root"
}

func TestASnapshotNeedsTheRoleRootOnceAuthenticationIsOn(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		p.addRole(w.clientOf(client.RootUser, "a"), "app")
		for user, mayRead := range map[string]bool{"stranger": false, "app": false, client.RootUser: true} {
			stream, err := w.clientOf(user, "a").Snapshot(t.Context())
			if err == nil {
				_, err = io.Copy(io.Discard, stream)
			}
			if client.IsAuth(err) == mayRead || mayRead && err != nil {
				t.Errorf("%s reads a snapshot: %v", user, err)
			}
		}
	})
}

func TestWhileAuthenticationIsOnTheOperatorsUserCannotBeTakenAway(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		c := w.clientOf(client.RootUser, "a")
		_, deleting := c.UserDelete(t.Context(), client.RootUser)
		_, revoking := c.UserRevokeRole(t.Context(), client.RootUser, client.RootRole)
		_, undoing := c.RoleDelete(t.Context(), client.RootRole)
		for what, err := range map[string]error{"deleting root": deleting, "revoking its role": revoking, "deleting the role": undoing} {
			if !errors.Is(err, rpctypes.ErrInvalidAuthMgmt) {
				t.Errorf("%s: %v", what, err)
			}
		}
		// A password that people give it does not keep its certificate out.
		_, err := c.UserAdd(t.Context(), "admin", "secret")
		must(t, err)
		p.accepted(func() error { return second(c.UserGrantRole(t.Context(), "admin", client.RootRole)) })
		p.accepted(func() error { return second(p.dial("a").Authentication(t.Context())) })
	})
}

// The gateway, which speaks JSON, serves none of the operator's certificates with a name. All else that is served beside
// gRPC goes on.
func TestTheGatewayServesNoNamedCertificateOnceAuthenticationIsOn(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, w := withUsers(t, version, "a")
			p.startAll("a")
			g := gateway{t, w.users.as(client.RootUser), w.address("a")}
			ask := func() (int, string) { return g.post("", "kv/range", `{"key":"a2V5"}`) }
			if code, text := ask(); code != http.StatusOK {
				t.Errorf("before: %d %s", code, text)
			}
			p.turnOn("a")
			if code, text := ask(); code != http.StatusBadRequest || !strings.Contains(text, "CommonName of client") {
				t.Errorf("with root's certificate it answers %d %s", code, text)
			}
		})
	}
}

func TestAMemberJoinsAClusterWhoseAuthenticationIsOn(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, w := withUsers(t, version, "a", "b")
			p.startAll("a")
			p.turnOn("a")
			id := p.grow("a", "b", "a")
			if _, err := p.dial("b").Authentication(t.Context()); !errors.Is(err, client.ErrLearnerRefuses) {
				t.Errorf("a learner says of authentication %v", err)
			}
			p.accepted(p.promoting("a", id))
			p.until("the new voter knows that it is on", func() bool {
				known, err := p.dial("b").Authentication(t.Context())
				return err == nil && known.Enabled
			})
			if _, err := w.operatorAs("stranger", "b").HashKV(t.Context(), 0); !client.IsAuth(err) {
				t.Errorf("the new voter lets a stranger in: %v", err)
			}
			p.accepted(p.removing("a", id))
		})
	}
}

func TestAuthenticationStaysOnThroughTheNextMinor(t *testing.T) {
	needs.Full(t, "another minor reads users as the last one wrote them")
	for i, version := range needs.AllReleases[1:] {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, _ := withUsers(t, needs.AllReleases[i], "a")
			p.startAll("a")
			p.turnOn("a")
			p.stop("a")
			p.start(sealed("a").of(version))
			p.serving("a")
			known, err := p.dial("a").Authentication(t.Context())
			if err != nil || !known.Enabled {
				t.Errorf("%s says %+v, %v", version, known, err)
			}
		})
	}
}

var authScenarios = []scenario{
	{"authentication is turned on only once root is there, and keeps strangers out until it is turned off", func(p *play) {
		p.startAll("a")
		ctx, c := p.Context(), p.dial("a")
		begun, err := c.Authentication(ctx)
		must(p, err)
		p.refused(client.ErrUserNotFound, func() error { return second(c.Roles(ctx, client.RootUser)) })
		p.refused(client.ErrRootUserNotExist, func() error { return c.EnableAuthentication(ctx) })
		p.accepted(func() error { return c.AddUser(ctx, client.RootUser) })
		p.accepted(func() error { return c.AddUser(ctx, client.RootUser) })
		p.refused(client.ErrRootRoleNotExist, func() error { return c.EnableAuthentication(ctx) })
		p.accepted(func() error { return c.GrantRole(ctx, client.RootUser, client.RootRole) })
		p.accepted(func() error { return c.GrantRole(ctx, client.RootUser, client.RootRole) })
		roles, err := c.Roles(ctx, client.RootUser)
		must(p, err)
		known, err := c.Authentication(ctx)
		must(p, err)
		if known.Enabled || known.Revision != begun.Revision+2 || !slices.Equal(roles, []string{client.RootRole}) {
			p.Errorf("at first %+v, then %+v with the roles %v", begun, known, roles)
		}
		p.accepted(func() error { return c.DisableAuthentication(ctx) })
		p.accepted(func() error { return c.EnableAuthentication(ctx) })
		if err := c.ReadLinearizable(ctx); !client.IsAuth(err) {
			p.Errorf("without a certificate a read is answered %v", err)
		}
	}},
}

// turnOn makes the user of the operator, and turns authentication on.
func (p *play) turnOn(asked string) {
	p.Helper()
	c := p.dial(asked)
	p.accepted(func() error { return c.AddUser(p.Context(), client.RootUser) })
	p.accepted(func() error { return c.GrantRole(p.Context(), client.RootUser, client.RootRole) })
	p.accepted(func() error { return c.EnableAuthentication(p.Context()) })
}

// role makes a user who may read and write below a prefix of its own name.
func (p *play) addRole(c *clientv3.Client, name string) {
	p.Helper()
	_, err := c.RoleAdd(p.Context(), name)
	must(p, err)
	_, err = c.RoleGrantPermission(p.Context(), name, name+"/", clientv3.GetPrefixRangeEnd(name+"/"), clientv3.PermissionType(clientv3.PermReadWrite))
	must(p, err)
	_, err = c.UserAddWithOptions(p.Context(), name, "", &clientv3.UserAddOptions{NoPassword: true})
	must(p, err)
	_, err = c.UserGrantRole(p.Context(), name, name)
	must(p, err)
}
