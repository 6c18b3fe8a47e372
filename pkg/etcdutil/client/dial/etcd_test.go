package dial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"reflect"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

func TestStatusCarriesEveryFieldOver(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	serve(t, l, &answers{}, nil)
	got, err := dial(t, client.Endpoint{Address: l.Addr().String()}).Status(t.Context())
	want := client.Status{
		ClusterID: 1, MemberID: 2, Revision: 3, Leader: 4, Version: "3.6.16", StorageVersion: "3.6.0", RaftTerm: 5, RaftIndex: 6,
		RaftAppliedIndex: 7, DBSize: 8, DBSizeInUse: 9, Learner: true, Errors: []string{"alarm:NOSPACE"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestAnAddressWhereNothingListensFailsAtOnceAndSaysWhy(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	address := l.Addr().String()
	_ = l.Close()
	c := dial(t, client.Endpoint{Address: address})
	for range 2 { // the second call meets a connection that has failed before
		_, err := c.Status(t.Context())
		if !client.IsUnreachable(err) || !client.IsRetryLater(err) || !says(err, "connection refused") {
			t.Errorf("the call answered %v", err)
		}
		if status.Code(err) == codes.DeadlineExceeded {
			t.Errorf("a refused connection cost a pass the whole time of a call: %v", err)
		}
	}
}

// By itself gRPC gives one attempt to connect 20 seconds.
func TestAnAddressThatSwallowsEverythingIsGivenUpBeforeTheLibraryDoes(t *testing.T) {
	l := listen(t, "127.0.0.1:0") // the kernel accepts, and nobody ever answers
	c := dial(t, client.Endpoint{Address: l.Addr().String()})
	start := time.Now()
	for range 2 {
		if _, err := c.Status(t.Context()); !client.IsUnreachable(err) {
			t.Errorf("the call answered %v", err)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("two calls took %s", took)
	}
}

func TestAMemberThatHasJustBegunToListenIsReachedAtTheNextCall(t *testing.T) {
	l := listen(t, "127.0.0.1:0")
	address := l.Addr().String()
	_ = l.Close()
	c := dial(t, client.Endpoint{Address: address})
	for range 5 { // each failure lengthens the pause before gRPC would try again by itself
		if _, err := c.Status(t.Context()); err == nil {
			t.Fatal("something listens there")
		}
	}
	serve(t, listen(t, address), &answers{}, nil)
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("the call answered %v", err)
	}
}

func TestTheServerNameIsCheckedAgainstTheCertificate(t *testing.T) {
	certificate, pool := selfSigned(t, "a.demo-peers.default.svc")
	l := listen(t, "127.0.0.1:0")
	serve(t, l, &answers{}, &certificate)
	config := &tls.Config{RootCAs: pool}

	if _, err := dial(t, client.Endpoint{Address: l.Addr().String(), ServerName: "a.demo-peers.default.svc", TLS: config}).Status(t.Context()); err != nil {
		t.Errorf("the right name is refused: %v", err)
	}
	if _, err := dial(t, client.Endpoint{Address: l.Addr().String(), ServerName: "b.demo-peers.default.svc", TLS: config}).Status(t.Context()); !client.IsTLS(err) {
		t.Errorf("another name answered %v", err)
	}
	if _, err := dial(t, client.Endpoint{Address: l.Addr().String(), ServerName: "a.demo-peers.default.svc", TLS: &tls.Config{}}).Status(t.Context()); !client.IsTLS(err) {
		t.Errorf("an unknown authority answered %v", err)
	}
	if config.ServerName != "" {
		t.Error("the caller's configuration was changed")
	}
}

func TestMembershipCallsAreSentOnce(t *testing.T) {
	for _, refusal := range []error{rpctypes.ErrGRPCUnhealthy, rpctypes.ErrGRPCLeaderChanged, status.Error(codes.Unavailable, "no")} {
		a := &answers{err: refusal}
		l := listen(t, "127.0.0.1:0")
		serve(t, l, a, nil)
		c := dial(t, client.Endpoint{Address: l.Addr().String()})
		if err := c.Remove(t.Context(), 1); !client.IsRetryLater(err) {
			t.Errorf("%v became %v", refusal, err)
		}
		if _, err := c.AddLearner(t.Context(), "http://a:2380"); !client.IsRetryLater(err) {
			t.Errorf("%v became %v", refusal, err)
		}
		if a.calls != 2 {
			t.Errorf("two calls reached the server %d times", a.calls)
		}
	}
}

func TestAMalformedPeerURLNeverReachesEtcd(t *testing.T) {
	a := &answers{}
	l := listen(t, "127.0.0.1:0")
	serve(t, l, a, nil)
	for _, url := range []string{"", "a:2380", "http://a", "http://a:2380/x", "ftp://a:2380", "http://a:2380,http://b:2380"} {
		if _, err := dial(t, client.Endpoint{Address: l.Addr().String()}).AddLearner(t.Context(), url); err == nil {
			t.Errorf("%q was accepted", url)
		}
	}
	if a.calls != 0 {
		t.Errorf("%d calls reached the server", a.calls)
	}
}

func TestRefusalsOfEtcdAreRecognised(t *testing.T) {
	for _, row := range []struct {
		server error
		want   error
	}{
		{rpctypes.ErrGRPCMemberNotFound, client.ErrMemberNotFound},
		{rpctypes.ErrGRPCUnhealthy, client.ErrUnhealthy},
		{rpctypes.ErrGRPCMemberNotEnoughStarted, client.ErrNotEnoughStarted},
		{rpctypes.ErrGRPCNotSupportedForLearner, client.ErrLearnerRefuses},
		{status.Error(codes.Unavailable, "etcdserver: rpc not supported for learner"), client.ErrLearnerRefuses}, // as 3.5 says it
	} {
		l := listen(t, "127.0.0.1:0")
		serve(t, l, &answers{err: row.server}, nil)
		if err := dial(t, client.Endpoint{Address: l.Addr().String()}).Remove(t.Context(), 1); !errors.Is(err, row.want) {
			t.Errorf("%v became %v, want %v", row.server, err, row.want)
		}
	}
}

func selfSigned(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestAnAlarmIsDisarmedByTheMemberThatItWasRaisedForAndNoOtherIsMade(t *testing.T) {
	a := &answers{}
	l := listen(t, "127.0.0.1:0")
	serve(t, l, a, nil)
	c := dial(t, client.Endpoint{Address: l.Addr().String()})
	for _, unknown := range []string{"", "NONE", "nospace"} {
		if err := c.DisarmAlarm(t.Context(), 7, unknown); err == nil || a.disarmed != nil {
			t.Errorf("%q: %v, %v", unknown, err, a.disarmed)
		}
	}
	if err := c.DisarmAlarm(t.Context(), 7, "NOSPACE"); err != nil {
		t.Fatal(err)
	}
	if got := a.disarmed; got.GetMemberID() != 7 || got.GetAlarm() != pb.AlarmType_NOSPACE || got.GetAction() != pb.AlarmRequest_DEACTIVATE {
		t.Errorf("%v", got)
	}
}
