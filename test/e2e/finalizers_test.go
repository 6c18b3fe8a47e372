package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A member whose Pod a finalizer keeps", Label("pods"), func() {
	ownNamespace()

	It("stays a member, holds a roll back, and is the same once the finalizer is taken off", perStory, func(ctx context.Context) {
		const replaceAfter = 30 * time.Second
		cluster := story.Create(ctx, "kept", 3, world.ReplaceAfter(replaceAfter))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		setFinalizers(ctx, cluster, `["example.com/hold"]`)
		DeferCleanup(func(ctx context.Context) { setFinalizers(ctx, cluster, "null") })
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: quantity("1Gi")} })
			var held string
			Eventually(ctx, func(g Gomega) {
				object, err := cluster.Get(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				i := slices.IndexFunc(object.Status.Members, func(m v1alpha1.MemberStatus) bool { return m.Reason == "PodHeld" })
				g.Expect(i).To(BeNumerically(">=", 0), "members are %v", object.Status.Members)
				held = object.Status.Members[i].Name
			}).Should(Succeed())
			expectSaid(ctx, cluster, "member-health", "example.com/hold. The controller that added a finalizer removes it, or you do. "+held+" stays a member.")
			Consistently(ctx, func(g Gomega) {
				g.Expect(cluster.Identities(ctx)).To(Equal(was.ids))
				pods := podsOf(ctx, cluster) // without those that are on their way out
				g.Expect(pods).To(HaveLen(2), "the roll goes no further")
				pods[held] = uidOf(ctx, &corev1.Pod{}, key(held))
				g.Expect(pods).To(Equal(was.pods))
			}).WithTimeout(2 * replaceAfter).WithPolling(2 * time.Second).Should(Succeed())
			setFinalizers(ctx, cluster, "null")
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

// setFinalizers has another controller put finalizers on each member's Pod, or take them off.
func setFinalizers(ctx context.Context, c *world.Cluster, finalizers string) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`))
	for ordinal := range 3 {
		pod := &corev1.Pod{ObjectMeta: meta(c.Namespace, c.Member(ordinal))}
		Expect(client.IgnoreNotFound(kube.Client.Patch(ctx, pod, patch))).To(Succeed())
	}
}
