package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A Pod that is lost", Label("pods"), func() {
	ownNamespace()

	for _, version := range []string{world.DefaultVersion, "3.5.35", "3.7.3"} {
		It("comes back on its volume as the same member, follower or leader, with etcd "+version, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "pods", 3, world.Version(version))
			cluster.AwaitReady(ctx, 3)
			ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
			traffic := cluster.Write(ctx)
			for _, pick := range []func() string{
				func() string { return follower(ctx, cluster) },
				func() string { return cluster.Leader(ctx) },
			} {
				traffic.During(ctx, func() {
					deletePod(ctx, cluster, pick())
					cluster.AwaitReady(ctx, 3)
				})
			}
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			Expect(volumes(ctx, cluster)).To(Equal(data))
			traffic.Finish(ctx)
		})
	}

	It("comes back when all of them are deleted at once", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "all", 3)
		cluster.AwaitReady(ctx, 3)
		ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
		traffic := cluster.Write(ctx)
		pods, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			Expect(kube.Client.Delete(ctx, &pods[i])).To(Succeed())
		}
		for i := range pods {
			awaitPodGone(ctx, cluster, &pods[i])
		}
		cluster.AwaitReady(ctx, 3)
		traffic.Flow(ctx)
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, cluster)).To(Equal(data))
		traffic.FinishAfterOutage(ctx)
	})

	It("is the only one of a cluster of one, and comes back with all that was stored", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "single", 1)
		cluster.AwaitReady(ctx, 1)
		ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
		traffic := cluster.Write(ctx)
		deletePod(ctx, cluster, cluster.Member(0))
		cluster.AwaitReady(ctx, 1)
		traffic.Flow(ctx)
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, cluster)).To(Equal(data))
		traffic.FinishAfterOutage(ctx)
	})

	It("is not even needed: a container killed inside its Pod starts again there", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "inside", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		ids, leader := cluster.Identities(ctx), cluster.Leader(ctx)
		before, err := cluster.Pod(ctx, leader)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.KillEtcd(ctx, leader)
			Eventually(ctx, func() (int, error) { return cluster.Restarts(ctx, leader) }).Should(BeNumerically(">=", 1))
			cluster.AwaitReady(ctx, 3)
		})
		after, err := cluster.Pod(ctx, leader)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.UID).To(Equal(before.UID), "the same Pod")
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		traffic.Finish(ctx)
	})
})

// follower is a member that does not lead.
func follower(ctx context.Context, c *world.Cluster) string {
	GinkgoHelper()
	leader := c.Leader(ctx)
	for name := range c.Identities(ctx) {
		if name != leader {
			return name
		}
	}
	Fail("no member follows")
	return ""
}
