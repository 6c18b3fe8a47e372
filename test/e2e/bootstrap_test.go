package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A new cluster", Label("bootstrap"), func() {
	ownNamespace()

	It("of one member serves", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "one", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
	})

	for _, version := range []string{world.DefaultVersion, "3.5.21", "3.5.35", "3.7.3"} {
		It("of three members with TLS and volumes starts all of them at once as voters, with etcd "+version, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "three", 3, world.Version(version))
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Client.Get(ctx, key(cluster.Member(2)), pvc())).To(Succeed())
			expectNoLearnerEver(cluster)
			cluster.Write(ctx).Finish(ctx)
		})
	}

	It("of five ephemeral members without TLS serves", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "five", 5, world.Ephemeral, withoutTLS)
		cluster.AwaitReady(ctx, 5)
		expectNoLearnerEver(cluster)
		cluster.Write(ctx).Finish(ctx)
	})

	It("has a client Service that selects its voters, and a bundle that a user connects with", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "served", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Status.ClientSecretRef).To(HaveField("Name", "served-client-tls"))
		Expect(object.Status.Endpoints).To(ContainElement(ContainSubstring("served." + story.Namespace + ".svc")))
		Eventually(ctx, func() any { return readyAddresses(ctx, "served") }).Should(HaveLen(3))
		out, err := story.Kubectl(ctx, "-n", story.Namespace, "exec", cluster.Member(0), "-c", "etcd", "--", "etcdctl", "endpoint", "health", "--cluster")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("is healthy"))
	})

	It("has nothing to do with one of the same name in another namespace", perStory, func(ctx context.Context) {
		other, err := kube.NewStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		here, there := story.Create(ctx, "twin", 3, world.Ephemeral), other.Create(ctx, "twin", 3, world.Ephemeral)
		here.AwaitReady(ctx, 3)
		there.AwaitReady(ctx, 3)
		Expect(here.ClusterID).NotTo(Equal(there.ClusterID))

		traffic := there.Write(ctx)
		traffic.During(ctx, func() {
			Expect(kube.Client.Delete(ctx, &v1alpha1.EtcdCluster{ObjectMeta: meta(story.Namespace, "twin")})).To(Succeed())
			Eventually(ctx, here.Pods).Should(BeEmpty())
		})
		there.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
	})
})

func withoutTLS(c *v1alpha1.EtcdCluster) { c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled} }

// expectNoLearnerEver looks through all decisions: a static parallel bootstrap adds and promotes nobody.
func expectNoLearnerEver(c *world.Cluster) {
	GinkgoHelper()
	Expect(c.History.Rules()).NotTo(BeEmpty())
	for _, rule := range []string{"grow", "promote"} {
		Expect(c.History.Rules()).NotTo(ContainElement(rule), fmt.Sprintf("decisions:\n%s", c.History))
	}
}
