package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A member that a person asks to be replaced", Label("nodes"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("and that serves and leads is followed by a new one first, while clients write", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "asked", 3)
		cluster.AwaitReady(ctx, 3)
		before, leader := cluster.Identities(ctx), cluster.Leader(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			annotate(ctx, cluster, v1alpha1.AnnotationReplace, fmt.Sprintf("%q", leader))
			Eventually(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(world.Patience).ShouldNot(HaveKey(leader))
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, leader)
		Expect(cluster.History.HasSaid("RemoveMember", "a new member has its place")).To(BeTrue(), "decisions:\n%s", cluster.History)
		Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(3))
		traffic.Finish(ctx)
	})

	It("and that is dead is removed without a wait for repair.replaceAfter, and its volume is kept", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "asked", 3, world.ReplaceAfter(0))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Freeze(ctx, victim)
			Eventually(ctx, func() error { return cluster.CheckReady(ctx, 3) }).ShouldNot(Succeed(), "the member is silent")
			annotate(ctx, cluster, v1alpha1.AnnotationReplace, fmt.Sprintf("%q", victim))
			Eventually(ctx, func() bool {
				return cluster.History.HasSaid("RemoveMember", "the annotation etcdsteward.dev/replace names it")
			}).WithTimeout(world.Patience).Should(BeTrue(), "decisions:\n%s", cluster.History)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		expectKept(ctx, cluster, victim, "Unknown")
		traffic.Finish(ctx)
	})
})
