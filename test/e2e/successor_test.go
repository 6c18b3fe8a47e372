package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
