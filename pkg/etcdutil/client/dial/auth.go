package dial

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// Authentication, its users and their roles. Each call is an entry of raft's log, questions as well: the member answers
// once it has applied it (etcd-io/etcd:server/etcdserver/v3_server.go, raftRequest).

func (c *etcdClient) Authentication(ctx context.Context) (client.Authentication, error) {
	r, err := call(ctx, c, readDeadline, c.auth.AuthStatus, &pb.AuthStatusRequest{})
	if err != nil {
		return client.Authentication{}, fmt.Errorf("asking etcd for its authentication: %w", err)
	}
	return client.Authentication{Enabled: r.GetEnabled(), Revision: r.GetAuthRevision()}, nil
}

func (c *etcdClient) Roles(ctx context.Context, user string) ([]string, error) {
	r, err := call(ctx, c, readDeadline, c.auth.UserGet, &pb.AuthUserGetRequest{Name: user})
	if err != nil {
		return nil, fmt.Errorf("asking etcd for the user %s: %w", user, err)
	}
	return r.GetRoles(), nil
}

func (c *etcdClient) AddUser(ctx context.Context, user string) error {
	request := &pb.AuthUserAddRequest{Name: user, Options: &authpb.UserAddOptions{NoPassword: true}}
	_, err := call(ctx, c, membershipDeadline, c.auth.UserAdd, request)
	if err != nil && !errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		return fmt.Errorf("adding the user %s: %w", user, err)
	}
	return nil
}

func (c *etcdClient) NewUser(ctx context.Context, user string) error {
	request := &pb.AuthUserAddRequest{Name: user, Options: &authpb.UserAddOptions{NoPassword: true}}
	if _, err := call(ctx, c, membershipDeadline, c.auth.UserAdd, request); err != nil {
		return fmt.Errorf("adding the user %s: %w", user, err)
	}
	return nil
}

func (c *etcdClient) NewUserWithPassword(ctx context.Context, user, password string) error {
	request := &pb.AuthUserAddRequest{Name: user, Password: password, Options: &authpb.UserAddOptions{}}
	if _, err := call(ctx, c, membershipDeadline, c.auth.UserAdd, request); err != nil {
		return fmt.Errorf("adding the user %s: %w", user, err)
	}
	return nil
}

func (c *etcdClient) ChangePassword(ctx context.Context, user, password string) error {
	request := &pb.AuthUserChangePasswordRequest{Name: user, Password: password}
	if _, err := call(ctx, c, membershipDeadline, c.auth.UserChangePassword, request); err != nil {
		return fmt.Errorf("changing the password of the user %s: %w", user, err)
	}
	return nil
}

func (c *etcdClient) DeleteUser(ctx context.Context, user string) error {
	_, err := call(ctx, c, membershipDeadline, c.auth.UserDelete, &pb.AuthUserDeleteRequest{Name: user})
	if err != nil {
		return fmt.Errorf("deleting the user %s: %w", user, err)
	}
	return nil
}

func (c *etcdClient) GrantRole(ctx context.Context, user, role string) error {
	request := &pb.AuthUserGrantRoleRequest{User: user, Role: role}
	if _, err := call(ctx, c, membershipDeadline, c.auth.UserGrantRole, request); err != nil {
		return fmt.Errorf("granting the role %s to the user %s: %w", role, user, err)
	}
	return nil
}

func (c *etcdClient) EnableAuthentication(ctx context.Context) error {
	if _, err := call(ctx, c, membershipDeadline, c.auth.AuthEnable, &pb.AuthEnableRequest{}); err != nil {
		return fmt.Errorf("turning authentication on: %w", err)
	}
	return nil
}

func (c *etcdClient) DisableAuthentication(ctx context.Context) error {
	if _, err := call(ctx, c, membershipDeadline, c.auth.AuthDisable, &pb.AuthDisableRequest{}); err != nil {
		return fmt.Errorf("turning authentication off: %w", err)
	}
	return nil
}
