package backup

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// restoredCluster is a restored cluster with certificates of its own CA, as a new cluster has.
type restoredCluster struct {
	t       testing.TB
	members []restoredMember
	ca      pki.CA
	certs   string
}

func newRestoredCluster(t testing.TB, size int) *restoredCluster {
	t.Helper()
	c := &restoredCluster{t: t, members: newMembers(t, size)}
	pair, err := pki.NewCA("restored", time.Now(), 0)
	must(t, err)
	c.ca, err = pki.ParseCA(pair)
	must(t, err)
	var ips []net.IP
	for _, m := range c.members {
		ips = append(ips, net.ParseIP(m.host))
	}
	c.certs = c.issue(pki.Leaf{CommonName: "demo-0", IPs: ips, Server: true, Client: true})
	return c
}

// issue writes a certificate where a Secret would be mounted.
func (c *restoredCluster) issue(leaf pki.Leaf) string {
	c.t.Helper()
	issued, err := c.ca.Issue(leaf, time.Now())
	must(c.t, err)
	dir := c.t.TempDir()
	for name, content := range map[string][]byte{"ca.crt": c.ca.CertPEM(), "tls.crt": issued.Cert, "tls.key": issued.Key} {
		must(c.t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

// as is how the user of that name connects.
func (c *restoredCluster) as(user string) *tls.Config {
	c.t.Helper()
	config, err := ReadTLS(c.issue(pki.Leaf{CommonName: user, Client: true}))
	must(c.t, err)
	return config
}

func (c *restoredCluster) url(m restoredMember) string { return "https://" + m.host + ":2379" }

func (c *restoredCluster) start(programs string, extra ...string) {
	c.t.Helper()
	for _, m := range c.members {
		command := exec.Command(filepath.Join(programs, "etcd"), append([]string{"--name=" + m.Member, "--data-dir=" + m.onDisk(m.target()),
			"--initial-cluster-state=existing", "--initial-cluster=" + m.Member + "=" + m.peerURL(), "--initial-cluster-token=token-1a2b3c4d",
			"--initial-advertise-peer-urls=" + m.peerURL(), "--listen-peer-urls=" + m.peerURL(),
			"--listen-client-urls=" + c.url(m), "--advertise-client-urls=" + c.url(m),
			"--client-cert-auth=true", "--trusted-ca-file=" + filepath.Join(c.certs, "ca.crt"),
			"--cert-file=" + filepath.Join(c.certs, "tls.crt"), "--key-file=" + filepath.Join(c.certs, "tls.key"),
			"--unsafe-no-fsync=true", "--log-level=error"}, extra...)...)
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		must(c.t, command.Start())
		c.t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
	}
}

// client is a client that a user of that name would have.
func (c *restoredCluster) client(user string) *clientv3.Client {
	c.t.Helper()
	var urls []string
	for _, m := range c.members {
		urls = append(urls, c.url(m))
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: urls, TLS: c.as(user), Logger: zap.NewNop()})
	must(c.t, err)
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// operator is the operator's own client of the first member, once that answers with a leader.
func (c *restoredCluster) operator(ctx context.Context) (etcd.Client, etcd.Status) {
	c.t.Helper()
	m := c.members[0]
	operator, err := dial.EtcdDialer{}.Dial(etcd.Endpoint{Address: m.host + ":2379", ServerName: m.host, TLS: c.as("root")})
	must(c.t, err)
	c.t.Cleanup(func() { _ = operator.Close() })
	for {
		status, err := operator.Status(ctx)
		if err == nil && status.Leader != 0 {
			return operator, status
		}
		c.again(ctx, err)
	}
}

// again is a moment later, and the end of the test when there is none.
func (c *restoredCluster) again(ctx context.Context, why error) {
	c.t.Helper()
	select {
	case <-ctx.Done():
		c.t.Fatalf("the restored cluster is not as it should be in time: %v", why)
	case <-time.After(50 * time.Millisecond):
	}
}

// readers has a role that reads below public/, and the user demo-client in it.
func (c *cluster) readers(ctx context.Context) {
	c.t.Helper()
	_, err := c.client.RoleAdd(ctx, "readers")
	must(c.t, err)
	_, err = c.client.RoleGrantPermission(ctx, "readers", "public/", clientv3.GetPrefixRangeEnd("public/"), clientv3.PermissionType(clientv3.PermRead))
	must(c.t, err)
	_, err = c.client.UserAddWithOptions(ctx, "demo-client", "", &clientv3.UserAddOptions{NoPassword: true})
	must(c.t, err)
	_, err = c.client.UserGrantRole(ctx, "demo-client", "readers")
	must(c.t, err)
	_, err = c.client.Put(ctx, "public/greeting", "hello")
	must(c.t, err)
}

func TestAClusterWithAuthenticationComesBackWithItAndItsOperatorIsNotLockedOut(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), busy)
			defer cancel()
			source := startCluster(t, version, 1, true)
			source.fill()
			source.readers(ctx)
			source.enableAuth()
			bucket, _ := volumeBucket(t)
			m, err := Take(ctx, source.options(bucket))
			must(t, err)
			if !m.AuthEnabled {
				t.Error("the manifest says that authentication is off")
			}
			again := newRestoredCluster(t, 3)
			restoreAll(t, source.programs, bucket, again.members, originOf(m))
			again.start(source.programs)
			again.assertOperatorMayDoAll(ctx)
			again.assertUsersMayDoTheirs(ctx)
		})
	}
}

