package fake

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// applyRole does the same as apply with what is not of users alone.
func (a *auth) applyRole(e entry) bool {
	switch e.kind {
	case entryNoUser:
		delete(a.users, e.name)
		delete(a.passwords, e.name)
	case entryRole:
		a.roles[e.role] = nil
	case entryNoRole:
		delete(a.roles, e.role)
		for user, roles := range a.users {
			a.users[user] = slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return role == e.role })
		}
	case entryPermit, entryForbid:
		others := slices.DeleteFunc(slices.Clone(a.roles[e.role]), e.permits.SameKeys)
		if e.kind == entryPermit {
			others = append(others, e.permits)
		}
		slices.SortFunc(others, func(x, y client.Permission) int {
			return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.End, y.End))
		})
		a.roles[e.role] = others
	default:
		return false
	}
	return true
}

func (a auth) has(role string) bool {
	_, isThere := a.roles[role]
	return isThere
}

func (c *conn) NewUser(ctx context.Context, user string) error {
	return c.newUser(ctx, "NewUser", entry{kind: entryUser, name: user})
}

func (c *conn) NewUserWithPassword(ctx context.Context, user, password string) error {
	return c.newUser(ctx, "NewUserWithPassword", entry{kind: entryUser, name: user, password: password})
}

func (c *conn) newUser(ctx context.Context, method string, e entry) error {
	return do(ctx, c, method, func(p *Process) error {
		if _, isThere := p.state().auth.users[e.name]; isThere {
			return client.ErrUserExists
		}
		return c.network.commit(p, e)
	})
}

func (c *conn) ChangePassword(ctx context.Context, user, password string) error {
	return do(ctx, c, "ChangePassword", func(p *Process) error {
		if _, isThere := p.state().auth.users[user]; !isThere {
			return client.ErrUserNotFound
		}
		return c.network.commit(p, entry{kind: entryPassword, name: user, password: password})
	})
}

// Password is that of a user; empty where it has none.
func (p *Process) Password(user string) string {
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	return p.state().auth.passwords[user]
}

func (c *conn) DeleteUser(ctx context.Context, user string) error {
	return do(ctx, c, "DeleteUser", func(p *Process) error {
		if err := c.network.readable(p); err != nil {
			return err
		}
		if _, isThere := p.state().auth.users[user]; !isThere {
			return client.ErrUserNotFound
		}
		return c.network.commit(p, entry{kind: entryNoUser, name: user})
	})
}

func (c *conn) RoleNames(ctx context.Context) ([]string, error) {
	return answer(ctx, c, "RoleNames", func(p *Process) ([]string, error) {
		if err := c.network.readable(p); err != nil {
			return nil, err
		}
		return slices.Sorted(maps.Keys(p.state().auth.roles)), nil
	})
}

func (c *conn) Permissions(ctx context.Context, role string) ([]client.Permission, error) {
	return answer(ctx, c, "Permissions", func(p *Process) ([]client.Permission, error) {
		if err := c.network.readable(p); err != nil {
			return nil, err
		}
		state := p.state().auth
		if !state.has(role) {
			return nil, client.ErrRoleNotFound
		}
		return slices.Clone(state.roles[role]), nil
	})
}

func (c *conn) AddRole(ctx context.Context, role string) error {
	return c.changeRole(ctx, "AddRole", entry{kind: entryRole, role: role}, func(a auth) bool { return !a.has(role) })
}

func (c *conn) DeleteRole(ctx context.Context, role string) error {
	isThere := func(a auth) bool { return a.has(role) }
	return c.changeRole(ctx, "DeleteRole", entry{kind: entryNoRole, role: role}, isThere)
}

func (c *conn) GrantPermission(ctx context.Context, role string, permission client.Permission) error {
	return do(ctx, c, "GrantPermission", func(p *Process) error {
		state := p.state().auth
		if !state.has(role) {
			return rpctypes.ErrRoleNotFound
		}
		return c.network.commit(p, entry{kind: entryPermit, role: role, permits: permission})
	})
}

func (c *conn) RevokePermission(ctx context.Context, role string, permission client.Permission) error {
	return c.changeRole(ctx, "RevokePermission", entry{kind: entryForbid, role: role, permits: permission},
		func(a auth) bool { return slices.ContainsFunc(a.roles[role], permission.SameKeys) })
}

// changeRole changes what has to be changed; otherwise it only proves that a quorum answers.
func (c *conn) changeRole(ctx context.Context, method string, e entry, isDue func(auth) bool) error {
	return do(ctx, c, method, func(p *Process) error {
		if err := c.network.readable(p); err != nil {
			return err
		}
		if !isDue(p.state().auth) {
			return nil
		}
		return c.network.commit(p, e)
	})
}
