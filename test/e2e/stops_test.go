package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// hundredMebi is how many filled keys take a little more than 100 MiB.
const hundredMebi = 2560

var _ = Describe("A change of the spec that would stop the cluster", Label("specs"), func() {
	ownNamespace()

	changes := map[string]struct {
		change func(*v1alpha1.EtcdClusterSpec)
		says   string // with a member's name and the figure that it has
	}{
		"a quota below what is stored": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Etcd.QuotaBackendBytes = quantity("64Mi")
		}, `spec\.etcd\.quotaBackendBytes is 64Mi\. .* of %s 1[0-9]{2}Mi`},
		"a memory limit below what is in use": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Pod.Resources.Limits = map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "64Mi"}
		}, `spec\.pod\.resources\.limits\.memory is 64Mi\. .* 1[0-9]{2}Mi of %s`},
	}
	for _, what := range slices.Sorted(maps.Keys(changes)) {
		It("for "+what+", is refused with figures before the first member, and putting it back is enough", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "stopped", 3, world.Quota("1Gi"))
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "stored", hundredMebi)
			was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, changes[what].change)
				cluster.AwaitStalled(ctx, facts.ReasonSpecRefused)
				object, err := cluster.Get(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(object.Status.NextStep.Rule).To(Equal("check-room"))
				Expect(object.Status.NextStep.Message).To(MatchRegexp(fmt.Sprintf(changes[what].says, cluster.Member(1))))
				Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
				expectNoRestarts(ctx, cluster)
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
				cluster.AwaitReady(ctx, 3)
			})
			expectNotStalled(ctx, cluster)
			expectUntouched(ctx, cluster, was)
			expectNoRestarts(ctx, cluster)
			traffic.Finish(ctx)
		})
	}

	It("for a quota below what is stored, keeps no lost Pod away, which comes back with the settings that it had", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "stopped", 3, world.Quota("1Gi"))
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "stored", hundredMebi)
		was, lost := identityOf(ctx, cluster), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, changes["a quota below what is stored"].change)
			cluster.AwaitStalled(ctx, facts.ReasonSpecRefused)
			deletePod(ctx, cluster, lost)
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).WithTimeout(world.Patience).Should(Succeed())
			Expect(onlyStopped(ctx, cluster, was, lost)).To(Succeed())
			pod, err := cluster.Pod(ctx, lost)
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.Spec.Containers[0].Args).To(ContainElement("--quota-backend-bytes=1073741824"))
			cluster.AwaitStalled(ctx, facts.ReasonSpecRefused)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A change of the spec while space ran out", Label("specs"), func() {
	ownNamespace()

	It("restarts no member, and goes on once the quota is raised as well", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "full", 3, world.Quota("16Mi"), keepingHistory)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.FillUp(ctx)
		cluster.AwaitStalled(ctx, facts.ReasonAlarm)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd.SnapshotCount = new(int64(20000)) })
		cluster.AwaitStalled(ctx, facts.ReasonAlarm)
		Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
		expectNoRestarts(ctx, cluster)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd.QuotaBackendBytes = quantity("64Mi") })
		expectSaid(ctx, cluster, "alarms", "every member has room again")
		cluster.AwaitReady(ctx, 3)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})
})

// expectNotStalled expects nothing to be left of a refusal.
func expectNotStalled(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionStalled)).To(BeNil())
}
