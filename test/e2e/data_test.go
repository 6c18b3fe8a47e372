package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A member's data that is lost", Label("data"), func() {
	ownNamespace()

	It("with its volume is replaced by a new member under a new name", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "lost", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		for _, pick := range []func() string{
			func() string { return follower(ctx, cluster) },
			func() string { return cluster.Leader(ctx) },
		} {
			before := cluster.Identities(ctx)
			victim := pick()
			traffic.During(ctx, func() {
				loseVolume(ctx, cluster, victim)
				cluster.AwaitReady(ctx, 3)
			})
			expectReplaced(ctx, cluster, before, victim)
		}
		Eventually(ctx, func() int { return len(volumes(ctx, cluster)) }).Should(Equal(3))
		traffic.Finish(ctx)
	})

	It("with its ephemeral Pod is replaced by a new member under a new name", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "gone", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			deletePod(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	It("that is the only copy is never made up for by an empty cluster", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "only", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
		loseVolume(ctx, cluster, cluster.Member(0))
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})
})

// loseVolume deletes a member's claim and its Pod, and waits until the claim is really gone.
func loseVolume(ctx context.Context, c *world.Cluster, member string) {
	GinkgoHelper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(c.Namespace, member)}
	old := uidOf(ctx, claim, key(member))
	Expect(old).NotTo(BeEmpty())
	Expect(kube.Client.Delete(ctx, claim)).To(Succeed())
	pod, err := c.Pod(ctx, member)
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
	Eventually(ctx, func() any { return uidOf(ctx, pvc(), key(member)) }).ShouldNot(BeEquivalentTo(old), "the volume was deleted and is there")
}

// expectReplaced expects the lost member's name and ID to be gone, and one new member beside the old ones.
func expectReplaced(ctx context.Context, c *world.Cluster, before map[string]etcdutil.ID, lost string) {
	GinkgoHelper()
	after := c.Identities(ctx)
	Expect(after).NotTo(HaveKey(lost), "the name is not used again")
	highest := 0
	for name, id := range before {
		if name != lost {
			Expect(after).To(HaveKeyWithValue(name, id))
		}
		ordinal, _ := etcdutil.Ordinal(c.Name, name)
		highest = max(highest, ordinal)
	}
	Expect(after).To(HaveLen(len(before)))
	Expect(after).To(HaveKey(c.Member(highest+1)), "one above the highest ordinal")
}

// expectNobodyServes watches for a while that no member answers as a cluster, neither the old one nor a new one.
func expectNobodyServes(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Consistently(ctx, func() error {
		pods, err := c.Pods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			if view, err := c.Look(ctx, &pods[i]); err == nil {
				Fail("serves again: " + view.Pod + " of cluster " + view.Status.ClusterID.String())
			}
		}
		return nil
	}).WithTimeout(watching).Should(Succeed())
}
