package observe

import (
	"context"
	"errors"
	"slices"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

func authWish(cluster *v1alpha1.EtcdCluster) facts.AuthWish {
	switch asked := cluster.Spec.Auth; {
	case asked == nil:
		return facts.AuthAsItIs
	case asked.Enabled:
		return facts.AuthOn
	}
	return facts.AuthOff
}

// addAuth asks the leader how authentication stands, where the planner has to know: each answer is an entry of raft's
// log. It asks for users only before authentication is turned on.
func (o *Observer) addAuth(ctx context.Context, s survey, seen *facts.Observation) {
	leader := s.clients[seen.Current.Leader().Name]
	switch {
	case o.AsksNoHashes || !seen.MustKnowAuth() || !seen.Current.Membership.Known:
		return
	case leader == nil:
		seen.Auth.Why = "no leader answers"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	says, err := leader.Authentication(ctx)
	hasUsers := false
	if err == nil && !says.Enabled && seen.Desired.Auth == facts.AuthOn {
		hasUsers, err = hasUsersFor(ctx, leader, seen.Desired.ClientUser)
	}
	if err != nil {
		seen.Auth.Why = err.Error()
		return
	}
	seen.Auth = facts.Auth{Known: true, On: says.Enabled, HasUsers: hasUsers}
}

// hasUsersFor reports that the operator may do everything, and that the user of clients has a role: which one is for
// people to say.
func hasUsersFor(ctx context.Context, leader etcd.Client, clients string) (bool, error) {
	for _, user := range []string{etcd.RootUser, clients} {
		roles, err := leader.Roles(ctx, user)
		switch {
		case errors.Is(err, etcd.ErrUserNotFound):
			return false, nil
		case err != nil:
			return false, err
		case len(roles) == 0, user == etcd.RootUser && !slices.Contains(roles, etcd.RootRole):
			return false, nil
		}
	}
	return true, nil
}
