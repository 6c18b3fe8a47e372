package contract

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// users are the certificates of a world in which clients say who they are. The zero pointer is a world without.
type users struct {
	t     testing.TB
	ca    pki.CA
	files string
	known map[string]*tls.Config
}

// withAuthenticationOn plays with one member of each release, whose authentication is on.
func withAuthenticationOn(t *testing.T, scene func(t *testing.T, p *play, w *realWorld)) {
	t.Helper()
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p, w := withUsers(t, version, "a")
			p.startAll("a")
			p.turnOn("a")
			scene(t, p, w)
		})
	}
}

// withUsers is a real world of members that ask each client for a certificate.
func withUsers(t *testing.T, version string, members ...string) (*play, *realWorld) {
	t.Helper()
	w := newRealWorld(t, version)
	pair, err := pki.NewCA("contract", time.Now(), 0)
	must(t, err)
	ca, err := pki.ParseCA(pair)
	must(t, err)
	leaf := pki.Leaf{CommonName: "member", Server: true, Client: true}
	for _, name := range members {
		leaf.IPs = append(leaf.IPs, net.ParseIP(w.host(name)))
	}
	w.users = &users{t: t, ca: ca, files: t.TempDir(), known: map[string]*tls.Config{}}
	issued, err := ca.Issue(leaf, time.Now())
	must(t, err)
	for name, content := range map[string][]byte{"ca.crt": ca.CertPEM(), "tls.crt": issued.Cert, "tls.key": issued.Key} {
		must(t, os.WriteFile(filepath.Join(w.users.files, name), content, 0o600))
	}
	t.Cleanup(func() {
		if t.Failed() {
			w.explain()
		}
	})
	return &play{TB: t, world: w}, w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (u *users) scheme() string {
	if u == nil {
		return etcdutil.SchemeHTTP
	}
	return etcdutil.SchemeHTTPS
}

func (u *users) args() []string {
	if u == nil {
		return nil
	}
	return []string{"--client-cert-auth=true", "--trusted-ca-file=" + filepath.Join(u.files, "ca.crt"),
		"--cert-file=" + filepath.Join(u.files, "tls.crt"), "--key-file=" + filepath.Join(u.files, "tls.key")}
}

// as is how a client connects whose certificate has the name.
func (u *users) as(name string) *tls.Config {
	if u == nil {
		return nil
	}
	if u.known[name] == nil {
		u.known[name] = u.holding(pki.Leaf{CommonName: name, Client: true})
	}
	return u.known[name]
}

// unnamed is how a client connects whose certificate is no user.
func (u *users) unnamed() *tls.Config {
	return u.holding(pki.Leaf{Organization: []string{"shop"}, Client: true})
}

func (u *users) holding(leaf pki.Leaf) *tls.Config {
	issued, err := u.ca.Issue(leaf, time.Now())
	must(u.t, err)
	config, err := pki.ClientTLS(u.ca.CertPEM(), issued)
	must(u.t, err)
	return config
}

func (w *realWorld) endpoint(member, user string) client.Endpoint {
	return client.Endpoint{Address: w.address(member), ServerName: w.host(member), TLS: w.users.as(user)}
}

// operatorAs is a client of the operator's kind of another user.
func (w *realWorld) operatorAs(user, member string) client.Client {
	w.t.Helper()
	c, err := dial.EtcdDialer{}.Dial(w.endpoint(member, user))
	must(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// clientOf is what an application connects with, to all members that are named.
func (w *realWorld) clientOf(user string, members ...string) *clientv3.Client {
	w.t.Helper()
	var urls []string
	for _, name := range members {
		urls = append(urls, w.users.scheme()+"://"+w.address(name))
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: urls, TLS: w.users.as(user), Logger: zap.NewNop()})
	must(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// logIn logs in by a password, with a certificate of no user.
func (w *realWorld) logIn(ctx context.Context, user, password, member string) (*clientv3.Client, error) {
	w.t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.users.scheme() + "://" + w.address(member)}, Context: ctx,
		TLS: w.users.as("stranger"), Username: user, Password: password, Logger: zap.NewNop()})
	if err == nil {
		w.t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}
