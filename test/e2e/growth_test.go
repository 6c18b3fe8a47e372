package e2e

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A change of size", Label("growth"), func() {
	ownNamespace()

	It("from 1 to 3 and back to 1 goes through learners, one at a time", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sized", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(count(cluster.History.Rules(), "promote")).To(BeNumerically(">=", 2), "both came as learners:\n%s", cluster.History)
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

	It("that removes the leader moves leadership first", Label("core"), perStory, func(ctx context.Context) {
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
		Expect(cluster.History.HasReason("MoveLeader")).To(BeTrue(), "decisions:\n%s", cluster.History)
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

	It("whose learner is slow to catch up promotes it when etcd allows that, however often it is refused", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "slow", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		leader := cluster.Member(0)
		cluster.Fill(ctx, 600, 40<<10)
		heal := cluster.SlowPeers(ctx, leader, 1024)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			Eventually(ctx, func() (float64, error) { return refusedPromotions(ctx, cluster, leader) }).Should(BeNumerically(">=", 2), "promotions that etcd refused")
			Expect(learners(ctx, cluster)).NotTo(BeEmpty(), "it was kept")
			heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(HaveKey(cluster.Member(2)), "nobody was given up on the way")
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

func count(words []string, word string) int {
	n := 0
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
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
