package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("Larger volumes of a CSI driver", Label("growth"), func() {
	ownNamespace()

	It("grow by its resizer, one after the other, while clients write and no member stops", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		cluster := story.Create(ctx, "resized", 3, onDriver(world.Expandable))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, ofSize("12Gi"))
			awaitCapacities(ctx, cluster, "12Gi")
			cluster.AwaitReady(ctx, 3)
		})
		expectVolumesOf(ctx, cluster, "12Gi")
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("that it cannot give are told in its words, and grow to what it can once the spec asks for that", perStory,
		func(ctx context.Context) {
			kube.GrowingVolumes(ctx)
			cluster := story.Create(ctx, "limited", 3, onDriver(world.Infeasible))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, ofSize("20Gi"))
				cluster.AwaitStalled(ctx, "VolumeExpansion")
				Expect(claimsOf(ctx, cluster)).To(HaveLen(1), "no other volume is tried")
				cluster.Change(ctx, ofSize("12Gi"))
				awaitCapacities(ctx, cluster, "12Gi")
				cluster.AwaitReady(ctx, 3)
			})
			expectVolumesOf(ctx, cluster, "12Gi")
			expectUntouched(ctx, cluster, was)
			traffic.Finish(ctx)
		})

	It("that it makes only while no Pod uses them are told, and follow a person who fences each member", perStory,
		func(ctx context.Context) {
			kube.GrowingVolumes(ctx)
			cluster := story.Create(ctx, "offline", 3, onDriver(world.Offline))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, ofSize("12Gi"))
				for range 3 {
					claim := awaitGrowing(ctx, cluster)
					cluster.AwaitStep(ctx, "VolumeExpansion")
					Eventually(ctx, func(g Gomega) {
						object, err := cluster.Get(ctx)
						g.Expect(err).NotTo(HaveOccurred())
						g.Expect(object.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("its node has yet to follow"))))
					}).WithTimeout(world.Patience).Should(Succeed(), "decisions:\n%s", cluster.History)
					restartOffline(ctx, cluster, claim)
					Eventually(ctx, func() (string, error) {
						err := kube.Client.Get(ctx, key(claim.Name), &claim)
						return claim.Status.Capacity.Storage().String(), err
					}).WithTimeout(world.Patience).Should(Equal("12Gi"), "decisions:\n%s", cluster.History)
				}
				cluster.AwaitReady(ctx, 3)
			})
			expectSame(ctx, cluster, was)
			traffic.Finish(ctx)
		})

	It("that its StorageClass does not allow are refused by Kubernetes, and are told with the ways on", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		cluster := story.Create(ctx, "unresized", 3, onDriver(world.Fixed))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Change(ctx, ofSize("12Gi"))
		expectHeard(ctx, cluster, "VolumeNotExpandable")
		cluster.Change(ctx, ofSize("8Gi"))
		cluster.AwaitReady(ctx, 3)
		expectUntouched(ctx, cluster, was)
	})
})

// onDriver puts a cluster on a class of localkube's CSI driver.
func onDriver(class string) world.Option {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: &class} }
}

// awaitCapacities waits until the status of each member's claim says this size.
func awaitCapacities(ctx context.Context, c *world.Cluster, size string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods, err := c.Pods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for _, pod := range pods {
			claim := pvc()
			g.Expect(kube.Client.Get(ctx, key(pod.Name), claim)).To(Succeed())
			g.Expect(claim.Status.Capacity.Storage().String()).To(Equal(size), pod.Name)
		}
	}).WithTimeout(2*world.Patience).Should(Succeed(), "decisions:\n%s", c.History)
}

// restartOffline stops a member until its node has put its volume away.
func restartOffline(ctx context.Context, c *world.Cluster, claim corev1.PersistentVolumeClaim) {
	GinkgoHelper()
	pod, err := c.Pod(ctx, claim.Name)
	Expect(err).NotTo(HaveOccurred())
	annotate(ctx, c, v1alpha1.AnnotationFence, fmt.Sprintf("%q", claim.Name))
	c.AwaitCondition(ctx, v1alpha1.ConditionFenced, metav1.ConditionTrue, facts.ReasonFenced)
	kube.AwaitUnstaged(ctx, pod.Spec.NodeName, claim.Spec.VolumeName)
	annotate(ctx, c, v1alpha1.AnnotationFence, "null")
}
