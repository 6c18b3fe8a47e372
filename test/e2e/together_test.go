package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A change of size and one of settings", Label("disruption"), func() {
	ownNamespace()

	It("asked for at once, up and down again, both come to their end, and no member is replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "both", 3)
		cluster.AwaitReady(ctx, 3)
		small, before := specOf(ctx, cluster), cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size = 5; otherSettings(s) })
			cluster.AwaitReady(ctx, 5)
		})
		expectOtherSettings(ctx, cluster)
		large := cluster.Identities(ctx)
		expectWithin(before, large)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = small })
			cluster.AwaitReady(ctx, 3)
		})
		for _, pod := range listPods(ctx, cluster) {
			Expect(pod.Spec.Containers[0].Args).NotTo(ContainElement("--snapshot-count=20000"), pod.Name)
		}
		expectWithin(cluster.Identities(ctx), large)
		traffic.Finish(ctx)
	})
})

var _ = Describe("An eviction of an ephemeral member", Label("disruption"), func() {
	ownNamespace()

	changes := map[string]struct {
		from, to int32
		edit     func(*v1alpha1.EtcdClusterSpec)
		rule     string // speaks when it has begun
	}{
		"a roll":                       {3, 3, otherSettings, "grow"},
		"a change of size from 3 to 5": {3, 5, func(s *v1alpha1.EtcdClusterSpec) { s.Size = 5 }, "grow"},
		"a change of size from 5 to 3": {5, 3, func(s *v1alpha1.EtcdClusterSpec) { s.Size = 3 }, "shrink"},
	}
	for _, what := range slices.Sorted(maps.Keys(changes)) { // every process must see them in one order
		change := changes[what]
		It("in the middle of "+what+" costs that member and no quorum, and both come to their end", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "fleeting", change.from, world.Ephemeral)
			cluster.AwaitReady(ctx, int(change.from))
			before, victim := cluster.Identities(ctx), cluster.Member(0)
			awaitAllowed(ctx, "fleeting", change.from-int32(etcdutil.Quorum(int(change.from))))
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, change.edit)
				Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement(change.rule))
				pod, err := cluster.Pod(ctx, victim)
				Expect(err).NotTo(HaveOccurred())
				Expect(cluster.CheckReady(ctx, int(change.to))).NotTo(Succeed(), "it was over before the eviction")
				Eventually(ctx, func() error { return evict(ctx, pod) }).WithPolling(100 * time.Millisecond).Should(Succeed())
				awaitPodGone(ctx, cluster, pod)
				cluster.AwaitReady(ctx, int(change.to))
			})
			Expect(before).To(HaveKey(victim))
			Expect(cluster.Identities(ctx)).NotTo(HaveKey(victim), "its data went with its Pod")
			traffic.Finish(ctx)
		})
	}
})

var _ = Describe("A node that is drained in the middle", Label("disruption"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, size := range []struct{ from, to int32 }{{3, 5}, {5, 3}} {
		rule := "grow"
		if size.to < size.from {
			rule = "shrink"
		}
		It(fmt.Sprintf("of a change of size from %d to %d is drained, and the change goes on when it is back", size.from, size.to), perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "racing", size.from)
			cluster.AwaitReady(ctx, int(size.from))
			before, node := cluster.Identities(ctx), cluster.NodeOf(ctx, cluster.Leader(ctx))
			victims := membersByNode(ctx, cluster)[node]
			was := podsOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Resize(ctx, size.to)
				Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement(rule))
				Expect(cluster.CheckReady(ctx, int(size.to))).NotTo(Succeed(), "it was over before the drain")
				out, err := cluster.Drain(ctx, node)
				Expect(err).NotTo(HaveOccurred(), out)
				now := podsOf(ctx, cluster)
				for _, victim := range victims {
					Expect(now[victim]).NotTo(Equal(was[victim]), "%s was not drained", victim)
				}
				kube.Uncordon(ctx, node)
				cluster.AwaitReady(ctx, int(size.to))
			})
			after := cluster.Identities(ctx)
			if size.to > size.from {
				expectWithin(before, after)
			} else {
				expectWithin(after, before)
			}
			traffic.Finish(ctx)
		})
	}
})

// expectWithin expects every member of one set in the other, as the same one.
func expectWithin(some, all map[string]etcdutil.ID) {
	GinkgoHelper()
	rest := maps.Clone(some)
	maps.DeleteFunc(rest, func(name string, id etcdutil.ID) bool { return all[name] == id })
	Expect(rest).To(BeEmpty(), "of %v, which are %v now", some, all)
}
