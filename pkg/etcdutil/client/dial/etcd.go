// Package dial makes clients that speak to a real etcd. Who imports it can connect to one.
package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// Deadlines of single calls. Membership calls outlast etcd's own limit of 7 s (5 s and two elections,
// etcd-io/etcd:server/config/config.go ReqTimeout), so that its answer arrives instead of a guess.
const (
	statusDeadline     = 2 * time.Second
	readDeadline       = 3 * time.Second
	membershipDeadline = 10 * time.Second
	moveLeaderDeadline = 5 * time.Second
	hashDeadline       = 30 * time.Second
	compactDeadline    = 30 * time.Second
)

// A dead address must cost a pass little. The first connection attempt is bounded; after a failed one a call gives the
// next attempt a moment and then fails with the reason of the last.
const (
	connectTimeout      = 2 * time.Second
	reconnectGrace      = 300 * time.Millisecond
	attemptsToReconnect = 3
)

// absentKey is read to prove that a quorum answers. It need not exist, and reading it moves nothing.
const absentKey = "etcdsteward.dev/health"

// EtcdDialer makes clients that speak to a real etcd. The zero value is ready for use.
type EtcdDialer struct{}

var _ client.Dialer = EtcdDialer{}

// Dial prepares a client; it connects at the first call.
func (EtcdDialer) Dial(endpoint client.Endpoint) (client.Client, error) {
	scheme, tlsConfig, options := etcdutil.SchemeHTTP, (*tls.Config)(nil), dialOptions()
	if endpoint.TLS != nil {
		scheme, tlsConfig = etcdutil.SchemeHTTPS, endpoint.TLS.Clone()
		tlsConfig.ServerName = endpoint.ServerName
		// clientv3's resolver names each address after itself, and gRPC puts that name over the one of the TLS
		// configuration; only the CA stands above both.
		options = append(options, grpc.WithAuthority(endpoint.ServerName))
	}
	conn, err := clientv3.New(clientv3.Config{
		Endpoints:       []string{scheme + "://" + endpoint.Address},
		TLS:             tlsConfig,
		Logger:          zap.NewNop(),
		MaxUnaryRetries: 2,
		DialOptions:     options,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing a client for etcd at %s: %w", endpoint.Address, err)
	}
	grpcConn := conn.ActiveConnection()
	return &etcdClient{
		plain:       newPlain(endpoint, scheme),
		conn:        conn,
		grpc:        grpcConn,
		tls:         tlsConfig != nil,
		kv:          pb.NewKVClient(grpcConn),
		cluster:     pb.NewClusterClient(grpcConn),
		maintenance: pb.NewMaintenanceClient(grpcConn),
		auth:        pb.NewAuthClient(grpcConn),
	}, nil
}

// dialOptions bound reconnecting, and keep the pings above the 5 s that etcd tolerates
// (etcd-io/etcd:server/embed/config.go GRPCKeepAliveMinTime).
func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: 5 * time.Second},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
	}
}

// etcdClient calls the generated stubs on clientv3's connection rather than clientv3's own methods: those dial anew for
// each Status and HashKV, wait on a dead address to the deadline, and drop the reason why it could not be reached.
type etcdClient struct {
	conn        *clientv3.Client
	grpc        *grpc.ClientConn
	tls         bool
	kv          pb.KVClient
	cluster     pb.ClusterClient
	maintenance pb.MaintenanceClient
	auth        pb.AuthClient
	plain       plain
}

func (c *etcdClient) Status(ctx context.Context) (client.Status, error) {
	r, err := call(ctx, c, statusDeadline, c.maintenance.Status, &pb.StatusRequest{})
	if err != nil {
		return client.Status{}, fmt.Errorf("asking etcd for its status: %w", err)
	}
	downgrade := ""
	if info := r.GetDowngradeInfo(); info.GetEnabled() {
		downgrade = info.GetTargetVersion()
	}
	return client.Status{
		ClusterID:        etcdutil.ID(r.GetHeader().GetClusterId()),
		MemberID:         etcdutil.ID(r.GetHeader().GetMemberId()),
		Leader:           etcdutil.ID(r.GetLeader()),
		Version:          r.GetVersion(),
		StorageVersion:   r.GetStorageVersion(),
		Downgrade:        downgrade,
		RaftTerm:         r.GetRaftTerm(),
		RaftIndex:        r.GetRaftIndex(),
		RaftAppliedIndex: r.GetRaftAppliedIndex(),
		Revision:         r.GetHeader().GetRevision(),
		DBSize:           r.GetDbSize(),
		DBSizeInUse:      r.GetDbSizeInUse(),
		Learner:          r.GetIsLearner(),
		Errors:           r.GetErrors(),
	}, nil
}

