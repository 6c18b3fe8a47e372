package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A drain", Label("disruption"), func() {
	ownNamespace()

	It("takes one member of three at a time, and never a second one before the first is back", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "drained", 3)
		cluster.AwaitReady(ctx, 3)
		awaitAllowed(ctx, "drained", 1)
		ids := cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			pod, err := cluster.Pod(ctx, cluster.Member(0))
			Expect(err).NotTo(HaveOccurred())
			Expect(evict(ctx, pod)).To(Succeed())
			second, err := cluster.Pod(ctx, cluster.Member(1))
			Expect(err).NotTo(HaveOccurred())
			Expect(evict(ctx, second)).To(MatchError(apierrors.IsTooManyRequests, "the budget refuses"))
			awaitPodGone(ctx, cluster, pod)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		traffic.Finish(ctx)
	})
})

var _ = Describe("Something that somebody deletes", Label("disruption"), func() {
	ownNamespace()

	It("is made again: Services, certificates and the disruption budget", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "parts", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			for _, object := range []client.Object{
				&corev1.Service{ObjectMeta: meta(story.Namespace, "parts")},
				&corev1.Service{ObjectMeta: meta(story.Namespace, "parts-peers")},
				&policyv1.PodDisruptionBudget{ObjectMeta: meta(story.Namespace, "parts")},
			} {
				name := client.ObjectKeyFromObject(object)
				old := uidOf(ctx, object, name)
				Expect(kube.Client.Delete(ctx, object)).To(Succeed())
				Eventually(ctx, func() types.UID { return uidOf(ctx, object, name) }).ShouldNot(BeElementOf(old, types.UID("")), "%T %s", object, name.Name)
			}
			cluster.AwaitReady(ctx, 3)
		})
		traffic.Finish(ctx)
	})

	It("as a volume that is still in use costs that member only, and not before another has taken its place", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "doomed", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Member(1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, victim)})).To(Succeed())
			Eventually(ctx, func() map[string]etcdutil.ID { return cluster.Identities(ctx) }).Should(HaveLen(4), "one joins first")
			Eventually(ctx, func() map[string]etcdutil.ID { return cluster.Identities(ctx) }).ShouldNot(HaveKey(victim))
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		Eventually(ctx, func() any { return volumes(ctx, cluster) }).ShouldNot(HaveKey(victim))
		traffic.Finish(ctx)
	})

	It("as all ephemeral Pods at once is lost quorum, said so, and never made up for by an empty cluster", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "vanished", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
		pods, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			Expect(kube.Client.Delete(ctx, &pods[i])).To(Succeed())
		}
		for i := range pods {
			awaitPodGone(ctx, cluster, &pods[i])
		}
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})
})

var _ = Describe("A node that loses power", Label("nodes"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("takes one member along, which comes back with the node as the same member", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "power", 3)
		cluster.AwaitReady(ctx, 3)
		ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
		pod, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			kube.KillNode(ctx, pod.Spec.NodeName)
			Eventually(ctx, func() error { return cluster.CheckReady(ctx, 3) }).ShouldNot(Succeed())
			kube.StartNode(ctx, pod.Spec.NodeName)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, cluster)).To(Equal(data))
		traffic.Finish(ctx)
	})
})

func evict(ctx context.Context, pod *corev1.Pod) error {
	return kube.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: meta(pod.Namespace, pod.Name)})
}

// awaitAllowed waits until the disruption controller has counted the Pods.
func awaitAllowed(ctx context.Context, budget string, disruptions int32) {
	GinkgoHelper()
	Eventually(ctx, func() (int32, error) {
		is := &policyv1.PodDisruptionBudget{}
		err := kube.Client.Get(ctx, key(budget), is)
		return is.Status.DisruptionsAllowed, err
	}).Should(Equal(disruptions))
}
