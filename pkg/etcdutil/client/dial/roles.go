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

// Roles. As with users, each call is an entry of raft's log.

func (c *etcdClient) RoleNames(ctx context.Context) ([]string, error) {
	r, err := call(ctx, c, readDeadline, c.auth.RoleList, &pb.AuthRoleListRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing the roles: %w", err)
	}
	return r.GetRoles(), nil
}

func (c *etcdClient) Permissions(ctx context.Context, role string) ([]client.Permission, error) {
	r, err := call(ctx, c, readDeadline, c.auth.RoleGet, &pb.AuthRoleGetRequest{Role: role})
	if err != nil {
		return nil, fmt.Errorf("asking etcd for the role %s: %w", role, err)
	}
	permissions := make([]client.Permission, 0, len(r.GetPerm()))
	for _, p := range r.GetPerm() {
		permissions = append(permissions, client.Permission{Key: string(p.GetKey()), End: string(p.GetRangeEnd()),
			Read: p.GetPermType() != authpb.WRITE, Write: p.GetPermType() != authpb.READ})
	}
	return permissions, nil
}

func (c *etcdClient) AddRole(ctx context.Context, role string) error {
	_, err := call(ctx, c, membershipDeadline, c.auth.RoleAdd, &pb.AuthRoleAddRequest{Name: role})
	if err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
		return fmt.Errorf("adding the role %s: %w", role, err)
	}
	return nil
}

func (c *etcdClient) DeleteRole(ctx context.Context, role string) error {
	_, err := call(ctx, c, membershipDeadline, c.auth.RoleDelete, &pb.AuthRoleDeleteRequest{Role: role})
	if err != nil && !errors.Is(err, rpctypes.ErrRoleNotFound) {
		return fmt.Errorf("deleting the role %s: %w", role, err)
	}
	return nil
}

func (c *etcdClient) GrantPermission(ctx context.Context, role string, permission client.Permission) error {
	granted := &authpb.Permission{Key: []byte(permission.Key), PermType: authpb.READ}
	if permission.End != "" {
		granted.RangeEnd = []byte(permission.End)
	}
	switch {
	case permission.Read && permission.Write:
		granted.PermType = authpb.READWRITE
	case permission.Write:
		granted.PermType = authpb.WRITE
	}
	request := &pb.AuthRoleGrantPermissionRequest{Name: role, Perm: granted}
	if _, err := call(ctx, c, membershipDeadline, c.auth.RoleGrantPermission, request); err != nil {
		return fmt.Errorf("granting the role %s a permission: %w", role, err)
	}
	return nil
}

func (c *etcdClient) RevokePermission(ctx context.Context, role string, permission client.Permission) error {
	request := &pb.AuthRoleRevokePermissionRequest{Role: role, Key: []byte(permission.Key)}
	if permission.End != "" {
		request.RangeEnd = []byte(permission.End)
	}
	_, err := call(ctx, c, membershipDeadline, c.auth.RoleRevokePermission, request)
	if err != nil && !errors.Is(err, rpctypes.ErrPermissionNotGranted) {
		return fmt.Errorf("taking a permission from the role %s: %w", role, err)
	}
	return nil
}
