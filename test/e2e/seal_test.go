package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// watching is how long a story looks that something does not happen.
const watching = 15 * time.Second

var _ = Describe("A directory wiped on the node", Label("seal"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, version := range []string{world.DefaultVersion, "3.5.35", "3.7.3"} {
		labels := Labels{}
		if version == world.DefaultVersion {
			labels = Label("core")
		}
		It("under a member in its first Pod costs that member, and never starts it empty, with etcd "+version, labels, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "birth", 3, world.Version(version))
			cluster.AwaitReady(ctx, 3)
			wipeAndReplace(ctx, cluster, cluster.Member(1))
		})
	}

	It("under a member in a later Pod costs that member, and never starts it empty", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "later", 3)
		cluster.AwaitReady(ctx, 3)
		deletePod(ctx, cluster, cluster.Member(1))
		cluster.AwaitReady(ctx, 3)
		wipeAndReplace(ctx, cluster, cluster.Member(1))
	})

	It("under a member that joined as a learner costs that member, and never starts it empty", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "learner", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		wipeAndReplace(ctx, cluster, cluster.Member(2))
	})

	It("under the only member never begins a new cluster silently", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "alone", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
		wipeUnder(ctx, cluster, cluster.Member(0))
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})

	It("under the only member, in a later Pod, never begins a new cluster silently", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "alone", 1)
		cluster.AwaitReady(ctx, 1)
		deletePod(ctx, cluster, cluster.Member(0))
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
		wipeUnder(ctx, cluster, cluster.Member(0))
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})
})

var _ = Describe("A directory wiped on the node while no operator runs", Label("seal"), func() {
	ownOperator()

	It("under the only member never begins a new cluster, by then or after", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "alone", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
		operator.Kill()
		wipeUnder(ctx, cluster, cluster.Member(0))
		awaitCrash(ctx, cluster, cluster.Member(0))
		expectNobodyServes(ctx, cluster)
		operator.Start()
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})

	It("under one of three costs that member once the operator is back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "three", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Member(0)
		traffic := cluster.Write(ctx)
		operator.Kill()
		traffic.During(ctx, func() {
			wipeUnder(ctx, cluster, victim)
			awaitCrash(ctx, cluster, victim)
		})
		traffic.During(ctx, func() {
			operator.Start()
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	It("under most members before they are sealed voids the birth, which held nothing, and a new one succeeds", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "early", 3)
		startUnsealed(ctx, cluster)
		first := incarnation(ctx, cluster)
		for _, ordinal := range []int{0, 1} {
			wipeUnder(ctx, cluster, cluster.Member(ordinal))
		}
		operator.Start()
		cluster.AwaitReady(ctx, 3)
		Eventually(ctx, func() ([]string, error) { return eventReasons(ctx, cluster) }).Should(ContainElement("BootstrapVoided"), "decisions:\n%s", cluster.History)
		Expect(incarnation(ctx, cluster)).NotTo(Equal(first))
		cluster.Write(ctx).Finish(ctx)
	})

	It("under one of three before they are sealed ends with three good members all the same", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "early", 3)
		startUnsealed(ctx, cluster)
		wipeUnder(ctx, cluster, cluster.Member(1))
		operator.Start()
		cluster.AwaitReady(ctx, 3)
		Expect(cluster.History.Rules()).To(ContainElement(BeElementOf("void-birth", "replace")), "decisions:\n%s", cluster.History)
		cluster.Write(ctx).Finish(ctx)
	})
})

// wipeUnder empties the directory under a running member and kills the member, so that it starts again with nothing.
func wipeUnder(ctx context.Context, c *world.Cluster, member string) {
	GinkgoHelper()
	c.WipeDirectory(ctx, member)
	c.KillEtcd(ctx, member)
}

// awaitCrash waits until the member's etcd has ended by itself at least once since the kill.
func awaitCrash(ctx context.Context, c *world.Cluster, member string) {
	GinkgoHelper()
	Eventually(ctx, func() (int, error) { return c.Restarts(ctx, member) }).Should(BeNumerically(">=", 2), "starts again and again, and ends")
}

func wipeAndReplace(ctx context.Context, c *world.Cluster, victim string) {
	GinkgoHelper()
	before := c.Identities(ctx)
	traffic := c.Write(ctx)
	traffic.During(ctx, func() {
		wipeUnder(ctx, c, victim)
		expectSaid(ctx, c, "replace", "member "+victim+": it lost its data")
		c.AwaitReady(ctx, 3)
	})
	expectReplaced(ctx, c, before, victim)
	traffic.Finish(ctx)
}

// startUnsealed kills the operator once all first Pods exist, and waits until every etcd runs with nobody sealed.
func startUnsealed(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func() (int, error) { pods, err := c.Pods(ctx); return len(pods), err }).
		WithPolling(20 * time.Millisecond).Should(Equal(3))
	operator.Kill()
	Eventually(ctx, func() error { return c.CheckServing(ctx, 3) }).Should(Succeed(), "etcd forms its cluster by itself")
	c.ClusterID = 0 // of a bootstrap that is to be voided
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range pods {
		Expect(pods[i].Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationInitialState, "new"), "nobody is sealed yet")
	}
}

// incarnation reads which incarnation of the cluster the bootstrap record speaks of.
func incarnation(ctx context.Context, c *world.Cluster) string {
	GinkgoHelper()
	peers := &corev1.Service{}
	Expect(kube.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name + "-peers"}, peers)).To(Succeed())
	record := peers.Annotations[v1alpha1.AnnotationBootstrap]
	Expect(record).NotTo(BeEmpty())
	return recordedIncarnation(record)
}
