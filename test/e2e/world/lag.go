package world

import (
	"context"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// FillThrough is Fill with one member as the only endpoint, so that nobody waits for a member that is behind.
func (c *Cluster) FillThrough(ctx context.Context, member, prefix string, keys int) {
	ginkgo.GinkgoHelper()
	fill(ctx, c.dialOnly(ctx, member), prefix, keys)
}

// dialOnly connects a client to one member.
func (c *Cluster) dialOnly(ctx context.Context, member string) *clientv3.Client {
	ginkgo.GinkgoHelper()
	config, err := c.ClientTLS(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	names := &names{}
	_, err = c.endpoints(ctx, names)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	scheme := etcdutil.SchemeHTTPS
	if config == nil {
		scheme = etcdutil.SchemeHTTP
	}
	etcd, err := client.Dial(client.Options{
		Endpoints: []string{etcdutil.ClientURL(scheme, member, c.Name, c.Namespace)}, TLS: config, Connect: names.connect,
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return etcd
}

// Lag is how many raft entries a member has applied fewer than the one that has applied most.
func (c *Cluster) Lag(ctx context.Context, member string) (int, error) {
	pods, err := c.Pods(ctx)
	if err != nil {
		return 0, err
	}
	var most, own uint64
	for i := range pods {
		etcd, err := c.Dial(ctx, &pods[i])
		if err != nil {
			return 0, err
		}
		status, err := etcd.Status(ctx)
		_ = etcd.Close()
		if err != nil {
			return 0, fmt.Errorf("asking %s for its status: %w", pods[i].Name, err)
		}
		most = max(most, status.RaftAppliedIndex)
		if pods[i].Name == member {
			own = status.RaftAppliedIndex
		}
	}
	return int(most - own), nil
}