func (c *etcdClient) MemberList(ctx context.Context) (client.MemberList, error) {
	return c.listMembers(ctx, true)
}

func (c *etcdClient) MemberListSerializable(ctx context.Context) (client.MemberList, error) {
	return c.listMembers(ctx, false)
}

func (c *etcdClient) listMembers(ctx context.Context, linearizable bool) (client.MemberList, error) {
	r, err := call(ctx, c, readDeadline, c.cluster.MemberList, &pb.MemberListRequest{Linearizable: linearizable})
	if err != nil {
		return client.MemberList{}, fmt.Errorf("listing the members: %w", err)
	}
	list := client.MemberList{ClusterID: etcdutil.ID(r.GetHeader().GetClusterId())}
	for _, m := range r.GetMembers() {
		list.Members = append(list.Members, memberOf(m))
	}
	return list, nil
}

func (c *etcdClient) ReadLinearizable(ctx context.Context) error {
	if _, err := call(ctx, c, readDeadline, c.kv.Range, &pb.RangeRequest{Key: []byte(absentKey)}); err != nil {
		return fmt.Errorf("reading linearizably: %w", err)
	}
	return nil
}

func (c *etcdClient) AddLearner(ctx context.Context, peerURL string) (etcdutil.Member, error) {
	// The server checks the URLs of an add, but a malformed one must not get that far: one in the log stops members.
	if err := checkPeerURL(peerURL); err != nil {
		return etcdutil.Member{}, err
	}
	r, err := call(ctx, c, membershipDeadline, c.cluster.MemberAdd,
		&pb.MemberAddRequest{PeerURLs: []string{peerURL}, IsLearner: true})
	if err != nil {
		return etcdutil.Member{}, fmt.Errorf("adding the learner %s: %w", peerURL, err)
	}
	return memberOf(r.GetMember()), nil
}

func (c *etcdClient) SetPeerURL(ctx context.Context, id etcdutil.ID, peerURL string) error {
	if err := checkPeerURL(peerURL); err != nil { // as AddLearner does
		return err
	}
	if _, err := call(ctx, c, membershipDeadline, c.cluster.MemberUpdate,
		&pb.MemberUpdateRequest{ID: uint64(id), PeerURLs: []string{peerURL}}); err != nil {
		return fmt.Errorf("changing the peer URL of member %s to %s: %w", id, peerURL, err)
	}
	return nil
}

func (c *etcdClient) Promote(ctx context.Context, id etcdutil.ID) error {
	if _, err := call(ctx, c, membershipDeadline, c.cluster.MemberPromote,
		&pb.MemberPromoteRequest{ID: uint64(id)}); err != nil {
		return fmt.Errorf("promoting member %s: %w", id, err)
	}
	return nil
}

func (c *etcdClient) Remove(ctx context.Context, id etcdutil.ID) error {
	if _, err := call(ctx, c, membershipDeadline, c.cluster.MemberRemove,
		&pb.MemberRemoveRequest{ID: uint64(id)}); err != nil {
		return fmt.Errorf("removing member %s: %w", id, err)
	}
	return nil
}

func (c *etcdClient) MoveLeader(ctx context.Context, target etcdutil.ID) error {
	if _, err := call(ctx, c, moveLeaderDeadline, c.maintenance.MoveLeader,
		&pb.MoveLeaderRequest{TargetID: uint64(target)}); err != nil {
		return fmt.Errorf("moving leadership to member %s: %w", target, err)
	}
	return nil
}

func (c *etcdClient) DisarmAlarm(ctx context.Context, member etcdutil.ID, alarm string) error {
	kind, known := pb.AlarmType_value[alarm]
	if !known || kind == int32(pb.AlarmType_NONE) {
		return fmt.Errorf("etcd has no alarm %q", alarm)
	}
	request := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: uint64(member), Alarm: pb.AlarmType(kind)}
	if _, err := call(ctx, c, membershipDeadline, c.maintenance.Alarm, request); err != nil {
		return fmt.Errorf("disarming the alarm %s of member %s: %w", alarm, member, err)
	}
	return nil
}

