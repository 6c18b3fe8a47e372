package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A cluster whose authentication is turned on", Label("auth"), func() {
	ownNamespace()

	It("is looked after as before, by the operator's certificate", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "secure", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		cluster.EnableAuth(ctx, "secure-client")
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		Expect(cluster.AuthIsOn(ctx)).To(BeTrue())
	})

	It("and that has no certificates says what it lacks, and keeps its members", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "plain", 1, withoutTLS)
		cluster.AwaitReady(ctx, 1)
		cluster.EnableAuth(ctx)
		cluster.AwaitStalled(ctx, facts.ReasonAuth)
		pod, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			again, err := cluster.Pod(ctx, cluster.Member(0))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.UID).NotTo(Equal(pod.UID))
			g.Expect(again.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodReady),
				HaveField("Status", corev1.ConditionTrue))))
		}).WithTimeout(world.Patience).Should(Succeed())
		cluster.AwaitStalled(ctx, facts.ReasonAuth)
	})
})
