package contract

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// peered are members that trust each other by certificates, whose CA is replaced.
type peered struct {
	*realWorld
	*play
	names []string
}

func (w *peered) file(name, what string) string { return filepath.Join(w.root, name+"-"+what) }

// write gives a member a certificate of this CA, and the CAs that it reads at its start.
func (w *peered) write(t *testing.T, name string, by pki.CA, trusts []byte) {
	t.Helper()
	ips := []net.IP{net.ParseIP(w.host(name)), net.IPv4(127, 0, 0, 1)} // where it listens, and where it dials from
	pair, err := by.Issue(pki.Leaf{CommonName: name, IPs: ips, Server: true, Client: true}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{"crt": pair.Cert, "key": pair.Key, "ca": trusts} {
		if err := os.WriteFile(w.file(name, what), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// begin starts a member's process on its files.
func (w *peered) begin(name string, first bool) {
	var cluster []string
	for _, each := range w.names {
		cluster = append(cluster, each+"=https://"+w.host(each)+":2380")
	}
	own := "https://" + w.host(name) + ":2380"
	w.extra = []string{"--listen-peer-urls=" + own, "--initial-advertise-peer-urls=" + own,
		"--initial-cluster=" + strings.Join(cluster, ","), "--peer-client-cert-auth=true",
		"--peer-cert-file=" + w.file(name, "crt"), "--peer-key-file=" + w.file(name, "key"),
		"--peer-trusted-ca-file=" + w.file(name, "ca")}
	l := fresh(name, w.names...)
	if !first {
		l = sealed(name)
	}
	w.realWorld.start(l)
}

// restart is a roll of one member: it serves again before the next one stops.
func (w *peered) restart(t *testing.T, name string) {
	t.Helper()
	w.stop(name)
	w.begin(name, false)
	for _, each := range w.names {
		w.accepted(func() error { return w.play.dial(each).ReadLinearizable(t.Context()) })
	}
}

func TestMembersOfRealEtcdServeOnWhileTheirCAIsReplaced(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			world := newRealWorld(t, version)
			w := &peered{realWorld: world, play: &play{TB: t, world: world}, names: []string{"a", "b", "c"}}
			old, next := authority(t, pki.NewCA, time.Now().Add(-time.Hour)), authority(t, pki.NextCA, time.Now())
			for _, name := range w.names {
				w.write(t, name, old, old.CertPEM())
				w.begin(name, true)
			}
			w.serving(w.names...)

			both := pki.Bundle(old.CertPEM(), next.CertPEM())
			for _, name := range w.names { // widen
				w.write(t, name, old, both)
				w.restart(t, name)
			}
			for _, name := range w.names { // swap: no process starts, but for one that shows that it could
				w.write(t, name, next, both)
			}
			w.restart(t, "b")
			for _, name := range w.names { // narrow
				w.write(t, name, next, next.CertPEM())
				w.restart(t, name)
			}

			w.write(t, "c", old, next.CertPEM())
			w.stop("c")
			w.begin("c", false)
			w.until("c is refused with a certificate of the CA that was replaced", func() bool {
				return strings.Contains(w.output("a")+w.output("b"), "certificate signed by unknown authority")
			})
			w.accepted(func() error { return w.play.dial("a").ReadLinearizable(t.Context()) })
		})
	}
}

func authority(t *testing.T, made func(string, time.Time, time.Duration) (pki.Pair, error), now time.Time) pki.CA {
	t.Helper()
	pair, err := made("demo peers", now, 0)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.ParseCA(pair)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}
