package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

var _ = Describe("A spec that asks for other volumes than members have", Label("volumes"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, size := range []int32{1, 3} {
		It("by another pool of nodes moves "+members(size)+" there, one member after the other, while clients write", perStory,
			func(ctx context.Context) {
				pools := makePools(ctx)
				cluster := story.Create(ctx, "pooled", size, pools.in("a"))
				cluster.AwaitReady(ctx, int(size))
				was := identityOf(ctx, cluster)
				traffic := cluster.Write(ctx)
				traffic.During(ctx, func() {
					cluster.Change(ctx, pools.to("b"))
					expectMoved(ctx, cluster, was)
				})
				pools.expectIn(ctx, cluster, "b")
				traffic.Finish(ctx)
			})

		It("by another StorageClass moves "+members(size)+" to it, one member after the other, while clients write", perStory,
			func(ctx context.Context) {
				old, next := makeClass(ctx, "a"), makeClass(ctx, "b")
				cluster := story.Create(ctx, "classed", size, inClass(old))
				cluster.AwaitReady(ctx, int(size))
				was := identityOf(ctx, cluster)
				traffic := cluster.Write(ctx)
				traffic.During(ctx, func() {
					cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Storage.StorageClassName = &next.Name })
					expectMoved(ctx, cluster, was)
				})
				expectClasses(ctx, cluster, map[string]int{next.Name: int(size)})
				traffic.Finish(ctx)
			})

		It("by data in Pods moves "+members(size)+" off its volumes, and back to volumes, while clients write", NodeTimeout(12*time.Minute),
			func(ctx context.Context) {
				cluster := story.Create(ctx, "fleeting", size)
				cluster.AwaitReady(ctx, int(size))
				traffic := cluster.Write(ctx)
				for _, to := range []struct {
					storage *v1alpha1.StorageSpec
					volumes int
				}{{&v1alpha1.StorageSpec{Ephemeral: &v1alpha1.EphemeralSpec{}}, 0}, {nil, int(size)}} {
					was := identityOf(ctx, cluster)
					traffic.During(ctx, func() {
						cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Storage = to.storage })
						expectSuccessors(ctx, cluster, was, to.volumes)
					})
				}
				traffic.Finish(ctx)
			})
	}

	It("by another StorageClass moves a cluster of five to it, one member after the other, while clients write", NodeTimeout(12*time.Minute),
		func(ctx context.Context) {
			old, next := makeClass(ctx, "a"), makeClass(ctx, "b")
			cluster := story.Create(ctx, "five", 5, inClass(old))
			cluster.AwaitReady(ctx, 5)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, toClass(next.Name))
				expectMoved(ctx, cluster, was)
			})
			expectClasses(ctx, cluster, map[string]int{next.Name: 5})
			traffic.Finish(ctx)
		})

	It("and is put back when a member has moved leads back, one member after the other", perStory, func(ctx context.Context) {
		pools := makePools(ctx)
		cluster := story.Create(ctx, "back", 3, pools.in("a"))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, pools.to("b"))
			Eventually(ctx, func() any { return cluster.Identities(ctx) }).Should(And(HaveLen(3), Not(Equal(was.ids))))
			cluster.Change(ctx, pools.to("a"))
			cluster.AwaitReady(ctx, 3)
		})
		pools.expectIn(ctx, cluster, "a")
		Expect(cluster.History.HasSaid("EvictPod", "")).To(BeFalse(), "decisions:\n%s", cluster.History)
		traffic.Finish(ctx)
	})

	It("by a size below what a person made of them moves no member, holds nothing up, and is warned of", perStory,
		func(ctx context.Context) {
			class := makeClass(ctx, "grows")
			class.AllowVolumeExpansion = new(true)
			Expect(kube.Client.Update(ctx, class)).To(Succeed())
			cluster := story.Create(ctx, "expanded", 3, inClass(class))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				for name := range was.volumes {
					patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":{"requests":{"storage":"12Gi"}}}}`))
					Expect(kube.Client.Patch(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, name)}, patch)).To(Succeed())
				}
				cluster.Change(ctx, otherSettings)
				cluster.AwaitReady(ctx, 3)
				cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "SpecWarning")
			})
			expectSame(ctx, cluster, was)
			traffic.Finish(ctx)
		})

	It("by a rule that keeps members apart moves one that shares its node, which serves on as it was until then",
		NodeTimeout(15*time.Minute), func(ctx context.Context) {
			nodes, err := kube.Nodes(ctx)
			Expect(err).NotTo(HaveOccurred())
			if len(nodes) < 3 {
				needs.Missing(GinkgoT(), "this cluster has fewer than three nodes")
			}
			cluster := story.Create(ctx, "sharing", 3, onNodes(nodes[:2]))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
					rule := &v1alpha1.EtcdCluster{Spec: *s}
					rulesOfPlaces[0].rule(rule)
					s.Pod = rule.Spec.Pod
				})
				Eventually(ctx, func() bool { return cluster.History.HasSaid("MarkVolume", "It serves on as it was") }).
					WithTimeout(8*time.Minute).Should(BeTrue(), "decisions:\n%s", cluster.History)
				Eventually(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(world.Patience).Should(And(HaveLen(3),
					Not(Equal(was.ids))), "decisions:\n%s", cluster.History)
				cluster.AwaitReady(ctx, 3)
			})
			expectOnThreeNodes(ctx, cluster)
			traffic.Finish(ctx)
		})

	for _, how := range []string{"a node selector", "a node affinity"} {
		It("by "+how+" that no node fits stops no member, says so, and leaves nothing when it is put back", perStory,
			func(ctx context.Context) {
				cluster := story.Create(ctx, "nowhere", 3, world.ReplaceAfter(soon))
				cluster.AwaitReady(ctx, 3)
				was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
				traffic := cluster.Write(ctx)
				traffic.During(ctx, func() {
					cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { onNoNode(s, how) })
					expectHeard(ctx, cluster, "Unschedulable")
					Consistently(ctx, func() map[string]types.UID { return podsOf(ctx, cluster) }).WithTimeout(outlasting).Should(Satisfy(was.runsIn))
					cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
					cluster.AwaitReady(ctx, 3)
				})
				expectUntouched(ctx, cluster, was)
				traffic.Finish(ctx)
			})
	}
})

