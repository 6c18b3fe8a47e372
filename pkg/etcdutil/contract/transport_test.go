package contract

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

func (w *peered) peerURLAs(name string, transport etcdutil.Transport) string {
	return transport.PeerScheme() + "://" + w.host(name) + ":2380"
}

// beginAs starts a member that is reached so.
func (w *peered) beginAs(name string, first bool, transport etcdutil.Transport) {
	var cluster, clients []string
	for _, each := range w.names {
		cluster = append(cluster, each+"="+w.peerURLAs(each, transport))
	}
	for _, scheme := range transport.ClientSchemes() {
		clients = append(clients, scheme+"://"+w.host(name)+":2379")
	}
	own := w.peerURLAs(name, transport)
	w.extra = []string{"--listen-peer-urls=" + own, "--initial-advertise-peer-urls=" + own,
		"--initial-cluster=" + strings.Join(cluster, ","), "--listen-client-urls=" + strings.Join(clients, ",")}
	if transport.HasCertificates() {
		w.extra = append(w.extra, "--peer-client-cert-auth=true", "--peer-cert-file="+w.file(name, "crt"),
			"--peer-key-file="+w.file(name, "key"), "--peer-trusted-ca-file="+w.file(name, "ca"), "--client-cert-auth=true",
			"--cert-file="+w.file(name, "crt"), "--key-file="+w.file(name, "key"), "--trusted-ca-file="+w.file(name, "ca"))
	}
	l := fresh(name, w.names...)
	if !first {
		l = sealed(name)
	}
	w.realWorld.start(l)
}

// reads are accepted by a member with this configuration of TLS, or without.
func (w *peered) reads(t *testing.T, name string, config *tls.Config) {
	t.Helper()
	c, err := dial.EtcdDialer{}.Dial(client.Endpoint{Address: w.host(name) + ":2379", ServerName: w.host(name), TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w.accepted(func() error { return c.ReadLinearizable(t.Context()) })
}

func TestMembersOfRealEtcdServeOnWhileTLSIsTurnedOnAndOff(t *testing.T) {
	const plain, prepared, permissive = etcdutil.TransportPlain, etcdutil.TransportPrepared, etcdutil.TransportPermissive
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			world := newRealWorld(t, version)
			w := &peered{realWorld: world, play: &play{TB: t, world: world}, names: []string{"a", "b", "c"}}
			ca := authority(t, pki.NewCA, time.Now().Add(-time.Hour))
			for _, name := range w.names {
				w.write(t, name, ca, ca.CertPEM())
				w.beginAs(name, true, plain)
			}
			w.serving(w.names...)
			pair, err := ca.Issue(pki.Leaf{CommonName: "root", Client: true}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			config, err := pki.ClientTLS(ca.CertPEM(), pair)
			if err != nil {
				t.Fatal(err)
			}
			restart := func(name string, transport etcdutil.Transport) {
				w.stop(name)
				w.beginAs(name, false, transport)
				for _, each := range w.names {
					w.reads(t, each, nil)
				}
			}
			relist := func(name string, transport etcdutil.Transport) {
				id := w.id(name)
				w.accepted(func() error { return w.dial("c").SetPeerURL(t.Context(), id, w.peerURLAs(name, transport)) })
			}
			for _, name := range w.names {
				restart(name, prepared)
				w.reads(t, name, config) // the same port takes both
			}
			for _, name := range w.names {
				relist(name, permissive)
				restart(name, prepared) // it starts once more as it was, and its peers cannot dial it
				restart(name, permissive)
				w.reads(t, name, config)
			}
			for _, name := range w.names {
				relist(name, prepared)
				restart(name, prepared)
			}
			for _, name := range w.names {
				restart(name, plain)
			}
		})
	}
}
