package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/needs"
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
			second, err := cluster.Pod(ctx, cluster.Member(1))
			Expect(err).NotTo(HaveOccurred())
			// A probe that comes late closes the budget for a moment.
			Eventually(ctx, func() error { return evict(ctx, pod) }).Should(Succeed())
			Expect(evict(ctx, second)).To(MatchError(apierrors.IsTooManyRequests, "the budget refuses"))
			awaitPodGone(ctx, cluster, pod)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		traffic.Finish(ctx)
	})
})

var _ = Describe("An eviction", Label("disruption"), func() {
	ownNamespace()

	It("is bounded by a quorum of the voters, of any number, and refused to an only member", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "bounded", 3)
		cluster.AwaitReady(ctx, 3)
		expectBudget(ctx, "bounded", 2)
		bounds := followBudget("bounded")
		traffic := cluster.Write(ctx)
		for _, step := range []struct{ size, bound int32 }{{5, 3}, {3, 2}} {
			traffic.During(ctx, func() {
				cluster.Resize(ctx, step.size)
				cluster.AwaitReady(ctx, int(step.size))
				expectBudget(ctx, "bounded", step.bound)
			})
		}
		Expect(bounds()).To(HaveEach(BeElementOf(int32(2), int32(3))), "never less than a quorum of three")
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 1)
			cluster.AwaitReady(ctx, 1)
		})
		expectBudget(ctx, "bounded", 1)
		only, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		awaitAllowed(ctx, "bounded", 0)
		Expect(evict(ctx, &only[0])).To(MatchError(apierrors.IsTooManyRequests, "the budget refuses it"))
		traffic.Finish(ctx)
	})

	It("in the middle of a roll costs no quorum, and both come to their end", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "rolling", 3)
		cluster.AwaitReady(ctx, 3)
		was, leader := identityOf(ctx, cluster), cluster.Leader(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			Eventually(ctx, func() any { return podsOf(ctx, cluster) }).WithPolling(20 * time.Millisecond).ShouldNot(Equal(was.pods))
			pod, err := cluster.Pod(ctx, leader) // it is the last to be rolled
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.UID).To(Equal(was.pods[leader]), "the roll was over before the eviction")
			Eventually(ctx, func() error { return evict(ctx, pod) }).WithPolling(100 * time.Millisecond).Should(Or(Succeed(), MatchError(apierrors.IsNotFound, "rolled meanwhile")))
			awaitPodGone(ctx, cluster, pod)
			cluster.AwaitReady(ctx, 3)
		})
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	for _, step := range []struct{ from, to int32 }{{3, 5}, {5, 3}} {
		rule := "grow"
		if step.to < step.from {
			rule = "shrink"
		}
		It(fmt.Sprintf("in the middle of a change of size from %d to %d costs no quorum, and both come to their end", step.from, step.to), perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "racing", step.from)
			cluster.AwaitReady(ctx, int(step.from))
			before, victim := cluster.Identities(ctx), cluster.Member(0)
			cluster.MoveLeader(ctx, victim)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Resize(ctx, step.to)
				Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement(rule))
				pod, err := cluster.Pod(ctx, victim)
				Expect(err).NotTo(HaveOccurred())
				Eventually(ctx, func() error { return evict(ctx, pod) }).WithPolling(100 * time.Millisecond).Should(Succeed())
				Expect(cluster.Identities(ctx)).NotTo(HaveLen(int(step.to)), "the change of size was over before the eviction")
				awaitPodGone(ctx, cluster, pod)
				cluster.AwaitReady(ctx, int(step.to))
			})
			// Going down, the one that was evicted may be the one that is not needed. Nobody is ever replaced.
			larger, smaller := before, cluster.Identities(ctx)
			if step.to > step.from {
				larger, smaller = smaller, larger
			}
			for name, id := range smaller {
				Expect(larger).To(HaveKeyWithValue(name, id))
			}
			traffic.Finish(ctx)
		})
	}
})

