package e2e

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("Larger volumes", Label("growth"), func() {
	ownNamespace()

	It("are had by one claim after the other, while clients write and no member stops", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "growing", 3, growable(ctx))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, ofSize("9Gi"))
			for range 3 {
				claim := awaitGrowing(ctx, cluster)
				cluster.AwaitStep(ctx, "VolumeExpansion")
				expectOthersWait(ctx, cluster, claim.Name)
				giveSize(ctx, claim, "9Gi")
			}
			cluster.AwaitReady(ctx, 3)
		})
		expectVolumesOf(ctx, cluster, "9Gi")
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("that the storage cannot give are told, hold nothing else back, and are taken back with the spec", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "poor", 3, growable(ctx))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, ofSize("9Gi"))
				claim := awaitGrowing(ctx, cluster)
				callInfeasible(ctx, claim)
				cluster.AwaitStalled(ctx, "VolumeExpansion")
				expectOthersWait(ctx, cluster, claim.Name)
				cluster.Change(ctx, otherSettings)
				Eventually(ctx, func(g Gomega) {
					for name, uid := range podsOf(ctx, cluster) {
						g.Expect(uid).NotTo(Equal(was.pods[name]), "%s has the other settings", name)
					}
				}).WithTimeout(world.Patience).Should(Succeed(), "decisions:\n%s", cluster.History)
				cluster.Change(ctx, ofSize("8Gi"))
				Eventually(ctx, func() (string, error) {
					err := kube.Client.Get(ctx, key(claim.Name), &claim)
					return claim.Spec.Resources.Requests.Storage().String(), err
				}).WithTimeout(world.Patience).Should(Equal("8193Mi"), "the claim asks for just more than it has")
				giveSize(ctx, claim, "8193Mi")
				cluster.AwaitReady(ctx, 3)
			})
			expectSame(ctx, cluster, was)
			traffic.Finish(ctx)
		})

	It("that the StorageClass does not allow are refused with the ways on, while members are kept alive, and putting the size back is enough",
		perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "fixed", 3)
			cluster.AwaitReady(ctx, 3)
			was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, ofSize("9Gi"))
				expectHeard(ctx, cluster, "VolumeNotExpandable")
				deletePod(ctx, cluster, cluster.Member(0))
				Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).Should(Succeed(), "its Pod is started on its volume")
				expectHeard(ctx, cluster, "VolumeNotExpandable")
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
				cluster.AwaitReady(ctx, 3)
			})
			expectSame(ctx, cluster, was)
			expectVolumesOf(ctx, cluster, "8Gi")
			traffic.Finish(ctx)
		})

	It("are had for a quota that grows where there is no room for it, and then members get that", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "outgrowing", 3, growable(ctx), world.Quota("32Mi"), func(c *v1alpha1.EtcdCluster) {
			ofSize("1088Mi")(&c.Spec) // twice the quota and 1Gi more
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{KeepHistory: &metav1.Duration{},
				AutoGrow: &v1alpha1.AutoGrowSpec{Limit: *quantity("512Mi")}}
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		kept := cluster.FillUpWithKeys(ctx, "kept")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		for range 3 {
			claim := awaitGrowing(ctx, cluster)
			Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
			giveSize(ctx, claim, "2Gi")
		}
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		Expect(cluster.Intact(ctx, "kept")).To(Equal(kept))
		expectVolumesOf(ctx, cluster, "2Gi")
		expectSame(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("move members where the spec asks for that, and a smaller size moves them back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "moved", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				ofSize("9Gi")(s)
				s.Storage.Expand = v1alpha1.ExpandReplace
			})
			expectMoved(ctx, cluster, was)
			expectVolumesOf(ctx, cluster, "9Gi")
			was = identityOf(ctx, cluster)
			cluster.Change(ctx, ofSize("8Gi"))
			expectMoved(ctx, cluster, was)
		})
		traffic.Finish(ctx)
		expectVolumesOf(ctx, cluster, "8Gi")
	})
})

// growable puts a cluster on a StorageClass whose claims may be expanded. The story plays what makes volumes larger.
func growable(ctx context.Context) world.Option {
	GinkgoHelper()
	class := makeClass(ctx, "grows")
	class.AllowVolumeExpansion = new(true)
	Expect(kube.Client.Update(ctx, class)).To(Succeed())
	return inClass(class)
}

func ofSize(size string) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) {
		if s.Storage == nil {
			s.Storage = &v1alpha1.StorageSpec{}
		}
		s.Storage.Size = quantity(size)
	}
}

// claimsOf are the claims of members that ask for more than they have.
func claimsOf(ctx context.Context, c *world.Cluster) (growing []corev1.PersistentVolumeClaim) {
	GinkgoHelper()
	list := &corev1.PersistentVolumeClaimList{}
	Expect(kube.Client.List(ctx, list, client.InNamespace(c.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: c.Name})).To(Succeed())
	for _, claim := range list.Items {
		if claim.Spec.Resources.Requests.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0 {
			growing = append(growing, claim)
		}
	}
	return growing
}

// awaitGrowing is the one claim that asks for more than it has.
func awaitGrowing(ctx context.Context, c *world.Cluster) corev1.PersistentVolumeClaim {
	GinkgoHelper()
	var growing []corev1.PersistentVolumeClaim
	Eventually(ctx, func() any {
		growing = claimsOf(ctx, c)
		return growing
	}).WithTimeout(world.Patience).Should(HaveLen(1), "decisions:\n%s", c.History)
	return growing[0]
}

func expectOthersWait(ctx context.Context, c *world.Cluster, name string) {
	GinkgoHelper()
	Consistently(ctx, func() any { return claimsOf(ctx, c) }, "3s").Should(ConsistOf(HaveField("Name", name)))
}

// giveSize is storage that made a volume larger.
func giveSize(ctx context.Context, claim corev1.PersistentVolumeClaim, size string) {
	GinkgoHelper()
	patchStatus(ctx, claim, map[string]any{"capacity": map[string]string{"storage": size},
		"allocatedResourceStatuses": nil, "conditions": nil})
}

// callInfeasible is storage that cannot.
func callInfeasible(ctx context.Context, claim corev1.PersistentVolumeClaim) {
	GinkgoHelper()
	patchStatus(ctx, claim, map[string]any{
		"allocatedResources":        map[string]string{"storage": claim.Spec.Resources.Requests.Storage().String()},
		"allocatedResourceStatuses": map[string]any{"storage": corev1.PersistentVolumeClaimControllerResizeInfeasible},
		"conditions": []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimControllerResizeError,
			Status: corev1.ConditionTrue, Message: "the pool has no room"}}})
}

func patchStatus(ctx context.Context, claim corev1.PersistentVolumeClaim, status map[string]any) {
	GinkgoHelper()
	body, err := json.Marshal(map[string]any{"status": status})
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Status().Patch(ctx, &claim, client.RawPatch(types.MergePatchType, body))).To(Succeed(),
		fmt.Sprintf("the status of %s", claim.Name))
}
