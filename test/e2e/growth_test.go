package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A change of size", Label("growth"), func() {
	ownNamespace()

	It("from 1 to 3 and back to 1 goes through learners, one at a time", Label("core"), first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sized", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(promotions(ctx, cluster)).To(BeNumerically(">=", 2), "both came as learners:\n%s", cluster.History)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 1)
			cluster.AwaitReady(ctx, 1)
		})
		traffic.Finish(ctx)
	})

	It("from 1 to 3 to 5 to 3 to 1 keeps writes going and leaves nothing behind, with volumes", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "volumes", 1)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		for _, size := range []int32{3, 5, 3, 1} {
			traffic.During(ctx, func() {
				cluster.Resize(ctx, size)
				cluster.AwaitReady(ctx, int(size))
			})
		}
		Eventually(ctx, func() int { return len(volumes(ctx, cluster)) }).Should(Equal(1), "volumes of removed members")
		traffic.Finish(ctx)
	})

	It("that removes the leader moves leadership first", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "leading", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		// The highest ordinal goes first, so that is the one to lead.
		last := cluster.Member(2)
		cluster.MoveLeader(ctx, last)
		traffic := cluster.Write(ctx)
		Expect(cluster.Leader(ctx)).To(Equal(last))
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 1)
			cluster.AwaitReady(ctx, 1)
		})
		Eventually(ctx, func() ([]string, error) { return eventReasons(ctx, cluster) }).Should(ContainElement("LeaderMoved"), "decisions:\n%s", cluster.History)
		traffic.Finish(ctx)
	})

	It("that makes the cluster smaller removes the unhealthy member first", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "sick", 3)
		cluster.AwaitReady(ctx, 3)
		healthy := []string{cluster.Member(1), cluster.Member(2)}
		sick := cluster.Member(0)
		cluster.MoveLeader(ctx, cluster.Member(1))
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Freeze(ctx, sick)
			Eventually(ctx, func() error { return cluster.CheckReady(ctx, 3) }).Should(Not(Succeed()), "the member is sick")
			cluster.Resize(ctx, 1)
			cluster.AwaitReady(ctx, 1)
		})
		Expect(cluster.Identities(ctx)).To(HaveLen(1))
		Expect(cluster.Identities(ctx)).To(HaveKey(BeElementOf(healthy)))
		traffic.Finish(ctx)
	})

	It("whose learner falls behind is not given up when etcd refuses to promote it, but promoted when it may be", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "slow", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		leader, learner := cluster.Member(0), cluster.Member(1)
		pause := func(paused bool) { cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = paused }) }
		traffic.During(ctx, func() {
			// While it copies, the operator is paused, so that the learner is Ready and not promoted when it falls behind.
			cluster.Fill(ctx, "before", 400)
			heal := cluster.SlowPeers(ctx, leader, 1024)
			cluster.Resize(ctx, 3)
			Eventually(ctx, func() ([]string, error) { return learners(ctx, cluster) }).Should(ConsistOf(learner))
			pause(true)
			cluster.AwaitStep(ctx, "Paused")
			heal(ctx)
			Eventually(ctx, func() error { return answers(ctx, cluster, learner) }).Should(Succeed())
			heal = cluster.SlowPeers(ctx, leader, 256)
			cluster.Fill(ctx, "after", 200) // quickly: a learner that cannot read through the leader is not Ready for long
			pause(false)
			Eventually(ctx, func() (float64, error) { return refusedPromotions(ctx, cluster, leader) }).WithTimeout(20*time.Second).
				Should(BeNumerically(">=", 1), "promotions that etcd refused")
			heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(HaveLen(3))
		Expect(cluster.Identities(ctx)).To(HaveKey(learner), "it was not given up")
		traffic.Finish(ctx)
	})

	It("that is taken back midway gives the learner up", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "midway", 1, unschedulableLearners)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			Eventually(ctx, func() ([]string, error) { return learners(ctx, cluster) }).ShouldNot(BeEmpty())
			cluster.Resize(ctx, 1)
			cluster.AwaitReady(ctx, 1)
		})
		Eventually(ctx, func() int { return len(volumes(ctx, cluster)) }).Should(Equal(1), "what was made for the learner")
		traffic.Finish(ctx)
	})
})

// promotions is how many learners the members that there are have promoted.
func promotions(ctx context.Context, c *world.Cluster) float64 {
	GinkgoHelper()
	all := 0.0
	for name := range c.Identities(ctx) {
		families, err := c.MemberMetrics(ctx, name)
		Expect(err).NotTo(HaveOccurred())
		n, _ := world.Value(families, "etcd_server_learner_promote_successes", nil)
		all += n
	}
	return all
}

// refusedPromotions is how often the leader refused to promote a learner because it was behind.
func refusedPromotions(ctx context.Context, c *world.Cluster, leader string) (float64, error) {
	families, err := c.MemberMetrics(ctx, leader)
	if err != nil {
		return 0, err
	}
	n, _ := world.Value(families, "etcd_server_learner_promote_failures", map[string]string{
		"Reason": "etcdserver: can only promote a learner member which is in sync with leader",
	})
	return n, nil
}

// answers says what keeps a member from answering clients. It does not until it has caught up once, and is ready a moment later.
func answers(ctx context.Context, c *world.Cluster, member string) error {
	pod, err := c.Pod(ctx, member)
	if err != nil {
		return err
	}
	if !world.IsReady(pod) {
		return fmt.Errorf("the Pod %s is not ready", member)
	}
	etcd, err := c.Dial(ctx, pod)
	if err != nil {
		return err
	}
	defer etcd.Close()
	_, err = etcd.Status(ctx)
	return err
}

// learners are the members that the first Pod lists as learners.
func learners(ctx context.Context, c *world.Cluster) ([]string, error) {
	pod, err := c.Pod(ctx, c.Member(0))
	if err != nil {
		return nil, err
	}
	view, err := c.Look(ctx, pod)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range view.List.Members {
		if m.Learner {
			names = append(names, m.Name)
		}
	}
	return slices.Clip(names), nil
}

// unschedulableLearners lets the whole Kubernetes hold one member only.
func unschedulableLearners(c *v1alpha1.EtcdCluster) {
	c.Spec.Pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:   corev1.LabelOSStable,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelInstance: c.Name}},
		}},
	}}
}