func (c *etcdClient) HashKV(ctx context.Context, revision int64) (client.Hash, error) {
	r, err := call(ctx, c, hashDeadline, c.maintenance.HashKV, &pb.HashKVRequest{Revision: revision})
	if err != nil {
		return client.Hash{}, fmt.Errorf("hashing the keys at revision %d: %w", revision, err)
	}
	hashed := r.GetHashRevision()
	if hashed == 0 { // 3.5 does not say; it hashed what was asked for, or everything
		hashed = revision
	}
	if hashed == 0 {
		hashed = r.GetHeader().GetRevision()
	}
	return client.Hash{Hash: r.GetHash(), Revision: hashed, CompactRevision: r.GetCompactRevision()}, nil
}

func (c *etcdClient) Compact(ctx context.Context, revision int64) error {
	_, err := call(ctx, c, compactDeadline, c.kv.Compact, &pb.CompactionRequest{Revision: revision, Physical: true})
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting the history to revision %d: %w", revision, err)
	}
	return nil
}

func (c *etcdClient) Defragment(ctx context.Context) error {
	if _, err := c.maintenance.Defragment(ctx, &pb.DefragmentRequest{}); err != nil {
		return fmt.Errorf("defragmenting: %w", rpctypes.Error(err))
	}
	return nil
}

func (c *etcdClient) Close() error { return c.conn.Close() }

func memberOf(m *pb.Member) etcdutil.Member {
	return etcdutil.Member{
		ID:         etcdutil.ID(m.GetID()),
		Name:       m.GetName(),
		PeerURLs:   m.GetPeerURLs(),
		ClientURLs: m.GetClientURLs(),
		Learner:    m.GetIsLearner(),
	}
}

// call makes one call with a deadline of its own, and turns etcd's answers into the errors of package client.
func call[Request, Response any](ctx context.Context, c *etcdClient, deadline time.Duration,
	method func(context.Context, *Request, ...grpc.CallOption) (*Response, error),
	request *Request) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	c.hastenReconnect(ctx)
	response, err := method(ctx, request)
	if err == nil {
		return response, nil
	}
	if c.tls && client.HasHungUp(err) {
		return nil, fmt.Errorf("%w: %w", client.ErrHungUp, err)
	}
	return nil, rpctypes.Error(err)
}

// hastenReconnect gives an address that failed before a moment to be back: a Pod that has just begun to listen should
// not be called dead until the next pass, nor a dead one hold this pass up. An attempt that is under way may have begun
// before the Pod listened. After it fails gRPC pauses again, so the pause is ended more than once. gRPC fails calls a
// moment before it tells that the attempt failed. So the state "connecting" is waited for as well.
func (c *etcdClient) hastenReconnect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reconnectGrace)
	defer cancel()
	for ctx.Err() == nil {
		state := c.grpc.GetState()
		switch state {
		case connectivity.Connecting:
		case connectivity.TransientFailure:
			c.grpc.ResetConnectBackoff()
		default:
			return
		}
		attempt, done := context.WithTimeout(ctx, reconnectGrace/attemptsToReconnect)
		c.grpc.WaitForStateChange(attempt, state)
		done()
	}
}

// plain asks the endpoints that etcd serves beside gRPC, on the same port and with the same certificates.
type plain struct {
	client *http.Client
	base   string // scheme and address
}

// newPlain makes a client that keeps no connection: it is used while versions move, and a connection that idles there
// for weeks is one more that a member holds.
func newPlain(endpoint client.Endpoint, scheme string) plain {
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: connectTimeout}
	if endpoint.TLS != nil {
		transport.TLSClientConfig = endpoint.TLS.Clone()
		transport.TLSClientConfig.ServerName = endpoint.ServerName
	}
	// etcd never redirects, and what answers at a reused address must not send the operator elsewhere
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	asks := &http.Client{Transport: transport, CheckRedirect: stay}
	return plain{client: asks, base: scheme + "://" + endpoint.Address}
}

// get gives no more than limit bytes of an answer to read.
func (p plain) get(ctx context.Context, path string, limit int64, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, statusDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for %s: %s", path, response.Status)
	}
	if err := read(io.LimitReader(response.Body, limit)); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// checkPeerURL refuses what etcd could not parse again.
func checkPeerURL(peerURL string) error {
	if _, err := types.NewURLs([]string{peerURL}); err != nil {
		return fmt.Errorf("peer URL %q: %w", peerURL, err)
	}
	return nil
}
