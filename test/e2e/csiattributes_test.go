package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("The VolumeAttributesClass of volumes", Label("growth"), func() {
	ownNamespace()

	It("is changed by the driver, one volume after the other, while clients write and no member stops", perStory,
		func(ctx context.Context) {
			kube.GrowingVolumes(ctx)
			cluster := story.Create(ctx, "faster", 3, onDriver(world.Expandable))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, ofSpeed(world.Fast))
				awaitSpeeds(ctx, cluster, world.Fast)
				cluster.AwaitReady(ctx, 3)
			})
			expectUntouched(ctx, cluster, was)
			cluster.Resize(ctx, 5)
			cluster.AwaitReady(ctx, 5)
			awaitSpeeds(ctx, cluster, world.Fast)
			traffic.Finish(ctx)
		})

	It("that the driver refuses is told in its words, tried on one volume, and taken back with the spec", perStory,
		func(ctx context.Context) {
			kube.GrowingVolumes(ctx)
			cluster := story.Create(ctx, "impossible", 3, onDriver(world.Expandable))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			cluster.Change(ctx, ofSpeed(world.Impossible))
			cluster.AwaitStalled(ctx, "VolumeModification")
			asking := 0
			for _, speed := range speedsOf(ctx, cluster) {
				if speed.asked == world.Impossible {
					asking++
				}
				Expect(speed.has).To(BeEmpty())
			}
			Expect(asking).To(Equal(1), "no other volume is tried")
			cluster.Change(ctx, ofSpeed(""))
			cluster.AwaitReady(ctx, 3)
			awaitSpeeds(ctx, cluster, "")
			cluster.Change(ctx, ofSpeed("csi-not-there"))
			cluster.AwaitStalled(ctx, "VolumeModification")
			cluster.Change(ctx, ofSpeed(world.Fast))
			awaitSpeeds(ctx, cluster, world.Fast)
			cluster.AwaitReady(ctx, 3)
			expectUntouched(ctx, cluster, was)
		})
})

func ofSpeed(class string) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Storage.VolumeAttributesClassName = class }
}

// speed is the VolumeAttributesClass that a claim names, and the one that its volume has.
type speed struct{ asked, has string }

// speedsOf are those of all members' claims, by name.
func speedsOf(ctx context.Context, c *world.Cluster) map[string]speed {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	speeds := map[string]speed{}
	for _, pod := range pods {
		claim := pvc()
		Expect(kube.Client.Get(ctx, key(pod.Name), claim)).To(Succeed())
		name := func(class *string) string {
			if class == nil {
				return ""
			}
			return *class
		}
		speeds[pod.Name] = speed{name(claim.Spec.VolumeAttributesClassName), name(claim.Status.CurrentVolumeAttributesClassName)}
	}
	return speeds
}

// awaitSpeeds waits until each member's volume has this class.
func awaitSpeeds(ctx context.Context, c *world.Cluster, class string) {
	GinkgoHelper()
	Eventually(ctx, func() map[string]speed { return speedsOf(ctx, c) }).WithTimeout(2*world.Patience).
		Should(HaveEach(speed{class, class}), "decisions:\n%s", c.History)
}
