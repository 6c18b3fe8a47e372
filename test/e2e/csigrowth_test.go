package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("Larger volumes of a CSI driver", Label("growth"), func() {
	ownNamespace()

	It("grow by its resizer, one after the other, while clients write and no member stops", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		cluster := story.Create(ctx, "resized", 3, onDriver(world.Expandable))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, ofSize("12Gi"))
			awaitCapacities(ctx, cluster, "12Gi")
			cluster.AwaitReady(ctx, 3)
		})
		expectVolumesOf(ctx, cluster, "12Gi")
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("that it cannot give are told in its words, and grow to what it can once the spec asks for that", perStory,
		func(ctx context.Context) {
			kube.GrowingVolumes(ctx)
			cluster := story.Create(ctx, "limited", 3, onDriver(world.Infeasible))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, ofSize("20Gi"))
				cluster.AwaitStalled(ctx, "VolumeExpansion")
				Expect(claimsOf(ctx, cluster)).To(HaveLen(1), "no other volume is tried")
				cluster.Change(ctx, ofSize("12Gi"))
				awaitCapacities(ctx, cluster, "12Gi")
				cluster.AwaitReady(ctx, 3)
			})
			expectVolumesOf(ctx, cluster, "12Gi")
			expectUntouched(ctx, cluster, was)
			traffic.Finish(ctx)
		})

	It("that its StorageClass does not allow are refused by Kubernetes, and are told with the ways on", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		cluster := story.Create(ctx, "unresized", 3, onDriver(world.Fixed))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Change(ctx, ofSize("12Gi"))
		expectHeard(ctx, cluster, "VolumeNotExpandable")
		cluster.Change(ctx, ofSize("8Gi"))
		cluster.AwaitReady(ctx, 3)
		expectUntouched(ctx, cluster, was)
	})
})

// onDriver puts a cluster on a class of localkube's CSI driver.
func onDriver(class string) world.Option {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: &class} }
}

// awaitCapacities waits until the status of each member's claim says this size.
func awaitCapacities(ctx context.Context, c *world.Cluster, size string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods, err := c.Pods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for _, pod := range pods {
			claim := pvc()
			g.Expect(kube.Client.Get(ctx, key(pod.Name), claim)).To(Succeed())
			g.Expect(claim.Status.Capacity.Storage().String()).To(Equal(size), pod.Name)
		}
	}).WithTimeout(2*world.Patience).Should(Succeed(), "decisions:\n%s", c.History)
}
