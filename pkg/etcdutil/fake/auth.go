package fake

import (
	"context"
	"crypto/tls"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// Authentication. A client is the user that its certificate names. Keys are not played here, so that permissions are
// held and never asked.

// auth is what a log says of users, by their names with their roles, and of roles with their permissions.
type auth struct {
	client.Authentication
	users     map[string][]string
	passwords map[string]string // of the users that have one
	roles     map[string][]client.Permission
}

// apply changes users as etcd does: only what changes one, or turns authentication off, raises the revision
// (etcd-io/etcd:server/auth/store.go).
func (a *auth) apply(e entry) {
	switch e.kind {
	case entryUser:
		a.users[e.name] = nil
		if e.password != "" {
			a.passwords[e.name] = e.password
		}
	case entryPassword:
		if a.passwords[e.name] != "" { // etcd stores none for a user that was made without
			a.passwords[e.name] = e.password
		}
	case entryGrant:
		a.users[e.name] = append(a.users[e.name], e.role)
	case entryAuth:
		wasOn := a.Enabled
		a.Enabled = e.enabled
		if e.enabled || !wasOn {
			return
		}
	default:
		if !a.applyRole(e) {
			return
		}
	}
	a.Revision++
}

// servedBesides are the calls that etcd serves beside gRPC, to any client.
var servedBesides = []string{"ClusterVersion", "SnapshotsSaved", "Compacted", "StreamsSnapshot"}

// permits lets none but root in, once authentication is on. What etcd lets others do is in package contract.
func (c *conn) permits(p *Process, method string) error {
	known := p.state().auth
	user := commonName(c.endpoint.TLS)
	switch {
	case !known.Enabled || slices.Contains(servedBesides, method):
		return nil
	case user == "":
		return rpctypes.ErrUserEmpty
	case !slices.Contains(known.users[user], client.RootRole):
		return rpctypes.ErrPermissionDenied
	}
	return nil
}

func commonName(config *tls.Config) string {
	if config == nil || len(config.Certificates) == 0 || config.Certificates[0].Leaf == nil {
		return ""
	}
	return config.Certificates[0].Leaf.Subject.CommonName
}

func (c *conn) Authentication(ctx context.Context) (client.Authentication, error) {
	return answer(ctx, c, "Authentication", func(p *Process) (client.Authentication, error) {
		if err := c.network.readable(p); err != nil {
			return client.Authentication{}, err
		}
		return p.state().auth.Authentication, nil
	})
}

func (c *conn) Roles(ctx context.Context, user string) ([]string, error) {
	return answer(ctx, c, "Roles", func(p *Process) ([]string, error) {
		if err := c.network.readable(p); err != nil {
			return nil, err
		}
		roles, isUser := p.state().auth.users[user]
		if !isUser {
			return nil, client.ErrUserNotFound
		}
		return roles, nil
	})
}

func (c *conn) AddUser(ctx context.Context, user string) error {
	return do(ctx, c, "AddUser", func(p *Process) error {
		if err := c.network.readable(p); err != nil {
			return err
		}
		if _, isThere := p.state().auth.users[user]; isThere {
			return nil
		}
		return c.network.commit(p, entry{kind: entryUser, name: user})
	})
}

func (c *conn) GrantRole(ctx context.Context, user, role string) error {
	return do(ctx, c, "GrantRole", func(p *Process) error {
		roles, isUser := p.state().auth.users[user]
		switch {
		case !isUser:
			return client.ErrUserNotFound
		case role != client.RootRole && !p.state().auth.has(role): // that one need not be made first
			return rpctypes.ErrRoleNotFound
		case slices.Contains(roles, role):
			return nil
		}
		return c.network.commit(p, entry{kind: entryGrant, name: user, role: role})
	})
}

func (c *conn) EnableAuthentication(ctx context.Context) error {
	return do(ctx, c, "EnableAuthentication", func(p *Process) error {
		roles, isUser := p.state().auth.users[client.RootUser]
		switch {
		case !isUser:
			return client.ErrRootUserNotExist
		case !slices.Contains(roles, client.RootRole):
			return client.ErrRootRoleNotExist
		}
		return c.network.commit(p, entry{kind: entryAuth, enabled: true})
	})
}

func (c *conn) DisableAuthentication(ctx context.Context) error {
	return do(ctx, c, "DisableAuthentication", func(p *Process) error {
		return c.network.commit(p, entry{kind: entryAuth})
	})
}
