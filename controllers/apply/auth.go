package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// makeUsers makes the operator's user and that of the clients' Secret. One that has a role stays as it is, but for the
// operator's: it needs the role root. Between any two of these calls authentication is off, so none of them is missed.
func (s step) makeUsers(ctx context.Context, leader client.Client) error {
	for _, user := range []string{client.RootUser, resources.ClientUser(s.cluster.Name)} {
		if err := leader.AddUser(ctx, user); err != nil {
			return err
		}
		roles, err := leader.Roles(ctx, user)
		if err != nil {
			return err
		}
		isFit := len(roles) > 0 && (user != client.RootUser || slices.Contains(roles, client.RootRole))
		if isFit {
			continue
		}
		if err := leader.GrantRole(ctx, user, client.RootRole); err != nil {
			return err
		}
	}
	return nil
}

// enableAuth asks every voter first: each answers once it knows the users. One that lagged would judge what its clients
// write by older ones, and it would be refused.
func (s step) enableAuth(ctx context.Context) error {
	for _, r := range s.view.Current.Voters() {
		voter, answers := s.view.Clients[r.Name]
		if !answers {
			return Later{Reason: LaterNoLeader, Message: fmt.Sprintf("%s did not answer", r.Name)}
		}
		err := s.whileLeading(ctx, func(ctx context.Context) error {
			_, err := voter.Authentication(ctx)
			return err
		})
		if err != nil {
			return etcdError(err, "asking "+r.Name+" whether it knows the users")
		}
	}
	err := s.askLeader(ctx, "turning authentication on", func(ctx context.Context, leader client.Client) error {
		return leader.EnableAuthentication(ctx)
	})
	if errors.Is(err, client.ErrRootUserNotExist) || errors.Is(err, client.ErrRootRoleNotExist) {
		return ErrStale
	}
	return err
}
