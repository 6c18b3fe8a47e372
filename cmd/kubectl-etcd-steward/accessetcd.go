package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// askedWithin is how long etcd gets to answer all questions about users and roles.
const askedWithin = time.Minute

// mostAsked bounds the users and roles of which more than the name is asked. Each question is an entry of raft's log.
const mostAsked = 100

// rootName is the user that is the operator, and the role that may do everything.
const rootName = "root"

// inEtcd is what a member says of users and roles. Those that EtcdClients account for are left out.
type inEtcd struct {
	Authentication bool      `json:"authentication"`
	Users          []userRow `json:"users"`
	Roles          []roleRow `json:"roles"`
}

type userRow struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles,omitempty"`
	Whose string   `json:"whose"`
}

type roleRow struct {
	Name  string   `json:"name"`
	May   []string `json:"may,omitempty"`
	Whose string   `json:"whose"`
}

// askEtcd asks a member as `ctl` would be led to one.
func (s *session) askEtcd(ctx context.Context, c *v1alpha1.EtcdCluster, known whoMay, isOperator bool) (
	*inEtcd, error) {
	ctx, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	pods, err := s.runningMembers(ctx, c, "")
	if err != nil {
		return nil, err
	}
	secure, err := s.clientTLS(ctx, c, isOperator)
	if err != nil {
		return nil, err
	}
	to := reach{session: s, cluster: c, secure: secure}
	if pods, err = to.choose(ctx, pods, false, io.Discard); err != nil {
		return nil, err
	}
	conn, err := to.grpc(pods[0].Name)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	said, err := census{auth: pb.NewAuthClient(conn), cluster: c.Name, clients: known.Clients,
		unread: known.Unread}.take(ctx)
	if status.Code(err) == codes.PermissionDenied && !isOperator {
		return nil, fmt.Errorf("etcd does not let the user %s read users and roles. Ask as the user root, with the "+
			"right to get the Secret %s: `kubectl etcd-steward access %s --operator`", resources.ClientUser(c.Name),
			resources.OperatorSecret(c.Name), named(c))
	}
	return said, err
}

// grpc is a connection to the etcd of a Pod. TLS is spoken below it.
func (r reach) grpc(pod string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+pod, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, pod string) (net.Conn, error) { return r.member(ctx, pod) }))
	if err != nil {
		return nil, fmt.Errorf("preparing to ask member %s: %w", pod, err)
	}
	return conn, nil
}

// census asks for the users and roles of a cluster.
type census struct {
	auth    pb.AuthClient
	cluster string
	clients []clientRow
	unread  map[string]string // namespaces whose EtcdClients could not be listed, and why
}

func (q census) take(ctx context.Context) (*inEtcd, error) {
	on, err := q.auth.AuthStatus(ctx, &pb.AuthStatusRequest{})
	if err != nil {
		return nil, fmt.Errorf("asking etcd for its authentication: %w", err)
	}
	said := &inEtcd{Authentication: on.GetEnabled(), Users: []userRow{}, Roles: []roleRow{}}
	users, err := q.auth.UserList(ctx, &pb.AuthUserListRequest{})
	if err != nil {
		return nil, fmt.Errorf("asking etcd for its users: %w", err)
	}
	roles, err := q.auth.RoleList(ctx, &pb.AuthRoleListRequest{})
	if err != nil {
		return nil, fmt.Errorf("asking etcd for its roles: %w", err)
	}
	hasUser := func(c clientRow, user string) bool { return c.Ready && c.User == user }
	for i, name := range q.others(users.GetUsers(), hasUser) {
		row, err := q.user(ctx, name, i < mostAsked)
		if err != nil {
			return nil, err
		}
		if !q.isOfClient(row) {
			said.Users = append(said.Users, row)
		}
	}
	hasRole := func(c clientRow, role string) bool { return c.Role == role }
	for i, name := range q.others(roles.GetRoles(), hasRole) {
		row, err := q.role(ctx, name, i < mostAsked)
		if err != nil {
			return nil, err
		}
		said.Roles = append(said.Roles, row)
	}
	return said, nil
}

