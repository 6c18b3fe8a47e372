package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A spec that asks for another StorageClass than members have", Label("volumes", "operator"), func() {
	ownOperator()

	It("moves each member once, also where the operator is killed at each rule", NodeTimeout(12*time.Minute), func(ctx context.Context) {
		old, next := makeClass(ctx, "a"), makeClass(ctx, "b")
		cluster := story.Create(ctx, "driven", 3, inClass(old))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		stop := operator.KillAtEachRule(cluster)
		traffic.During(ctx, func() {
			cluster.Change(ctx, toClass(next.Name))
			expectMoved(ctx, cluster, was)
		})
		Expect(killedAt(stop)).To(ContainElements("grow", "promote", "shrink"))
		expectClasses(ctx, cluster, map[string]int{next.Name: 3})
		traffic.Finish(ctx)
	})
})

var _ = Describe("A spec that asks for another StorageClass than members have", Label("volumes", "nodes"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("goes on after the node of a new member was lost midway, and is back", NodeTimeout(12*time.Minute), func(ctx context.Context) {
		old, next := makeClass(ctx, "a"), makeClass(ctx, "b")
		cluster := story.Create(ctx, "midway", 3, inClass(old), world.ReplaceAfter(never))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		cluster.Change(ctx, toClass(next.Name))
		node := awaitNodeOfNewMember(ctx, cluster, was)
		kube.KillNode(ctx, node)
		Eventually(ctx, func() (corev1.ConditionStatus, error) { return kube.NodeReady(ctx, node) }).WithTimeout(world.Patience).
			Should(Equal(corev1.ConditionUnknown))
		kube.StartNode(ctx, node)
		expectMoved(ctx, cluster, was)
		expectClasses(ctx, cluster, map[string]int{next.Name: 3})
		traffic.FinishAfterOutage(ctx)
	})
})

// awaitNodeOfNewMember waits for a member that was not there before, and says which node it is on. An old one may be
// there as well, so there may be no quorum while that node is away.
func awaitNodeOfNewMember(ctx context.Context, c *world.Cluster, was identity) (node string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods, err := c.Pods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return was.pods[p.Name] == "" && p.Spec.NodeName != "" })
		g.Expect(i).To(BeNumerically(">=", 0), "no new member is on a node")
		node = pods[i].Spec.NodeName
	}).WithTimeout(world.Patience).WithPolling(100*time.Millisecond).Should(Succeed(), "decisions:\n%s", c.History)
	return node
}

func toClass(name string) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = &name }
}
