package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A StorageClass that does not exist", Label("specs"), func() {
	ownNamespace()

	It("any more is named while a new member waits for its volume, and a class that the spec names then gives it one", perStory,
		func(ctx context.Context) {
			old, next := makeClass(ctx, "a"), makeClass(ctx, "b")
			cluster := story.Create(ctx, "moved", 3, inClass(old))
			cluster.AwaitReady(ctx, 3)
			expectClasses(ctx, cluster, map[string]int{old.Name: 3})
			before, lost := cluster.Identities(ctx), cluster.Member(2)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				Expect(kube.Client.Delete(ctx, old)).To(Succeed())
				loseVolume(ctx, cluster, lost)
				expectClassMissed(ctx, cluster, old.Name)
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = &next.Name })
				cluster.AwaitReady(ctx, 3)
			})
			Expect(cluster.Identities(ctx)).NotTo(HaveKey(lost), "before there were %v", before)
			expectClasses(ctx, cluster, map[string]int{next.Name: 3}) // the others follow
			Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(3), "nothing is left of the claim that waited")
			traffic.Finish(ctx)
		})

	for _, size := range []int32{1, 3} {
		It("is named at the birth of "+members(size)+", which begins once the spec names another one", perStory, func(ctx context.Context) {
			class := makeClass(ctx, "b")
			never := story.Namespace + "-never"
			cluster := story.Create(ctx, "misnamed", size, func(c *v1alpha1.EtcdCluster) {
				c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: &never}
			})
			expectClassMissed(ctx, cluster, never)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = &class.Name })
			cluster.AwaitReady(ctx, int(size))
			expectClasses(ctx, cluster, map[string]int{class.Name: int(size)})
			Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(int(size)))
			cluster.Write(ctx).Finish(ctx)
		})
	}
})

// makeClass makes a StorageClass like the default one, for this story alone. It belongs to no namespace.
func makeClass(ctx context.Context, name string) *storagev1.StorageClass {
	GinkgoHelper()
	all := &storagev1.StorageClassList{}
	Expect(kube.Client.List(ctx, all)).To(Succeed())
	i := slices.IndexFunc(all.Items, func(class storagev1.StorageClass) bool {
		return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
	})
	Expect(i).To(BeNumerically(">=", 0), "there is no default StorageClass")
	like := all.Items[i]
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: story.Namespace + "-" + name},
		Provisioner: like.Provisioner, Parameters: like.Parameters,
		VolumeBindingMode: like.VolumeBindingMode, ReclaimPolicy: like.ReclaimPolicy,
	}
	Expect(kube.Client.Create(ctx, class)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Client.Delete(ctx, class))).To(Succeed())
	})
	return class
}

func inClass(class *storagev1.StorageClass) world.Option {
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Storage = &v1alpha1.StorageSpec{StorageClassName: &class.Name}
	}
}

// expectClassMissed expects a member, and the next step, to name the class that is not there and what can be done.
func expectClassMissed(ctx context.Context, c *world.Cluster, class string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.Status.Members).To(ContainElement(And(
			HaveField("Reason", facts.MemberProvisioning), HaveField("StorageClassName", class))))
		g.Expect(object.Status.NextStep.Reason).To(Equal(facts.ReasonProvisioning))
		g.Expect(object.Status.NextStep.Message).To(And(
			ContainSubstring(fmt.Sprintf("%q not found", class)), ContainSubstring("Put spec.storage.storageClassName")))
	}).WithTimeout(heard).Should(Succeed(), "the decisions are\n%s", c.History)
}

// expectClasses expects the status to say of how many members the volume is of which class.
func expectClasses(ctx context.Context, c *world.Cluster, want map[string]int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		got := map[string]int{}
		for _, member := range object.Status.Members {
			got[member.StorageClassName]++
		}
		g.Expect(maps.Equal(got, want)).To(BeTrue(), "%v, not %v", got, want)
	}).Should(Succeed())
}
