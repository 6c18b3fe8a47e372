package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

func below(prefix string, write bool) client.Permission {
	return client.Permission{Key: prefix, End: clientv3.GetPrefixRangeEnd(prefix), Read: true, Write: write}
}

func (p *play) has(c client.Client, role string, want ...client.Permission) {
	p.Helper()
	got, err := c.Permissions(p.Context(), role)
	must(p, err)
	slices.SortFunc(got, func(a, b client.Permission) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.End, b.End)) })
	if !slices.Equal(got, want) {
		p.Errorf("the role %s has %+v, want %+v", role, got, want)
	}
}

func (p *play) givenTo(c client.Client, user string, want ...string) {
	p.Helper()
	got, err := c.Roles(p.Context(), user)
	must(p, err)
	if !slices.Equal(got, want) {
		p.Errorf("%s has the roles %v, want %v", user, got, want)
	}
}

var roleScenarios = []scenario{
	{"a role is made, given rights, and goes from its users when it is deleted", func(p *play) {
		p.startAll("a")
		ctx, c := p.Context(), p.dial("a")
		p.refused(client.ErrRoleNotFound, func() error { return second(c.Permissions(ctx, "app")) })
		for range 2 {
			p.accepted(func() error { return c.AddRole(ctx, "app") })
			p.accepted(func() error { return c.GrantPermission(ctx, "app", below("app/", true)) })
		}
		p.accepted(func() error { return c.GrantPermission(ctx, "app", client.Permission{Key: "zone", Read: true}) })
		p.has(c, "app", below("app/", true), client.Permission{Key: "zone", Read: true})
		p.accepted(func() error { return c.GrantPermission(ctx, "app", below("app/", false)) })
		p.has(c, "app", below("app/", false), client.Permission{Key: "zone", Read: true})
		for range 2 {
			p.accepted(func() error { return c.RevokePermission(ctx, "app", below("app/", true)) })
		}
		p.has(c, "app", client.Permission{Key: "zone", Read: true})
		p.accepted(func() error { return c.NewUser(ctx, "shop") })
		p.refused(client.ErrUserExists, func() error { return c.NewUser(ctx, "shop") })
		p.accepted(func() error { return c.GrantRole(ctx, "shop", "app") })
		p.givenTo(c, "shop", "app")
		for range 2 {
			p.accepted(func() error { return c.DeleteRole(ctx, "app") })
		}
		p.givenTo(c, "shop")
		names, err := c.RoleNames(ctx)
		must(p, err)
		if slices.Contains(names, "app") {
			p.Errorf("there are the roles %v", names)
		}
		p.accepted(func() error { return c.DeleteUser(ctx, "shop") })
		p.refused(client.ErrUserNotFound, func() error { return c.DeleteUser(ctx, "shop") })
		p.refused(client.ErrUserNotFound, func() error { return second(c.Roles(ctx, "shop")) })
	}},
}

// etcd finds the right to change by its first key alone. Beside another right with that first key it may add a second one
// to the same keys, and the wider one stays. To take a right away is sure: all to those keys go.
func TestARightThatIsMadeNarrowerBesideOneWithTheSameFirstKeyMayStayUntilItIsTakenAway(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		ctx, c := t.Context(), w.operatorAs(client.RootUser, "a")
		must(t, c.AddRole(ctx, "app"))
		must(t, c.GrantPermission(ctx, "app", client.Permission{Key: "app/", Read: true}))
		for _, write := range []bool{true, false} {
			must(t, c.GrantPermission(ctx, "app", below("app/", write)))
		}
		must(t, c.RevokePermission(ctx, "app", below("app/", false)))
		must(t, c.GrantPermission(ctx, "app", below("app/", false)))
		p.has(c, "app", client.Permission{Key: "app/", Read: true}, below("app/", false))
	})
}

func TestACertificateIsRefusedAtOnceWhenItsUserIsDeleted(t *testing.T) {
	withAuthenticationOn(t, func(t *testing.T, p *play, w *realWorld) {
		ctx, c := t.Context(), w.operatorAs(client.RootUser, "a")
		must(t, c.AddRole(ctx, "app"))
		must(t, c.GrantPermission(ctx, "app", below("app/", true)))
		must(t, c.NewUser(ctx, "shop"))
		must(t, c.GrantRole(ctx, "shop", "app"))
		shop := w.clientOf("shop", "a")
		must(t, second(shop.Put(ctx, "app/1", "value")))
		if err := second(shop.Put(ctx, "apple", "value")); !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("outside its prefix it writes: %v", err)
		}
		must(t, c.DeleteUser(ctx, "shop"))
		if err := second(shop.Get(ctx, "app/1")); !client.IsAuth(err) {
			t.Errorf("a certificate of no user reads: %v", err)
		}
	})
}

// The passes over clients run beside each other. What one changes of users makes no request of another fail, as it would a
// request for keys: etcd asks only whether who changes users is root.
func TestMakingManyUsersAtOnceIsNeverRefused(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			members := []string{"a", "b", "c"}
			p, w := withUsers(t, version, members...)
			p.startAll(members...)
			p.turnOn("a")
			c := w.operatorAs(client.RootUser, "a")
			var group sync.WaitGroup
			for worker := range 4 {
				group.Go(func() {
					for i := range 16 {
						if err := makeOne(t.Context(), c, fmt.Sprintf("app-%d-%d", worker, i)); err != nil {
							t.Errorf("it is refused: %v", err)
							return
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// makeOne makes the requests that an EtcdClient costs from nothing to settled.
func makeOne(ctx context.Context, c client.Client, name string) error {
	right := below(name+"/", true)
	steps := []func() error{
		func() error { return c.AddRole(ctx, name) },
		func() error { return c.GrantPermission(ctx, name, right) },
		func() error { return c.GrantPermission(ctx, name, client.Permission{Key: "mark", Read: true}) },
		func() error { return c.NewUser(ctx, name) },
		func() error { return c.GrantRole(ctx, name, name) },
		func() error { return c.RevokePermission(ctx, name, client.Permission{Key: "mark", Read: true}) },
	}
	for _, step := range steps {
		if _, err := c.Permissions(ctx, name); err != nil && !errors.Is(err, client.ErrRoleNotFound) {
			return err
		}
		if _, err := c.Roles(ctx, name); err != nil && !errors.Is(err, client.ErrUserNotFound) {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
