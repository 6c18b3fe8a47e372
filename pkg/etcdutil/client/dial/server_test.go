package dial

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// answers is a server that gives every call the same error, and Status an answer when there is none.
type answers struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer
	pb.UnimplementedKVServer
	err      error
	calls    int
	disarmed *pb.AlarmRequest
}

func (a *answers) Alarm(_ context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	a.disarmed = r
	return &pb.AlarmResponse{}, a.err
}

func (a *answers) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &pb.StatusResponse{
		Header: &pb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: 3},
		Leader: 4, Version: "3.6.16", StorageVersion: "3.6.0", RaftTerm: 5, RaftIndex: 6, RaftAppliedIndex: 7,
		DbSize: 8, DbSizeInUse: 9, IsLearner: true, Errors: []string{"alarm:NOSPACE"},
	}, nil
}

func (a *answers) MemberRemove(context.Context, *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	a.calls++
	return nil, a.err
}

func (a *answers) MemberAdd(context.Context, *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	a.calls++
	return nil, a.err
}

// serve runs the server on a listener until the test ends.
func serve(t *testing.T, listener net.Listener, a *answers, certificate *tls.Certificate) {
	t.Helper()
	creds := insecure.NewCredentials()
	if certificate != nil {
		creds = credentials.NewServerTLSFromCert(certificate)
	}
	server := grpc.NewServer(grpc.Creds(creds))
	pb.RegisterMaintenanceServer(server, a)
	pb.RegisterClusterServer(server, a)
	pb.RegisterKVServer(server, a)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func dial(t *testing.T, endpoint client.Endpoint) client.Client {
	t.Helper()
	c, err := EtcdDialer{}.Dial(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
