package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// actsWithin is how long it takes at most until another replica of the operator acts.
const actsWithin = 15 * time.Second

// operatorsEnd is one way in which the replica of the operator that leads is lost, with what is around it.
type operatorsEnd struct {
	when string
	take func(ctx context.Context, leader *corev1.Pod) (heal func(context.Context))
}

var operatorsEnds = []operatorsEnd{
	{"whose node is cut off", func(ctx context.Context, leader *corev1.Pod) func(context.Context) {
		return kube.Cut(ctx, leader.Spec.NodeName)
	}},
	{"whose node loses power", func(ctx context.Context, leader *corev1.Pod) func(context.Context) {
		kube.KillNode(ctx, leader.Spec.NodeName)
		return func(ctx context.Context) { kube.StartNode(ctx, leader.Spec.NodeName) }
	}},
	{"whose process is stopped", func(ctx context.Context, leader *corev1.Pod) func(context.Context) {
		return kube.FreezeOperator(ctx, *leader)
	}},
}

var _ = Describe("The replica of the operator that leads,", Label("networks"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, end := range operatorsEnds {
		It(end.when+", is followed by another one that acts within "+actsWithin.String(), perStory, func(ctx context.Context) {
			awaitOperators(ctx)
			cluster := story.Create(ctx, "led", 3, world.ReplaceAfter(never))
			cluster.AwaitReady(ctx, 3)
			ids := cluster.Identities(ctx)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				leader, err := kube.OperatorLeader(ctx)
				Expect(err).NotTo(HaveOccurred())
				began := time.Now()
				heal := end.take(ctx, leader)
				budget := &policyv1.PodDisruptionBudget{}
				Expect(kube.Client.Get(ctx, key(cluster.Name), budget)).To(Succeed())
				Expect(kube.Client.Delete(ctx, budget)).To(Succeed())
				Eventually(ctx, func() error {
					return kube.Client.Get(ctx, key(cluster.Name), &policyv1.PodDisruptionBudget{})
				}).WithTimeout(actsWithin - time.Since(began)).WithPolling(50 * time.Millisecond).Should(Succeed())
				AddReportEntry("taken over", fmt.Sprintf("another replica acted after %.1f s", time.Since(began).Seconds()))
				heal(ctx)
				cluster.AwaitReady(ctx, 3)
			})
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			awaitOperators(ctx)
			traffic.Finish(ctx)
		})
	}
})