var _ = Describe("A node that is drained", Label("disruption"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("as each is in turn, takes one member away that comes back with it, under load, and never a quorum", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "turns", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		byNode := membersByNode(ctx, cluster)
		Expect(byNode).To(HaveLen(3), "members are spread over the nodes")
		traffic := cluster.Write(ctx)
		for _, node := range slices.Sorted(maps.Keys(byNode)) {
			By("draining " + node)
			awaitAllowed(ctx, "turns", 1)
			traffic.During(ctx, func() {
				out, err := cluster.Drain(ctx, node)
				Expect(err).NotTo(HaveOccurred(), out)
				Expect(podsOf(ctx, cluster)).NotTo(HaveKeyWithValue(byNode[node][0], was.pods[byNode[node][0]]), "it was drained:\n%s", out)
				Expect(cluster.CheckServing(ctx, 3)).NotTo(Succeed(), "its volume is on the drained node")
				kube.Uncordon(ctx, node)
				cluster.AwaitReady(ctx, 3)
			})
		}
		for name, uid := range podsOf(ctx, cluster) {
			Expect(uid).NotTo(Equal(was.pods[name]), "%s was never drained", name)
		}
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("with the leader is empty by itself, and no write fails", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "led", 3)
		cluster.AwaitReady(ctx, 3)
		leader := cluster.Leader(ctx)
		node := cluster.NodeOf(ctx, leader)
		awaitAllowed(ctx, "led", 1)
		traffic, through := cluster.Write(ctx), cluster.WriteThroughService(ctx)
		out, err := cluster.Drain(ctx, node)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(cluster.Leader(ctx)).NotTo(Equal(leader))
		traffic.Flow(ctx)
		cluster.Uncordon(ctx, node)
		cluster.AwaitReady(ctx, 3)
		through.Finish(ctx)
		traffic.Finish(ctx)
	})

	for _, storage := range []struct {
		what  string
		how   world.Option
		flags []string
	}{
		{what: "on a volume"},
		{what: "in its Pod", how: world.Ephemeral, flags: []string{"--delete-emptydir-data"}},
	} {
		It("with an only member, whose data is "+storage.what+", is empty once another one has its data, and no write fails", perStory,
			func(ctx context.Context) {
				var options []world.Option
				if storage.how != nil {
					options = append(options, storage.how)
				}
				cluster := story.Create(ctx, "only", 1, options...)
				cluster.AwaitReady(ctx, 1)
				before := cluster.Identities(ctx)
				node := cluster.NodeOf(ctx, cluster.Leader(ctx))
				traffic, through := cluster.Write(ctx), cluster.WriteThroughService(ctx)
				out, err := cluster.Drain(ctx, node, storage.flags...)
				Expect(err).NotTo(HaveOccurred(), out)
				cluster.AwaitReady(ctx, 1)
				Expect(cluster.NodeOf(ctx, cluster.Leader(ctx))).NotTo(Equal(node))
				for name := range cluster.Identities(ctx) {
					Expect(before).NotTo(HaveKey(name))
				}
				through.Finish(ctx)
				traffic.Finish(ctx)
			})
	}

	It("is not needed for an only member to move: an EvictionRequest that names its Pod is enough, and no write fails", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "asked", 1)
			cluster.AwaitReady(ctx, 1)
			only, err := cluster.Pod(ctx, cluster.Leader(ctx))
			Expect(err).NotTo(HaveOccurred())
			traffic := cluster.Write(ctx)
			asked := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: meta(story.Namespace, "rebalance"), Spec: lifecyclev1alpha1.EvictionRequestSpec{
				Requester: "example.com/balancer", Intent: lifecyclev1alpha1.EvictionRequestIntentEviction,
				Target: lifecyclev1alpha1.EvictionRequestTarget{Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: only.Name, UID: only.UID}}}}
			err = kube.Client.Create(ctx, asked)
			if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				needs.Unfit(GinkgoT(), "this API server has no EvictionRequests")
			}
			Expect(err).NotTo(HaveOccurred())
			awaitPodGone(ctx, cluster, only)
			cluster.AwaitReady(ctx, 1)
			Expect(cluster.Identities(ctx)).NotTo(HaveKey(only.Name))
			traffic.Finish(ctx)
		})

	It("with an only member that no other node takes is empty after five minutes, and the member comes back with its node", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "stuck", 1)
			cluster.AwaitReady(ctx, 1)
			was := identityOf(ctx, cluster)
			only, err := cluster.Pod(ctx, cluster.Leader(ctx))
			Expect(err).NotTo(HaveOccurred())
			traffic := cluster.Write(ctx)
			nodes, err := kube.Nodes(ctx)
			Expect(err).NotTo(HaveOccurred())
			for _, node := range nodes {
				cluster.Cordon(ctx, node)
			}
			Eventually(ctx, func() error { return evict(ctx, only) }).WithTimeout(8 * time.Minute).WithPolling(time.Second).Should(Succeed())
			Expect(eventsOf(ctx, cluster)).To(ContainElement(HaveField("Note", ContainSubstring("and no node takes"))))
			awaitPodGone(ctx, cluster, only)
			cluster.Uncordon(ctx, only.Spec.NodeName)
			cluster.AwaitReady(ctx, 1)
			expectSame(ctx, cluster, was)
			traffic.FinishAfterOutage(ctx)
		})

	It("needs --delete-emptydir-data only where data is ephemeral; then the member is replaced on another node", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "emptydir", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		node := cluster.NodeOf(ctx, victim)
		awaitAllowed(ctx, "emptydir", 1)
		pods := podsOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			out, err := cluster.Drain(ctx, node)
			Expect(err).To(HaveOccurred())
			Expect(out).To(ContainSubstring("--delete-emptydir-data"))
			Expect(podsOf(ctx, cluster)).To(Equal(pods))
			out, err = cluster.Drain(ctx, node, "--delete-emptydir-data")
			Expect(err).NotTo(HaveOccurred(), out)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		traffic.Finish(ctx)
	})

	It("in the middle of a roll is drained, and the roll goes on when the node is back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "both", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		byNode := membersByNode(ctx, cluster)
		node := cluster.NodeOf(ctx, cluster.Leader(ctx))
		Expect(byNode[node]).To(HaveLen(1), "members are spread over the nodes")
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement("roll"))
			out, err := cluster.Drain(ctx, node)
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(cluster.CheckReady(ctx, 3)).NotTo(Succeed(), "one member cannot come back yet")
			kube.Uncordon(ctx, node)
			cluster.AwaitReady(ctx, 3)
		})
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("Members", Label("disruption"), func() {
	ownNamespace()

	It("are spread over the nodes by default", perStory, func(ctx context.Context) {
		nodes, err := kube.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		if len(nodes) < 3 {
			needs.Missing(GinkgoT(), "this cluster has fewer than three nodes")
		}
		cluster := story.Create(ctx, "spread", 3)
		cluster.AwaitReady(ctx, 3)
		Expect(membersByNode(ctx, cluster)).To(HaveLen(3))
		cluster.Write(ctx).Finish(ctx)
	})

	It("are spread over nodes without zones, also after each one was replaced", Serial, perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		nodes := &corev1.NodeList{}
		Expect(kube.Client.List(ctx, nodes)).To(Succeed())
		setZone := func(ctx context.Context, node, zone string) {
			out, err := kube.Kubectl(ctx, "label", "node", node, "--overwrite", corev1.LabelTopologyZone+zone)
			Expect(err).NotTo(HaveOccurred(), out)
		}
		for i := range nodes.Items {
			DeferCleanup(setZone, nodes.Items[i].Name, "="+nodes.Items[i].Labels[corev1.LabelTopologyZone])
			setZone(ctx, nodes.Items[i].Name, "-")
		}
		cluster := story.Create(ctx, "zoneless", 3)
		cluster.AwaitReady(ctx, 3)
		Expect(membersByNode(ctx, cluster)).To(HaveLen(3))
		for i := range 3 {
			victim := cluster.Member(i)
			annotate(ctx, cluster, v1alpha1.AnnotationReplace, fmt.Sprintf("%q", victim))
			Eventually(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(world.Patience).ShouldNot(HaveKey(victim))
			cluster.AwaitReady(ctx, 3)
			Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(3), "the one of %s goes with its Pod", victim)
			Expect(membersByNode(ctx, cluster)).To(HaveLen(3), "%s was replaced", victim)
		}
	})

	It("that all run on one node are a warning that names them and the node", perStory, func(ctx context.Context) {
		nodes, err := kube.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		cluster := story.Create(ctx, "together", 3, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.NodeSelector = map[string]string{corev1.LabelHostname: nodes[0]}
		})
		cluster.AwaitReady(ctx, 3)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "SpecWarning")
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionUpToDate).Message).
			To(ContainSubstring("together-0, together-1, together-2 all run on node " + nodes[0]))
	})

	It("that all run in one zone are a warning where the spec spreads them over zones", Serial, perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		nodes := &corev1.NodeList{}
		Expect(kube.Client.List(ctx, nodes)).To(Succeed())
		setZone := func(ctx context.Context, node, zone string) {
			out, err := kube.Kubectl(ctx, "label", "node", node, "--overwrite", corev1.LabelTopologyZone+"="+zone)
			Expect(err).NotTo(HaveOccurred(), out)
		}
		for i := range nodes.Items {
			DeferCleanup(setZone, nodes.Items[i].Name, nodes.Items[i].Labels[corev1.LabelTopologyZone])
			setZone(ctx, nodes.Items[i].Name, "only")
		}
		cluster := story.Create(ctx, "zone", 3, func(c *v1alpha1.EtcdCluster) {
			for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
				c.Spec.Pod.TopologySpreadConstraints = append(c.Spec.Pod.TopologySpreadConstraints,
					corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule})
			}
		})
		cluster.AwaitReady(ctx, 3)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "SpecWarning")
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionUpToDate).Message).
			To(ContainSubstring("zone-0, zone-1, zone-2 all run in zone only,"))
	})
})

