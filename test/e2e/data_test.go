package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A member's data that is lost", Label("data"), func() {
	ownNamespace()

	It("with its volume is replaced by a new member under a new name", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "lost", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		for _, pick := range []func() string{
			func() string { return follower(ctx, cluster) },
			func() string { return cluster.Leader(ctx) },
		} {
			before := cluster.Identities(ctx)
			victim := pick()
			traffic.During(ctx, func() {
				loseVolume(ctx, cluster, victim)
				cluster.AwaitReady(ctx, 3)
			})
			expectReplaced(ctx, cluster, before, victim)
		}
		Eventually(ctx, func() int { return len(volumes(ctx, cluster)) }).Should(Equal(3))
		traffic.Finish(ctx)
	})

	It("with its ephemeral Pod is replaced by a new member under a new name", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "gone", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			deletePod(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	It("that is the only copy is never made up for by an empty cluster", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "only", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
		loseVolume(ctx, cluster, cluster.Member(0))
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})
})

var _ = Describe("A member's data that is damaged", Label("data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	damages := map[string]func(context.Context, *world.Cluster, string){
		"in its log":      func(ctx context.Context, c *world.Cluster, member string) { c.DamageWAL(ctx, member) },
		"in its database": func(ctx context.Context, c *world.Cluster, member string) { c.DamageDatabase(ctx, member) },
	}
	for _, where := range slices.Sorted(maps.Keys(damages)) { // every process must see them in one order
		for _, version := range []string{world.DefaultVersion, "3.5.35", "3.7.3"} {
			It(where+" is told by etcd's own words, and the member is replaced, with etcd "+version, perStory, func(ctx context.Context) {
				cluster := story.Create(ctx, "damaged", 3, world.Version(version))
				cluster.AwaitReady(ctx, 3)
				before, victim := cluster.Identities(ctx), follower(ctx, cluster)
				traffic := cluster.Write(ctx)
				traffic.During(ctx, func() {
					damages[where](ctx, cluster, victim)
					expectSaid(ctx, cluster, "replace", "its data cannot be read")
					cluster.AwaitReady(ctx, 3)
				})
				expectReplaced(ctx, cluster, before, victim)
				traffic.Finish(ctx)
			})
		}
	}

	It("in its database is told by etcd's own words in a log for people as well, and the member is replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "told", 3, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"log-format": "console"}}
		})
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		cluster.DamageDatabase(ctx, victim)
		Eventually(ctx, func() (string, error) { return cluster.LastWords(ctx, victim) }).Should(ContainSubstring(`"error": "invalid database"`))
		expectSaid(ctx, cluster, "replace", "its data cannot be read")
		cluster.AwaitReady(ctx, 3)
		expectReplaced(ctx, cluster, before, victim)
	})

	It("in the log of the only one is lost quorum, said so, and never made up for by an empty cluster", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "alone", 1)
		cluster.AwaitReady(ctx, 1)
		cluster.Write(ctx).Finish(ctx)
		cluster.DamageWAL(ctx, cluster.Member(0))
		cluster.AwaitStalled(ctx, "QuorumLost")
		expectNobodyServes(ctx, cluster)
	})
})

var _ = Describe("Another cluster's data where a member has its own", Label("data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	// Without a quorum of the cluster that it comes from, such a process never answers anybody.
	It("is never taken for the member's, costs no other member anything, and is replaced", perStory, func(ctx context.Context) {
		cluster, other := story.Create(ctx, "own", 3, world.ReplaceAfter(30*time.Second)), story.Create(ctx, "other", 3)
		cluster.AwaitReady(ctx, 3)
		other.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		traffic, theirs := cluster.Write(ctx), other.Write(ctx)
		theirs.During(ctx, func() {
			traffic.During(ctx, func() {
				cluster.PutForeignData(ctx, victim, other, follower(ctx, other))
				cluster.AwaitReady(ctx, 3)
			})
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
		theirs.Finish(ctx)
	})

	// What the foreign process acknowledges before anybody can notice is lost with it, so nobody writes meanwhile.
	It("is replaced at once where it serves by itself, and clients are led away from it first", perStory, func(ctx context.Context) {
		cluster, other := story.Create(ctx, "own", 3), story.Create(ctx, "other", 1)
		cluster.AwaitReady(ctx, 3)
		other.AwaitReady(ctx, 1)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		cluster.Write(ctx).Finish(ctx)
		clients := follow(&corev1.PodList{}, victim, func(pod *corev1.Pod) string {
			switch {
			case pod.DeletionTimestamp != nil:
				return "gone"
			case pod.Labels[v1alpha1.LabelRole] == v1alpha1.RoleVoter:
				return "led to it"
			}
			return "led away"
		})
		cluster.PutForeignData(ctx, victim, other, other.Member(0))
		expectSaid(ctx, cluster, "replace", "holds the data of cluster "+other.ClusterID.String())
		cluster.AwaitReady(ctx, 3)
		Expect(clients()).To(HaveExactElements("led to it", "led away", "gone"))
		expectReplaced(ctx, cluster, before, victim)
		cluster.Write(ctx).Finish(ctx)
	})
})

var _ = Describe("A PersistentVolume that is lost under a member that serves", Label("data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, size := range []int32{3, 1} {
		It("costs that member, and not before another has taken its place, in "+members(size), perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "pv", size)
			cluster.AwaitReady(ctx, int(size))
			before, victim := cluster.Identities(ctx), cluster.Member(0)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.LosePersistentVolume(ctx, victim)
				Eventually(ctx, func() map[string]etcdutil.ID { return cluster.Identities(ctx) }).Should(HaveLen(len(before)+1), "one joins first")
				Eventually(ctx, func() map[string]etcdutil.ID { return cluster.Identities(ctx) }).ShouldNot(HaveKey(victim))
				cluster.AwaitReady(ctx, int(size))
			})
			expectReplaced(ctx, cluster, before, victim)
			traffic.Finish(ctx)
		})
	}
})