// assertOperatorMayDoAll makes each call that the operator makes, of which etcd lets nobody but root make most.
func (c *restoredCluster) assertOperatorMayDoAll(ctx context.Context) {
	c.t.Helper()
	operator, _ := c.operator(ctx)
	c.accepted(ctx, func() error { return operator.ReadLinearizable(ctx) })
	var list etcd.MemberList
	c.accepted(ctx, func() (err error) {
		list, err = operator.MemberList(ctx)
		return err
	})
	if len(list.Members) != len(c.members) {
		c.t.Errorf("%+v", list)
	}
	hash, err := operator.HashKV(ctx, 0)
	must(c.t, err)
	if hash.Revision <= bump {
		c.t.Errorf("%+v", hash)
	}
	c.accepted(ctx, func() error { return operator.DisarmAlarm(ctx, 1, "NOSPACE") })
	var learner etcdutil.Member
	c.accepted(ctx, func() (err error) { // members that have just been connected refuse it
		learner, err = operator.AddLearner(ctx, "http://127.0.0.1:1")
		return err
	})
	c.accepted(ctx, func() error { return operator.Remove(ctx, learner.ID) })
}

// accepted tries a call again for as long as time alone may change its answer.
func (c *restoredCluster) accepted(ctx context.Context, call func() error) {
	c.t.Helper()
	for {
		err := call()
		if err == nil {
			return
		}
		if !etcd.IsRetryLater(err) {
			c.t.Fatal(err)
		}
		c.again(ctx, err)
	}
}

func (c *restoredCluster) assertUsersMayDoTheirs(ctx context.Context) {
	c.t.Helper()
	status, err := c.client("root").AuthStatus(ctx)
	must(c.t, err)
	if !status.Enabled {
		c.t.Error("authentication is off in what was restored")
	}
	reader := c.client("demo-client")
	got, err := reader.Get(ctx, "public/greeting")
	must(c.t, err)
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "hello" {
		c.t.Errorf("a reader reads %v", got.Kvs)
	}
	if _, err := reader.Put(ctx, "public/greeting", "x"); !etcd.IsAuth(err) {
		c.t.Errorf("a reader writes: %v", err)
	}
	if _, err := c.client("stranger").Get(ctx, "public/greeting"); !etcd.IsAuth(err) {
		c.t.Errorf("nobody's user reads: %v", err)
	}
}

// alarmText is how etcd's status words an alarm.
var alarmText = regexp.MustCompile(`^memberID:([0-9]+)\s+alarm:NOSPACE`)

func TestAnAlarmComesBackUnderTheOldMembersIDAndIsDisarmedByIt(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), busy)
			defer cancel()
			source := startCluster(t, version, 1, false, "--quota-backend-bytes=600000")
			source.fillQuota()
			bucket, _ := volumeBucket(t)
			m, err := Take(ctx, source.options(bucket))
			must(t, err)
			again := newRestoredCluster(t, 1)
			restoreAll(t, source.programs, bucket, again.members, originOf(m))
			again.start(source.programs)
			operator, status := again.operator(ctx)
			parts := alarmText.FindStringSubmatch(strings.Join(status.Errors, " "))
			if parts == nil {
				t.Fatalf("the restored member says %q", status.Errors)
			}
			id, err := strconv.ParseUint(parts[1], 10, 64)
			must(t, err)
			if etcdutil.ID(id) == status.MemberID {
				t.Errorf("the alarm is of the new member %s", status.MemberID)
			}
			client := again.client("root")
			if _, err := client.Put(ctx, "key", "value"); err == nil {
				t.Error("the alarm came back and keeps nobody from writing")
			}
			again.accepted(ctx, func() error { return operator.DisarmAlarm(ctx, etcdutil.ID(id), "NOSPACE") })
			if _, err := client.Put(ctx, "key", "value"); err != nil {
				t.Errorf("the alarm was disarmed, and writing fails: %v", err)
			}
		})
	}
}

func TestWithoutACertificateNoOperatorLooksAfterAClusterWithAuthentication(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, version, 1, false)
			c.enableAuth()
			operator, err := dial.EtcdDialer{}.Dial(etcd.Endpoint{Address: strings.TrimPrefix(c.endpoints[0].URL, "http://")})
			must(t, err)
			t.Cleanup(func() { _ = operator.Close() })
			_, statusErr := operator.Status(context.Background())
			_, listErr := operator.MemberList(context.Background())
			if !etcd.IsAuth(statusErr) && !etcd.IsAuth(listErr) {
				t.Errorf("etcd tells who it is: %v; and who its members are: %v", statusErr, listErr)
			}
			t.Logf("status: %v; list: %v", statusErr, listErr)
		})
	}
}
