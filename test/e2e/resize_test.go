package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("CPU and memory of a running cluster", Label("roll"), func() {
	ownNamespace()

	It("grow without a restart, stop at the first member where no node has as much, and heal when they are put back", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "sized", 3)
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				for _, amounts := range [][2]v1alpha1.Amount{{"120m", "160Mi"}, {"90m", "128Mi"}} {
					cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
						s.Pod.Resources.Requests[corev1.ResourceCPU] = amounts[0]
						s.Pod.Resources.Requests[corev1.ResourceMemory] = amounts[1]
					})
					cluster.AwaitReady(ctx, 3)
					Eventually(ctx, func(g Gomega) { expectRunningWith(ctx, g, cluster, amounts) }).Should(Succeed())
				}
			})
			expectUntouched(ctx, cluster, was)
			expectNoRestarts(ctx, cluster)

			before := specOf(ctx, cluster)
			traffic.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.Resources.Requests[corev1.ResourceMemory] = "500Gi" })
				expectHeard(ctx, cluster, "Unschedulable")
				first := theOneStopped(ctx, cluster, was)
				Consistently(ctx, func() error { return onlyStopped(ctx, cluster, was, first) }).WithTimeout(watching).Should(Succeed())
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
				cluster.AwaitReady(ctx, 3)
				Expect(onlyStopped(ctx, cluster, was, first)).To(Succeed())
			})
			expectSame(ctx, cluster, was)
			traffic.Finish(ctx)
		})
})

// expectRunningWith expects each kubelet to say that its member has these requests of CPU and memory.
func expectRunningWith(ctx context.Context, g Gomega, c *world.Cluster, amounts [2]v1alpha1.Amount) {
	pods, err := c.Pods(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods).To(HaveLen(3))
	for i := range pods {
		g.Expect(resources.HasItsAmounts(&pods[i])).To(BeTrue(), pods[i].Name)
		status := pods[i].Status.ContainerStatuses[0]
		g.Expect(status.Resources).NotTo(BeNil(), pods[i].Name)
		g.Expect(status.Resources.Requests.Cpu().String()).To(Equal(string(amounts[0])), pods[i].Name)
		g.Expect(status.Resources.Requests.Memory().String()).To(Equal(string(amounts[1])), pods[i].Name)
	}
}
