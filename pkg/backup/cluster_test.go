package backup

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/backup/store"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

func programs(t testing.TB, version string) string {
	t.Helper()
	dir := filepath.Join(needs.Etcd(t), version)
	if _, err := os.Stat(filepath.Join(dir, "etcd")); err != nil {
		t.Fatalf("ETCD_BINARIES is set and has no etcd %s: %v", version, err)
	}
	return dir
}

// busy is how long real etcd may take on a machine that does much else.
const busy = 2 * time.Minute

// cluster is real etcd processes, each at a loopback address of its own.
type cluster struct {
	t         testing.TB
	programs  string
	root      string
	endpoints []Endpoint
	commands  []*exec.Cmd
	certs     string // directory; empty: plain
	tls       *tls.Config
	client    *clientv3.Client
}

var addresses atomic.Uint32

func startCluster(t testing.TB, version string, size int, secure bool, extra ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, programs: programs(t, version), root: t.TempDir()}
	scheme := etcdutil.SchemeHTTP
	var hosts, initial []string
	for i := range size {
		n := addresses.Add(1)
		host := fmt.Sprintf("127.%d.%d.%d", 210+os.Getpid()%40, n/250, 1+n%250)
		hosts = append(hosts, host)
		initial = append(initial, fmt.Sprintf("m%d=http://%s:2380", i, host))
	}
	if secure {
		scheme = etcdutil.SchemeHTTPS
		c.issue(hosts)
	}
	for i, host := range hosts {
		c.endpoints = append(c.endpoints, Endpoint{Name: fmt.Sprintf("m%d", i), URL: scheme + "://" + host + ":2379"})
		c.start(i, host, strings.Join(initial, ","), extra)
	}
	c.dial()
	return c
}

func (c *cluster) issue(hosts []string) {
	c.t.Helper()
	now := time.Now()
	pair, err := pki.NewCA("test", now, 0)
	must(c.t, err)
	ca, err := pki.ParseCA(pair)
	must(c.t, err)
	leaf := pki.Leaf{CommonName: "root", Server: true, Client: true}
	for _, host := range hosts {
		leaf.IPs = append(leaf.IPs, net.ParseIP(host))
	}
	issued, err := ca.Issue(leaf, now)
	must(c.t, err)
	c.certs = c.t.TempDir()
	for name, content := range map[string][]byte{"ca.crt": ca.CertPEM(), "tls.crt": issued.Cert, "tls.key": issued.Key} {
		must(c.t, os.WriteFile(filepath.Join(c.certs, name), content, 0o600))
	}
	c.tls, err = ReadTLS(c.certs)
	must(c.t, err)
}

func (c *cluster) start(i int, host, initial string, extra []string) {
	c.t.Helper()
	name := c.endpoints[i].Name
	args := append([]string{
		"--name=" + name, "--data-dir=" + filepath.Join(c.root, name),
		"--listen-peer-urls=http://" + host + ":2380", "--initial-advertise-peer-urls=http://" + host + ":2380",
		"--listen-client-urls=" + c.endpoints[i].URL, "--advertise-client-urls=" + c.endpoints[i].URL,
		"--initial-cluster=" + initial, "--unsafe-no-fsync=true", "--log-level=error",
	}, extra...)
	if c.certs != "" {
		args = append(args, "--client-cert-auth=true", "--trusted-ca-file="+filepath.Join(c.certs, "ca.crt"),
			"--cert-file="+filepath.Join(c.certs, "tls.crt"), "--key-file="+filepath.Join(c.certs, "tls.key"))
	}
	command := exec.Command(filepath.Join(c.programs, "etcd"), args...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(c.t, command.Start())
	c.commands = append(c.commands, command)
	c.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
}

func (c *cluster) dial() {
	c.t.Helper()
	var urls []string
	for _, endpoint := range c.endpoints {
		urls = append(urls, endpoint.URL)
	}
	var err error
	c.client, err = clientv3.New(clientv3.Config{Endpoints: urls, TLS: c.tls, Logger: zap.NewNop()})
	must(c.t, err)
	c.t.Cleanup(func() { _ = c.client.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), busy)
	defer cancel()
	_, err = c.client.Put(ctx, "first", "value")
	must(c.t, err)
}

// fill writes, changes, deletes and compacts, so that every kind of entry is there.
func (c *cluster) fill() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), busy)
	defer cancel()
	var middle int64
	for i := range 300 {
		key := fmt.Sprintf("key-%03d", i%120)
		if i%7 == 6 {
			_, err := c.client.Delete(ctx, key)
			must(c.t, err)
			continue
		}
		put, err := c.client.Put(ctx, key, strings.Repeat("v", 1+i))
		must(c.t, err)
		if i == 150 {
			middle = put.Header.Revision
		}
	}
	_, err := c.client.Compact(ctx, middle, clientv3.WithCompactPhysical())
	must(c.t, err)
}

// keys counts what a client sees.
func (c *cluster) keys() int64 {
	c.t.Helper()
	response, err := c.client.Get(context.Background(), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	must(c.t, err)
	return response.Count
}

func (c *cluster) identity() Identity {
	return Identity{ClusterNamespace: "team", ClusterName: "demo", ClusterUID: "11111111-2222-3333-4444-555555555555", BackupUID: "b1"}
}

// options are for a backup of this cluster into a bucket.
func (c *cluster) options(bucket *store.Bucket) TakeOptions {
	return TakeOptions{
		Transfer: Transfer{Bucket: bucket, Stall: patient},
		Identity: c.identity(), Endpoints: c.endpoints, TLS: c.tls, Scratch: c.t.(interface{ TempDir() string }).TempDir(),
	}
}

// restore runs the release's own etcdutl, as the Job does.
func (c *cluster) restore(scratch string) {
	c.t.Helper()
	output, err := exec.Command(filepath.Join(c.programs, "etcdutl"), "snapshot", "restore", filepath.Join(scratch, scratchFetched),
		"--data-dir", filepath.Join(scratch, scratchRestored)).CombinedOutput()
	if err != nil {
		c.t.Fatalf("etcdutl: %v: %s", err, output)
	}
}

func volumeBucket(t testing.TB) (bucket *store.Bucket, root string) {
	t.Helper()
	root = t.TempDir()
	bucket, err := store.Open(context.Background(), store.Config{Volume: &store.Volume{Path: "a/prefix"}}, store.Options{VolumeRoot: root})
	must(t, err)
	t.Cleanup(func() { _ = bucket.Close() })
	return bucket, root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantReason(t testing.TB, err error, want Reason) {
	t.Helper()
	if err == nil || ReasonOf(err) != want {
		t.Fatalf("got %q (%v), want %q", ReasonOf(err), err, want)
	}
}
