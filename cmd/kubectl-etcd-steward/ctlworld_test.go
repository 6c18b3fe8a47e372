package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// etcds are members that answer etcdctl: what is read is the name of the member, and the user who asks.
type etcds struct {
	t       *testing.T
	cluster *v1alpha1.EtcdCluster
	ca      pki.CA

	mu        sync.Mutex
	addresses map[string]string // by Pod
	refuse    map[string]error
	put       map[string]string
	users     usersInEtcd
}

type oneEtcd struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer

	group *etcds
	name  string
}

func (e oneEtcd) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	user := "without a certificate"
	if from, isThere := peer.FromContext(ctx); isThere {
		if secure, isTLS := from.AuthInfo.(credentials.TLSInfo); isTLS {
			user = secure.State.PeerCertificates[0].Subject.CommonName
		}
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{}, Count: 1,
		Kvs: []*mvccpb.KeyValue{{Key: r.Key, Value: []byte(e.name + " for " + user)}}}, nil
}

func (e oneEtcd) Put(_ context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	e.group.mu.Lock()
	defer e.group.mu.Unlock()
	e.group.put[string(r.Key)] = string(r.Value)
	return &pb.PutResponse{Header: &pb.ResponseHeader{}}, nil
}

func (e oneEtcd) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{}, Version: "3.6.16", DbSize: 1 << 20}, nil
}

// startEtcds starts the members of the cluster demo, and gives a session that leads to them.
func startEtcds(t *testing.T, mode v1alpha1.TLSMode) (*etcds, *session) {
	t.Helper()
	var all []client.Object
	e := &etcds{t: t, addresses: map[string]string{}, refuse: map[string]error{}, put: map[string]string{}}
	for _, object := range objects(t, "healthy") {
		if c, isCluster := object.(*v1alpha1.EtcdCluster); isCluster {
			e.cluster = c
			c.Spec.TLS = &v1alpha1.TLSSpec{Mode: mode}
		}
		all = append(all, object)
	}
	pair, err := pki.NewCA("demo-ca", time.Now(), 24*time.Hour)
	if err == nil {
		e.ca, err = pki.ParseCA(pair)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []struct {
		name string
		leaf pki.Leaf
	}{{"demo-client-tls", resources.ClientLeaf(e.cluster)}, {"demo-operator-tls", resources.OperatorLeaf()}} {
		leaf := e.issue(secret.leaf)
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: secret.name},
			Data: map[string][]byte{resources.KeyCA: e.ca.CertPEM(), resources.KeyCert: leaf.Cert, resources.KeyKey: leaf.Key}})
	}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		e.start(name)
		all = append(all, podOf(name, name != "demo-0"))
	}
	s := sessionOf(all, interceptor.Funcs{})
	s.dial = e.dial
	return e, s
}

func podOf(name string, isReady bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: resources.MemberSelector("demo")}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: etcdContainer,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	if isReady {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return pod
}

func (e *etcds) issue(leaf pki.Leaf) pki.Pair {
	e.t.Helper()
	pair, err := e.ca.Issue(leaf, time.Now())
	if err != nil {
		e.t.Fatal(err)
	}
	return pair
}

func (e *etcds) start(name string) {
	e.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.t.Fatal(err)
	}
	var o []grpc.ServerOption
	if e.cluster.Spec.IsTLS() {
		pair := e.issue(resources.MemberServerLeaf(e.cluster, name, ""))
		certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
		if err != nil {
			e.t.Fatal(err)
		}
		cas := x509.NewCertPool()
		cas.AppendCertsFromPEM(e.ca.CertPEM())
		o = append(o, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: cas,
			ClientAuth: tls.RequireAndVerifyClientCert})))
	}
	server := grpc.NewServer(o...)
	pb.RegisterKVServer(server, oneEtcd{group: e, name: name})
	pb.RegisterMaintenanceServer(server, oneEtcd{group: e, name: name})
	pb.RegisterAuthServer(server, &e.users)
	go func() { _ = server.Serve(listener) }()
	e.t.Cleanup(server.Stop)
	e.addresses[name] = listener.Addr().String()
}

func (e *etcds) dial(ctx context.Context, pod client.ObjectKey) (net.Conn, error) {
	e.mu.Lock()
	address, err := e.addresses[pod.Name], e.refuse[pod.Name]
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func (e *etcds) cut(s *session, object client.Object) {
	e.t.Helper()
	if err := s.Delete(e.t.Context(), object); err != nil {
		e.t.Fatal(err)
	}
}
