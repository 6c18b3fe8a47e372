package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A Kubernetes API server whose only etcd is such a cluster", Label("versions"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is served from 3.5 to 3.7 and back: a retry mends each request that fails, and its watch misses nothing",
		NodeTimeout(15*time.Minute), func(ctx context.Context) {
			cluster := story.Create(ctx, "only", 3, world.Version("3.5.35"))
			cluster.AwaitReady(ctx, 3)
			ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
			server := cluster.StartAPIServer(ctx)
			traffic := server.Write(ctx)
			for _, to := range []struct{ version, clusterVersion string }{{"3.7.3", "3.7.0"}, {"3.5.35", "3.5.0"}} {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = to.version })
				cluster.AwaitReady(ctx, 3)
				expectVersion(ctx, cluster, to.version)
				expectClusterVersion(ctx, cluster, to.clusterVersion)
				traffic.Flow(ctx)
			}
			traffic.Finish(ctx)
			server.Kill() // it writes by itself, too
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			Expect(volumes(ctx, cluster)).To(Equal(data))
			cluster.AwaitEqualHashes(ctx)
		})
})
