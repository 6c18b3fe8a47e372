package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
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

	It("by people is told where the spec says that it is off, and becomes the spec's once that asks for it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "byhand", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		cluster.EnableAuth(ctx, "byhand-client")
		cluster.Change(ctx, withAuth(false))
		cluster.AwaitStalled(ctx, facts.ReasonAuthByHand)
		Expect(cluster.AuthIsOn(ctx)).To(BeTrue())
		cluster.Change(ctx, withAuth(true))
		cluster.AwaitReady(ctx, 1)
		Expect(cluster.AuthIsOn(ctx)).To(BeTrue())
		cluster.Change(ctx, withAuth(false))
		cluster.AwaitReady(ctx, 1)
		Expect(cluster.AuthIsOn(ctx)).To(BeFalse())
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

// withAuth has the spec say whether authentication is on.
func withAuth(enabled bool) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Auth = &v1alpha1.AuthSpec{Enabled: enabled} }
}

var _ = Describe("A spec that turns authentication on and off", Label("auth", "operator"), func() {
	ownOperator()

	It("fails no write of the shared certificate and restarts no member, though the operator is killed after each change", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "turned", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		stop := operator.KillAtEachChange(cluster)
		traffic.During(ctx, func() {
			cluster.Change(ctx, withAuth(true))
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.AuthIsOn(ctx)).To(BeTrue())
		})
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Auth = nil })
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.AuthIsOn(ctx)).To(BeTrue())
			cluster.Change(ctx, withAuth(false))
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.AuthIsOn(ctx)).To(BeFalse())
		})
		Expect(killedAt(stop)).To(ContainElements("MakeUsers", "OwnAuth", "EnableAuth", "DisableAuth"))
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})
