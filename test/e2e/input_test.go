package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// Everything that the schema refuses is tried one by one in controllers/admission, on a real API server.
var _ = Describe("Bad input", Label("refusals"), func() {
	ownNamespace()

	It("that the schema can see is refused by the API server with what would be accepted", Label("core"), perStory, func(ctx context.Context) {
		for _, bad := range []struct {
			name   string
			size   int32
			shape  world.Option
			answer string
		}{
			{"even", 2, nil, "it must be 1, 3, 5 or 7"},
			{"negative", -1, nil, "1, 3, 5 or 7"},
			{"words", 1, world.Version("latest"), "such as 3.6.16"},
			{strings.Repeat("a", 41), 1, nil, "at most 40 characters"},
			{"quota", 1, func(c *v1alpha1.EtcdCluster) { c.Spec.Storage = &v1alpha1.StorageSpec{Size: quantity("2Gi")} }, "at least twice"},
			{"flag", 1, func(c *v1alpha1.EtcdCluster) {
				c.Spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"initial-cluster": "x"}}
			}, "initial-cluster"},
		} {
			manifest := story.Manifest(bad.name, bad.size)
			if bad.shape != nil {
				bad.shape(manifest)
			}
			Expect(kube.Client.Create(ctx, manifest)).To(MatchError(ContainSubstring(bad.answer)), bad.name)
		}
		Expect(kube.Client.Create(ctx, story.Manifest("good", 1, paused))).To(Succeed(), "what is right is accepted")
	})

	It("that only the operator can judge is a condition with the reason, and putting it right is enough", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "judged", 1, world.Ephemeral, world.Version("3.6.2"))
		expectRefused(ctx, cluster, "3.6.")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.99.0" })
		expectRefused(ctx, cluster, "3.99")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Version, s.Etcd = world.DefaultVersion, &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"no-such-flag": "1"}}
		})
		expectRefused(ctx, cluster, "no-such-flag")
		Expect(cluster.Pods(ctx)).To(BeEmpty())
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd = nil })
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
	})

	It("for a running cluster leaves it alive and healing, and putting it back is enough", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "running", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.2" })
			expectRefused(ctx, cluster, "3.6.2")
			deletePod(ctx, cluster, cluster.Member(2))
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).Should(Succeed())
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = world.DefaultVersion })
			cluster.AwaitReady(ctx, 3)
		})
		traffic.Finish(ctx)
	})

	It("for a running cluster holds the replacement of a member back, and putting it right is enough", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "holding", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.2" })
			expectRefused(ctx, cluster, "3.6.2")
			loseVolume(ctx, cluster, victim)
			awaitTold(ctx, cluster, victim+" will be replaced (its volume is gone). That waits until the spec is put right.")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(before), "nobody is removed or added")
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = world.DefaultVersion })
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	It("that Kubernetes refuses when members first start is reported, and putting it right is enough", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "classless", 3, func(c *v1alpha1.EtcdCluster) { c.Spec.Pod = &v1alpha1.PodSpec{PriorityClassName: "no-such-class"} })
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).Should(ContainSubstring("no-such-class"))
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod = nil })
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
	})

	It("from the platform, a quota that refuses the Pods, is reported, and nothing is needed once there is room", perStory, func(ctx context.Context) {
		limit := &corev1.ResourceQuota{ObjectMeta: meta(story.Namespace, "no-pods"), Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
		}}
		Expect(kube.Client.Create(ctx, limit)).To(Succeed())
		Eventually(ctx, func() (int, error) {
			err := kube.Client.Get(ctx, key("no-pods"), limit)
			return len(limit.Status.Hard), err
		}).Should(Equal(1), "the quota is in force")
		cluster := story.Create(ctx, "quota", 1)
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).Should(ContainSubstring("exceeded quota"))
		Expect(kube.Client.Delete(ctx, limit)).To(Succeed())
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
	})
})

func paused(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true }

// expectRefused waits until the spec itself is refused, for a reason that names this.
func expectRefused(ctx context.Context, c *world.Cluster, what string) {
	GinkgoHelper()
	c.AwaitStalled(ctx, "SpecRefused")
	Expect(stalled(ctx, c)).To(ContainSubstring(what))
}

// stalled is what a person is asked for; empty while nobody is.
func stalled(ctx context.Context, c *world.Cluster) (string, error) {
	object, err := c.Get(ctx)
	if err != nil {
		return "", err
	}
	if condition := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionStalled); condition != nil {
		return condition.Message, nil
	}
	return "", nil
}