var _ = Describe("Something that a person deletes", Label("disruption"), func() {
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
		object := &policyv1.PodDisruptionBudget{}
		err := kube.Client.Get(ctx, key(budget), object)
		return object.Status.DisruptionsAllowed, err
	}).Should(Equal(disruptions))
}

// expectBudget waits until the budget asks for so many members.
func expectBudget(ctx context.Context, name string, minAvailable int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		budget := &policyv1.PodDisruptionBudget{}
		g.Expect(kube.Client.Get(ctx, key(name), budget)).To(Succeed())
		g.Expect(budget.Spec.MinAvailable.IntVal).To(Equal(minAvailable))
	}).Should(Succeed())
}

// followBudget writes down every minAvailable that a budget has from now on, until the returned function is called.
func followBudget(name string) (bounds func() []int32) {
	GinkgoHelper()
	return follow(&policyv1.PodDisruptionBudgetList{}, name, func(b *policyv1.PodDisruptionBudget) int32 { return b.Spec.MinAvailable.IntVal })
}

// follow writes down every value that something of an object of this name has from now on, until the returned function is called.
func follow[T client.Object, V comparable](list client.ObjectList, name string, value func(T) V) (values func() []V) {
	GinkgoHelper()
	return followAll(list, func(object T) bool { return object.GetName() == name }, value)
}

// followAll is follow for each object that is wanted.
func followAll[T client.Object, V comparable](
	list client.ObjectList, isWanted func(T) bool, value func(T) V,
) (values func() []V) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	events, err := kube.Client.Watch(ctx, list, client.InNamespace(story.Namespace))
	Expect(err).NotTo(HaveOccurred())
	var seen []V
	var ended sync.WaitGroup
	ended.Go(func() {
		for event := range events.ResultChan() {
			if object, ok := event.Object.(T); ok && isWanted(object) {
				seen = append(seen, value(object))
			}
		}
	})
	values = func() []V { cancel(); ended.Wait(); return slices.Compact(seen) }
	DeferCleanup(func() { values() })
	return values
}

// membersByNode are the names of the members on each node.
func membersByNode(ctx context.Context, c *world.Cluster) map[string][]string {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	members := map[string][]string{}
	for i := range pods {
		members[pods[i].Spec.NodeName] = append(members[pods[i].Spec.NodeName], pods[i].Name)
	}
	return members
}
