package world

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// slowTable is the packet filter's table that makes a member slow, in the network of its Pod and gone with it.
const slowTable = "inet steward_slow"

// SlowPeers lets a member send its peers no more than so many KiB a second. Small packets pass, so that heartbeats and
// probes go on, as where a link is thin and its queue is fair. What it returns makes the link fast again; the end of the
// story does so as well.
func (c *Cluster) SlowPeers(ctx context.Context, member string, kib int) (heal func(context.Context)) {
	ginkgo.GinkgoHelper()
	pid := c.pid(ctx, member)
	limit := fmt.Sprintf("meta length > 500 limit rate over %d kbytes/second burst 64 kbytes drop", kib)
	c.filter(ctx, pid, fmt.Sprintf(`add table %[1]s
add chain %[1]s out { type filter hook output priority 0; }
add rule %[1]s out tcp sport %[2]d %[3]s
add rule %[1]s out tcp dport %[2]d %[3]s
`, slowTable, etcdutil.PeerPort, limit))
	healed := false
	heal = func(ctx context.Context) {
		if !healed {
			c.filter(ctx, pid, "delete table "+slowTable+"\n")
		}
		healed = true
	}
	ginkgo.DeferCleanup(heal)
	return heal
}

// filter gives nft these commands in the network of a process.
func (c *Cluster) filter(ctx context.Context, pid int, commands string) {
	ginkgo.GinkgoHelper()
	nft := exec.CommandContext(ctx, "nsenter", "--net=/proc/"+strconv.Itoa(pid)+"/ns/net", "nft", "-f", "-")
	nft.Stdin = strings.NewReader(commands)
	said, err := nft.CombinedOutput()
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "nft: %s", said)
}

// fillSize is how many bytes each of those keys has.
const fillSize = 40 << 10

// Fill puts so many large keys under a prefix, one after the other.
func (c *Cluster) Fill(ctx context.Context, prefix string, keys int) {
	ginkgo.GinkgoHelper()
	fill(ctx, c.connect(ctx), prefix, keys)
}

func fill(ctx context.Context, etcd *clientv3.Client, prefix string, keys int) {
	ginkgo.GinkgoHelper()
	defer etcd.Close()
	value := strings.Repeat("x", fillSize)
	for i := range keys {
		_, err := etcd.Put(ctx, fmt.Sprintf("/filled/%s/%06d", prefix, i), value)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
}

// Filled is how many keys there are under the prefix.
func (c *Cluster) Filled(ctx context.Context, prefix string) int {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	answer, err := etcd.Get(ctx, fmt.Sprintf("/filled/%s/", prefix), clientv3.WithPrefix(), clientv3.WithCountOnly())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return int(answer.Count)
}

// Intact is how many keys under the prefix have the value that Fill gave them.
func (c *Cluster) Intact(ctx context.Context, prefix string) int {
	ginkgo.GinkgoHelper()
	etcd := c.connect(ctx)
	defer etcd.Close()
	answer, err := etcd.Get(ctx, fmt.Sprintf("/filled/%s/", prefix), clientv3.WithPrefix())
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	intact := 0
	for _, kv := range answer.Kvs {
		if string(kv.Value) == strings.Repeat("x", fillSize) {
			intact++
		}
	}
	return intact
}

// connect is a client of all voters.
func (c *Cluster) connect(ctx context.Context) *clientv3.Client {
	ginkgo.GinkgoHelper()
	etcd, err := c.tryConnect(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return etcd
}

// tryConnect is connect where there may be nobody to connect to.
func (c *Cluster) tryConnect(ctx context.Context) (*clientv3.Client, error) {
	config, err := c.ClientTLS(ctx)
	if err != nil {
		return nil, err
	}
	names := &names{}
	endpoints, err := c.endpoints(ctx, names)
	if err != nil {
		return nil, err
	}
	return client.Dial(client.Options{Endpoints: endpoints, TLS: config, Connect: names.connect})
}
