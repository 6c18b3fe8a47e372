package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// given is how many filled keys take 60 MiB.
const given = 1500

// crowding is how many of them take more than 80 % of 64 MiB.
const crowding = 1350

var _ = Describe("Room that etcd does not use", Label("space"), func() {
	ownNamespace()

	It("is given back by every member once a person asks, under load, the leader last", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "roomy", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Fill(ctx, "gone", given)
		cluster.Empty(ctx, "gone")
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			askToDefragment(ctx, cluster)
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("ends the alarm NOSPACE by itself where what is in use leaves enough", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "full", 3, world.Quota("64Mi"))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Fill(ctx, "gone", given/2)
		cluster.FillUp(ctx)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.Empty(ctx, "gone")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		awaitGivenBack(ctx, cluster)
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("ends the alarm NOSPACE by itself where history fills it, and keeps what watchers need", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "historic", 3, world.Quota("32Mi"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{KeepHistory: &metav1.Duration{Duration: 5 * time.Second}}
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.FillUp(ctx)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		expectSaid(ctx, cluster, "compact", "as spec.maintenance.keepHistory asks")
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("is made by a larger quota where keys fill all, as far as the spec allows", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "growing", 3, world.Quota("64Mi"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{KeepHistory: &metav1.Duration{},
				AutoGrow: &v1alpha1.AutoGrowSpec{Limit: resource.MustParse("512Mi")}}
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Fill(ctx, "kept", crowding)
		cluster.FillUp(ctx)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		Expect(cluster.Intact(ctx, "kept")).To(Equal(crowding))
		for name := range podsOf(ctx, cluster) {
			pod, err := cluster.Pod(ctx, name)
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.Spec.Containers[0].Args).To(ContainElement(ContainSubstring("--quota-backend-bytes=536870912")))
		}
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Spec.Etcd.QuotaBackendBytes.String()).To(Equal("64Mi"))
		expectSame(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("is given back by the only member, which answers nothing meanwhile and is not restarted for it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "single", 1)
		cluster.AwaitReady(ctx, 1)
		was := identityOf(ctx, cluster)
		cluster.Fill(ctx, "gone", given)
		cluster.Empty(ctx, "gone")
		askToDefragment(ctx, cluster)
		awaitGivenBack(ctx, cluster)
		cluster.AwaitReady(ctx, 1)
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})
})

// askToDefragment writes what a person writes.
func askToDefragment(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationDefragment, time.Now().UTC().Format(time.RFC3339))
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// awaitGivenBack waits until every member's file is less than twice of what is in use.
func awaitGivenBack(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		sizes, inUse, err := c.Sizes(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for name, size := range sizes {
			g.Expect(size).To(BeNumerically("<", max(2*inUse[name], 8<<20)), "the database of %s", name)
		}
	}).WithTimeout(world.Patience).Should(Succeed(), "the decisions are\n%s", c.History)
}