var _ = Describe("A disk that is full", Label("data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is told by etcd's own words and costs no member, which goes on once there is room again", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "full", 3, world.ReplaceAfter(30*time.Second))
		cluster.AwaitReady(ctx, 3)
		ids, data, victim := cluster.Identities(ctx), volumes(ctx, cluster), follower(ctx, cluster)
		disk := cluster.MoveToDisk(ctx, victim, 256)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			disk.Fill()
			cluster.FillThrough(ctx, cluster.Leader(ctx), "full", 600)
			expectSaid(ctx, cluster, "member-health", "no space left on device")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(time.Minute).Should(Equal(ids), "a new member would meet the same")
			disk.Free()
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, cluster)).To(Equal(data))
		traffic.Finish(ctx)
	})
})

// expectSaid waits until a rule has spoken with these words, in the status or, where the status switched over before it could be
// written, in the event of what was done.
func expectSaid(ctx context.Context, c *world.Cluster, rule, words string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		events, err := eventsOf(ctx, c)
		g.Expect(err).NotTo(HaveOccurred())
		said := slices.ContainsFunc(c.History.Steps(), func(step world.Step) bool { return step.Rule == rule && strings.Contains(step.Message, words) })
		done := slices.ContainsFunc(events, func(event eventsv1.Event) bool { return strings.Contains(event.Note, words) })
		g.Expect(said || done).To(BeTrue(), "%s: %s", rule, words)
	}).Should(Succeed(), "the decisions are\n%s", c.History)
}

// loseVolume deletes a member's claim and its Pod, and waits until the claim is really gone.
func loseVolume(ctx context.Context, c *world.Cluster, member string) {
	GinkgoHelper()
	loseClaimOf(ctx, c, member, member)
}

// expectReplaced expects the lost member's name and ID to be gone, and one new member beside the old ones.
func expectReplaced(ctx context.Context, c *world.Cluster, before map[string]etcdutil.ID, lost string) {
	GinkgoHelper()
	after := c.Identities(ctx)
	Expect(after).NotTo(HaveKey(lost), "the name is not used again")
	highest := 0
	for name, id := range before {
		if name != lost {
			Expect(after).To(HaveKeyWithValue(name, id))
		}
		ordinal, _ := etcdutil.Ordinal(c.Name, name)
		highest = max(highest, ordinal)
	}
	Expect(after).To(HaveLen(len(before)))
	// Usually the next one. A learner that was on its way when its predecessor was lost has flags of a list that is no more; it
	// is given up, and its name with it.
	for name := range after {
		ordinal, isOurs := etcdutil.Ordinal(c.Name, name)
		Expect(isOurs && (before[name] != 0 || ordinal > highest)).To(BeTrue(), "%s is no name that was never used", name)
	}
}

// expectNobodyServes watches for a while that no member answers as a cluster, neither the old one nor a new one.
func expectNobodyServes(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Consistently(ctx, func() error {
		pods, err := c.Pods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			if view, err := c.Look(ctx, &pods[i]); err == nil {
				Fail("serves again: " + view.Pod + " of cluster " + view.Status.ClusterID.String())
			}
		}
		return nil
	}).WithTimeout(watching).Should(Succeed())
}