// onNodes has members run on some nodes alone.
func onNodes(nodes []string) world.Option {
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes},
				},
			}}},
		}}
	}
}

// onNoNode asks for nodes that there are not.
func onNoNode(s *v1alpha1.EtcdClusterSpec, how string) {
	const label = "e2e.etcdsteward.dev/no-such"
	if how == "a node selector" {
		s.Pod.NodeSelector = map[string]string{label: "node"}
		return
	}
	s.Pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label, Operator: corev1.NodeSelectorOpExists}},
		}}},
	}}
}

// runsIn reports that each Pod is among these, beside which there may be others.
func (i identity) runsIn(pods map[string]types.UID) bool {
	for name, uid := range i.pods {
		if pods[name] != uid {
			return false
		}
	}
	return true
}

// expectMoved expects every member to be a new one on a volume, and that none was stopped before its successor had a vote.
func expectMoved(ctx context.Context, c *world.Cluster, was identity) {
	GinkgoHelper()
	expectSuccessors(ctx, c, was, len(was.ids))
}

// expectSuccessors expects the same, and as many volumes in the end.
func expectSuccessors(ctx context.Context, c *world.Cluster, was identity, left int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ids := c.Identities(ctx)
		g.Expect(ids).To(HaveLen(len(was.ids)))
		for name := range was.ids {
			g.Expect(ids).NotTo(HaveKey(name))
		}
	}).WithTimeout(world.Patience).Should(Succeed(), "decisions:\n%s", c.History)
	c.AwaitReady(ctx, len(was.ids))
	Expect(c.History.HasSaid("EvictPod", "")).To(BeFalse(), "decisions:\n%s", c.History)
	Eventually(ctx, func() any { return volumes(ctx, c) }).Should(HaveLen(left), "nothing is left of the old members")
}

// pools are the nodes of this story: those of "a", and one of "b". No node is of "c".
type pools struct {
	label  string
	poolOf map[string]string // by node
}

// makePools gives every node a pool, by a label that is this story's own.
func makePools(ctx context.Context) pools {
	GinkgoHelper()
	p := pools{"e2e.etcdsteward.dev/" + story.Namespace, map[string]string{}}
	nodes := &corev1.NodeList{}
	Expect(kube.Client.List(ctx, nodes)).To(Succeed())
	if len(nodes.Items) < 2 {
		needs.Missing(GinkgoT(), "this cluster has one node")
	}
	labelNodes(ctx, p.label, "a")
	last := &nodes.Items[len(nodes.Items)-1]
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+p.label+`":"b"}}}`))
	Expect(kube.Client.Patch(ctx, last, patch)).To(Succeed())
	for _, node := range nodes.Items {
		p.poolOf[node.Name] = "a"
	}
	p.poolOf[last.Name] = "b"
	return p
}

func (p pools) in(pool string) world.Option {
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Pod.NodeSelector = map[string]string{p.label: pool} }
}

func (p pools) to(pool string) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Pod.NodeSelector = map[string]string{p.label: pool} }
}

func (p pools) expectIn(ctx context.Context, c *world.Cluster, pool string) {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range pods {
		Expect(p.poolOf[pods[i].Spec.NodeName]).To(Equal(pool), pods[i].Name)
	}
}
