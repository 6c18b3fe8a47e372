package backup

import (
	"context"
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// enableAuth turns authentication on with a root user without a password: with TLS its certificate is enough.
func (c *cluster) enableAuth() {
	c.t.Helper()
	ctx := context.Background()
	_, err := c.client.UserAddWithOptions(ctx, "root", "", &clientv3.UserAddOptions{NoPassword: true})
	must(c.t, err)
	_, err = c.client.UserGrantRole(ctx, "root", "root")
	must(c.t, err)
	_, err = c.client.AuthEnable(ctx)
	must(c.t, err)
}

// mayWriteBelow has the role of a client, as the operator makes it, and two keys in three revisions that it may write.
func (c *cluster) mayWriteBelow(prefix string) {
	c.t.Helper()
	ctx, role, end := context.Background(), clientRoles+"shop/shop", clientv3.GetPrefixRangeEnd(prefix)
	_, err := c.client.RoleAdd(ctx, role)
	must(c.t, err)
	_, err = c.client.RoleGrantPermission(ctx, role, prefix, end, clientv3.PermissionType(clientv3.PermReadWrite))
	must(c.t, err)
	_, err = c.client.RoleGrantPermission(ctx, role, "\x00", "\x00", clientv3.PermissionType(clientv3.PermRead))
	must(c.t, err)
	for _, key := range []string{"1", "2", "2"} {
		_, err = c.client.Put(ctx, prefix+key, "hello")
		must(c.t, err)
	}
}

func TestAClusterWithAuthenticationIsBackedUpByItsCertificateAndNotWithoutOne(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bucket, _ := volumeBucket(t)
			c := startCluster(t, version, 1, true)
			c.fill()
			c.mayWriteBelow("shop/")
			c.enableAuth()
			o := c.options(bucket)
			o.Verify = true
			m, err := Take(context.Background(), o)
			must(t, err)
			if !m.AuthEnabled {
				t.Errorf("the manifest says that authentication is off: %+v", m)
			}
			_, err = Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
			must(t, err)
			c.restore(o.Scratch)
			said, err := Compare(context.Background(), compareOptions(o))
			must(t, err)
			if all := said.Clients; len(all) != 1 || all[0].Name != "shop/shop" || all[0].Keys != 2 || all[0].Revisions != 3 || all[0].Bytes < 100 {
				t.Errorf("of the client it says %+v", all)
			}

			plain := startCluster(t, version, 1, false)
			plain.enableAuth()
			_, err = Take(context.Background(), plain.options(bucket))
			wantReason(t, err, ReasonAuthRequired)
		})
	}
}

// fillQuota writes until the member has the alarm NOSPACE.
func (c *cluster) fillQuota() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), busy)
	defer cancel()
	var err error
	for err == nil {
		_, err = c.client.Put(ctx, "key", strings.Repeat("v", 100_000))
	}
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		c.t.Fatalf("writing more than the quota: %v", err)
	}
}

func TestAnAlarmIsWrittenIntoTheManifest(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, version, 1, false, "--quota-backend-bytes=600000")
			c.fillQuota()
			bucket, _ := volumeBucket(t)
			o := c.options(bucket)
			o.Verify = true
			m, err := Take(context.Background(), o)
			must(t, err)
			if len(m.Alarms) != 1 || !strings.HasPrefix(m.Alarms[0], pb.AlarmType_NOSPACE.String()+" ") {
				t.Errorf("the manifest has the alarms %q", m.Alarms)
			}
			_, err = Fetch(context.Background(), FetchOptions{Transfer: Transfer{Bucket: bucket}, Scratch: o.Scratch})
			must(t, err)
			c.restore(o.Scratch)
			_, err = Compare(context.Background(), compareOptions(o))
			must(t, err)
		})
	}
}

func TestABackupOfThreeMembersIsOfAFollower(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "3.6.16", 3, true)
	c.fill()
	bucket, _ := volumeBucket(t)
	m, err := Take(context.Background(), c.options(bucket))
	must(t, err)
	for _, endpoint := range c.endpoints {
		status, err := c.client.Status(context.Background(), endpoint.URL)
		must(t, err)
		if endpoint.Name == m.Member && status.Leader == status.Header.MemberId {
			t.Errorf("the snapshot is of %s, which leads", m.Member)
		}
	}
	// And of any that is left, as long as there is a quorum.
	must(t, c.commands[0].Process.Kill())
	ctx, cancel := context.WithTimeout(context.Background(), busy)
	defer cancel()
	_, err = c.client.Get(ctx, "first") // once one of them leads
	must(t, err)
	_, err = Take(ctx, c.options(bucket))
	must(t, err)
}
