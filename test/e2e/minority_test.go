package e2e

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("Two nodes of three that die together", Label("nodes"), Serial, func() {
	ownOperator()

	It("take the quorum along: that is said, nothing is changed however long it lasts, and all heals when they are back", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "minority")
		was, byNode := identityOf(ctx, cluster), membersByNode(ctx, cluster)
		Expect(byNode).To(HaveLen(3), "members are spread over the nodes")
		down := []string{cluster.NodeOf(ctx, cluster.Member(0)), cluster.NodeOf(ctx, cluster.Member(1))}
		traffic := cluster.Write(ctx)
		for _, node := range down {
			kube.KillNode(ctx, node)
		}
		cluster.AwaitStep(ctx, "MembershipUnknown")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, "False", "ReadFailed")
		since, stored := mark(ctx), traffic.Acknowledged()
		for _, node := range down {
			kube.AwaitNodeSilent(ctx, node)
		}
		Consistently(ctx, func(g Gomega) {
			g.Expect(podsOf(ctx, cluster)).To(Equal(was.pods))
			g.Expect(volumes(ctx, cluster)).To(Equal(was.volumes))
			g.Expect(traffic.Acknowledged()).To(Equal(stored), "one of three stores nothing")
		}).WithTimeout(outlasting).Should(Succeed(), "decisions:\n%s", cluster.History)
		Expect(changes(ctx, since)).To(BeEmpty(), "decisions:\n%s", cluster.History)
		for _, node := range down {
			kube.StartNode(ctx, node)
		}
		cluster.AwaitReady(ctx, 3)
		traffic.Flow(ctx)
		expectUntouched(ctx, cluster, was)
		awaitOperators(ctx)
		traffic.FinishAfterOutage(ctx)
	})
})

// changes are the operator's writes in the story's namespace since then, other than of what it tells.
func changes(ctx context.Context, since world.AuditMark) []world.Request {
	GinkgoHelper()
	writes, err := kube.OperatorWrites(ctx, since, story.Namespace)
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(writes, func(r world.Request) bool {
		return r.Object.Resource == "etcdclusters" && r.Object.Subresource == "status"
	})
}