// others are the names that no EtcdClient accounts for, in order.
func (q census) others(names []string, has func(clientRow, string) bool) []string {
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(q.clients, func(c clientRow) bool { return has(c, name) })
	})
	slices.Sort(others)
	return others
}

// isOfClient tells a user that was made for an EtcdClient from one that people made and an EtcdClient asks for.
func (q census) isOfClient(user userRow) bool {
	return slices.ContainsFunc(q.clients, func(c clientRow) bool {
		return c.User == user.Name && slices.Contains(user.Roles, c.Role)
	})
}

func (q census) user(ctx context.Context, name string, isAsked bool) (userRow, error) {
	row := userRow{Name: name, Whose: "people"}
	if isAsked {
		got, err := q.auth.UserGet(ctx, &pb.AuthUserGetRequest{Name: name})
		if err != nil {
			return row, fmt.Errorf("asking etcd for the user %s: %w", name, err)
		}
		row.Roles = got.GetRoles()
	}
	switch {
	case name == rootName:
		row.Whose = "the operator"
	case name == resources.ClientUser(q.cluster):
		row.Whose = "all who have the Secret " + resources.ClientSecret(q.cluster)
	default:
		for _, role := range row.Roles {
			row.Whose = cmp.Or(q.formerly(role), row.Whose)
		}
	}
	return row, nil
}

// formerly says whose a role of the operator is that no EtcdClient accounts for; empty for a role of people.
func (q census) formerly(role string) string {
	from, isOurs := accessplan.IsRoleName(role)
	_, isUnread := q.unread[from]
	switch {
	case !isOurs:
		return ""
	case isUnread:
		return "an EtcdClient of namespace " + from + ", unless that is gone"
	}
	return "left over from an EtcdClient that is gone"
}

func (q census) role(ctx context.Context, name string, isAsked bool) (roleRow, error) {
	row := roleRow{Name: name, Whose: cmp.Or(q.formerly(name), "people")}
	if name == rootName {
		return roleRow{Name: name, May: []string{"everything"}, Whose: "etcd"}, nil
	}
	if !isAsked {
		return row, nil
	}
	got, err := q.auth.RoleGet(ctx, &pb.AuthRoleGetRequest{Role: name})
	if err != nil {
		return row, fmt.Errorf("asking etcd for the role %s: %w", name, err)
	}
	var rights []accessplan.Right
	for _, p := range got.GetPerm() {
		kind := p.GetPermType().String()
		right := accessplan.Right{Key: string(p.GetKey()), End: string(p.GetRangeEnd()),
			Read: strings.HasPrefix(kind, "READ"), Write: strings.HasSuffix(kind, "WRITE")}
		if !right.IsMark() {
			rights = append(rights, right)
		}
	}
	row.May = rightsInWords(rights)
	return row, nil
}

func (e *inEtcd) print(text *bytes.Buffer) {
	text.WriteString("\nUsers in etcd that no EtcdClient accounts for:\n")
	_ = printTable(text, "  ", e.Users, []column[userRow]{ // a buffer takes all
		{"USER", func(r userRow) string { return keyInWords(r.Name) }},
		{"ROLES", func(r userRow) string { return briefly(r.Roles) }},
		{"WHOSE", func(r userRow) string { return r.Whose }},
	})
	text.WriteString("\nRoles in etcd that no EtcdClient accounts for:\n")
	_ = printTable(text, "  ", e.Roles, []column[roleRow]{
		{"ROLE", func(r roleRow) string { return keyInWords(r.Name) }},
		{"MAY", func(r roleRow) string { return briefly(r.May) }},
		{"WHOSE", func(r roleRow) string { return r.Whose }},
	})
	if len(e.Users) > mostAsked || len(e.Roles) > mostAsked {
		fmt.Fprintf(text, "\nRoles of users and rights of roles were asked for the first %d of each.\n", mostAsked)
	}
}
