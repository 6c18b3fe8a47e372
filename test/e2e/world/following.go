package world

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// reading is how long a client waits for the Secret that it reads for a handshake.
const reading = 10 * time.Second

// WriteFollowing starts a client that reads the Secret of clients anew for each connection: what it shows, and whom it
// trusts.
func (c *Cluster) WriteFollowing(ctx context.Context) *Traffic {
	ginkgo.GinkgoHelper()
	names := &names{}
	endpoints, err := c.endpoints(ctx, names)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(endpoints).NotTo(gomega.BeEmpty(), "voters to write to")
	t, background := c.start(ctx, names, client.Options{Endpoints: endpoints, TLS: c.followingTLS()})
	t.ended.Go(func() { c.resolve(background, names, t.SetEndpoints) })
	t.Flow(ctx)
	return t
}

func (c *Cluster) followingTLS() *tls.Config {
	read := func() (*tls.Config, error) {
		ctx, cancel := context.WithTimeout(context.Background(), reading)
		defer cancel()
		return c.ClientTLS(ctx)
	}
	return client.Following(read)
}
