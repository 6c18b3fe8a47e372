package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

var _ = Describe("A member that lost its data", Label("data", "specs"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("stays a member while a quota has no room for the volume of its successor, and is replaced once there is room", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "tight", 3)
			cluster.AwaitReady(ctx, 3)
			quota := limitNamespace(ctx, corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse("3")})
			before, victim := cluster.Identities(ctx), follower(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				wipeUnder(ctx, cluster, victim)
				awaitCrash(ctx, cluster, victim)
				Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).Should(And(HavePrefix("QuotaExceeded: "),
					ContainSubstring("exceeded quota: tight"), ContainSubstring(victim+" stays a member until Kubernetes admits ")))
				Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(before))
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hard":{"persistentvolumeclaims":"4"}}}`))
				Expect(kube.Client.Patch(ctx, quota, patch)).To(Succeed())
				cluster.AwaitReady(ctx, 3)
			})
			expectReplaced(ctx, cluster, before, victim)
			expectKept(ctx, cluster, victim, "Disk")
			traffic.Finish(ctx)
		})
})

var _ = Describe("A member whose volume is deleted while no node is left for its successor", Label("data", "specs"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("goes first after five minutes, and the successor takes its node, under "+rulesOfPlaces[0].how, first, perStory,
		func(ctx context.Context) {
			nodes, err := kube.Nodes(ctx)
			Expect(err).NotTo(HaveOccurred())
			if len(nodes) != 3 {
				needs.Missing(GinkgoT(), "this cluster has more or fewer than three nodes")
			}
			cluster := story.Create(ctx, "apart", 3, rulesOfPlaces[0].rule)
			cluster.AwaitReady(ctx, 3)
			before, victim := cluster.Identities(ctx), cluster.Member(1)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, victim)})).To(Succeed())
				Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).Should(And(HavePrefix("Unschedulable: "),
					ContainSubstring("didn't match pod anti-affinity rules")))
				Eventually(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(7 * time.Minute).ShouldNot(HaveKey(victim))
				cluster.AwaitReady(ctx, 3)
			})
			Expect(cluster.Identities(ctx)).To(HaveLen(3))
			expectOnThreeNodes(ctx, cluster)
			expectReplaced(ctx, cluster, before, victim)
			traffic.Finish(ctx)
		})
})
