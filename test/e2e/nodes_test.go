package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// soon is a repair.replaceAfter that a story can wait for; never is one that leaves only certain loss as a ground.
const (
	soon  = 30 * time.Second
	never = 0
)

var _ = Describe("A Pod that its kubelet ended for good", Label("nodes"), func() {
	ownNamespace()

	It("is made anew on its volume as the same member, for any reason that the kubelet gives", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "ended", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		for _, ending := range world.Endings {
			By(ending.String())
			traffic.During(ctx, func() {
				pod, err := cluster.Pod(ctx, follower(ctx, cluster))
				Expect(err).NotTo(HaveOccurred())
				cluster.End(ctx, pod, ending)
				cluster.AwaitReady(ctx, 3)
			})
		}
		Expect(cluster.History.HasSaid("DeletePods", " ended")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("because its time was up, as the leader, comes back on its volume as the same member", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "expired", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			pod, err := cluster.Pod(ctx, cluster.Leader(ctx))
			Expect(err).NotTo(HaveOccurred())
			cluster.Expire(ctx, pod)
			awaitPodGone(ctx, cluster, pod)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasSaid("DeletePods", " ended")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("because it does not fit on the node is made anew, and comes back on its volume once it fits", perStory, func(ctx context.Context) {
		label := "e2e.etcdsteward.dev/" + story.Namespace
		labelNodes(ctx, label, "yes")
		cluster := story.Create(ctx, "rejected", 3, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.NodeSelector = map[string]string{label: "yes"}
		})
		cluster.AwaitReady(ctx, 3)
		was, member := identityOf(ctx, cluster), follower(ctx, cluster)
		node := cluster.NodeOf(ctx, member)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			labelNodes(ctx, label, "no")
			deletePod(ctx, cluster, member)
			rejected := awaitUnscheduled(ctx, cluster, member)
			Expect(cluster.Bind(ctx, rejected, node)).To(Succeed())
			awaitPodGone(ctx, cluster, rejected)
			Eventually(ctx, func() bool { return cluster.History.HasSaid("DeletePods", " ended") }).Should(BeTrue(), "said")
			labelNodes(ctx, label, "yes")
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("takes ephemeral data along, so that the member is replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "evicted", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			pod, err := cluster.Pod(ctx, victim)
			Expect(err).NotTo(HaveOccurred())
			cluster.Expire(ctx, pod)
			awaitPodGone(ctx, cluster, pod)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A process that is there and does not answer", Label("nodes"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is replaced when two witnesses have called it dead for repair.replaceAfter, and not before", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "hung", 3, world.ReplaceAfter(soon))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		var since time.Time
		traffic.During(ctx, func() {
			cluster.Freeze(ctx, victim)
			since = unreadySince(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		Expect(firstStep(cluster, "RemoveMember")).To(BeTemporally(">=", since.Add(soon)), "decisions:\n%s", cluster.History)
		Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(3))
		traffic.Finish(ctx)
	})

	It("because it runs out of memory again and again is started again by its kubelet, and never replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "memory", 3, world.ReplaceAfter(soon), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.Resources.Limits = map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "160Mi"}
		})
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "much", 600)
		was, victim := identityOf(ctx, cluster), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			stop := cluster.ReadWhole(ctx, victim)
			// The kubelet waits 10, 20 and 40 s between these starts: longer than repair.replaceAfter.
			Eventually(ctx, func() (int, error) { return cluster.Restarts(ctx, victim) }).Should(BeNumerically(">=", 4))
			Expect(cluster.WhyEnded(ctx, victim)).To(Equal("OOMKilled"))
			stop()
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasReason("MemberCrashing")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A node", Label("nodes"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("that is cut off and back finds its member where it was, and nothing was restarted or replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "cut", 3, world.ReplaceAfter(never))
		cluster.AwaitReady(ctx, 3)
		was, victim := identityOf(ctx, cluster), cluster.AwayFromOperator(ctx)
		node := cluster.NodeOf(ctx, victim)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			heal := kube.Cut(ctx, node)
			kube.AwaitNodeSilent(ctx, node)
			cluster.AwaitCondition(ctx, v1alpha1.ConditionDegraded, "True", "MembersUnhealthy")
			expectSaid(ctx, cluster, "member-health", "Node "+node+" is NotReady since ")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(was.ids))
			heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		expectNoRestarts(ctx, cluster)
		traffic.Finish(ctx)
	})

	It("that is gone for longer than repair.replaceAfter costs its member, and another node gets a new one", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "dead", 3, world.ReplaceAfter(soon))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.AwayFromOperator(ctx)
		node := cluster.NodeOf(ctx, victim)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			kube.KillNode(ctx, node)
			expectSaid(ctx, cluster, "member-health", "Member "+victim+" on node "+node+" is not well")
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasSaid("RemoveMember", "was not reached")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		traffic.During(ctx, func() {
			kube.StartNode(ctx, node)
			expectNothingLeft(ctx, cluster, victim)
		})
		traffic.Finish(ctx)
	})

	It("that is drained and stays away for longer than repair.replaceAfter costs its member as well", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "away", 3, world.ReplaceAfter(soon))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		node := cluster.NodeOf(ctx, victim)
		awaitAllowed(ctx, "away", 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			out, err := cluster.Drain(ctx, node)
			Expect(err).NotTo(HaveOccurred(), out)
			awaitUnscheduled(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasSaid("RemoveMember", "was not reached")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		traffic.During(ctx, func() {
			kube.Uncordon(ctx, node)
			expectNothingLeft(ctx, cluster, victim)
		})
		traffic.Finish(ctx)
	})

	It("that dies in the middle of a roll halts it, and it goes on when the member was replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "rolling", 3, world.ReplaceAfter(soon))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.AwayFromOperator(ctx)
		node := cluster.NodeOf(ctx, victim)
		cluster.MoveLeader(ctx, victim) // it would be the last to be rolled
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement("roll"))
			kube.KillNode(ctx, node)
			Eventually(ctx, func() bool { return cluster.History.HasSaid("RemoveMember", "was not reached") }).Should(BeTrue())
			cluster.AwaitReady(ctx, 3)
		})
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		kube.StartNode(ctx, node)
		expectNothingLeft(ctx, cluster, victim)
		expectOtherSettings(ctx, cluster)
		// One member was stopped on purpose at that moment: for as long as it takes to start, there may be no quorum.
		traffic.FinishAfterOutage(ctx)
	})

	It("that is deleted with the volume on it costs its member at once, with any repair.replaceAfter", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "deleted", 3, world.ReplaceAfter(never))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.AwayFromOperator(ctx)
		node := cluster.NodeOf(ctx, victim)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			kube.KillNode(ctx, node)
			kube.DeleteNode(ctx, node)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasSaid("RemoveMember", "lost its data")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		traffic.During(ctx, func() {
			kube.StartNode(ctx, node)
			expectNothingLeft(ctx, cluster, victim)
		})
		traffic.Finish(ctx)
	})

	It("that a person calls out of service costs its member at once, with any repair.replaceAfter", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "tainted", 3, world.ReplaceAfter(never))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.AwayFromOperator(ctx)
		node := cluster.NodeOf(ctx, victim)
		traffic := cluster.Write(ctx)
		var back func(context.Context)
		traffic.During(ctx, func() {
			kube.KillNode(ctx, node)
			back = kube.TaintOutOfService(ctx, node)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasSaid("RemoveMember", "lost its data")).To(BeTrue(), "decisions:\n%s", cluster.History)
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		traffic.During(ctx, func() {
			back(ctx)
			kube.StartNode(ctx, node)
			expectNothingLeft(ctx, cluster, victim)
		})
		traffic.Finish(ctx)
	})

	It("and all others lose power at once: every member resumes on its volume, and nothing is restored or replaced", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "blackout", 3, world.ReplaceAfter(soon))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		nodes, err := kube.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, node := range nodes {
			kube.KillNode(ctx, node)
		}
		for _, node := range nodes {
			kube.StartNode(ctx, node)
		}
		cluster.AwaitReady(ctx, 3)
		traffic.Flow(ctx)
		for name := range was.ids {
			Expect(cluster.Restarts(ctx, name)).To(BeNumerically(">=", 1), "%s was running all the while", name)
		}
		expectUntouched(ctx, cluster, was)
		traffic.FinishAfterOutage(ctx)
	})
})

var _ = Describe("An operator with a Role only, which may not read nodes,", Label("nodes"), Serial, func() {
	ownOperator()

	It("replaces the member of a node that was deleted by the evidence of Pods alone, after repair.replaceAfter", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "narrow")
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		node := cluster.NodeOf(ctx, victim)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			kube.KillNode(ctx, node)
			kube.DeleteNode(ctx, node)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.HasSaid("RemoveMember", "was not reached")).To(BeTrue(), "decisions:\n%s", cluster.History)
		Expect(cluster.History.HasSaid("RemoveMember", "lost its data")).To(BeFalse(), "decisions:\n%s", cluster.History)
		expectReplacedElsewhere(ctx, cluster, before, victim, node)
		traffic.During(ctx, func() {
			kube.StartNode(ctx, node)
			expectNothingLeft(ctx, cluster, victim)
		})
		traffic.Finish(ctx)
	})
})

var _ = Describe("A member that has only just started again", Label("nodes"), Serial, func() {
	ownOperator()

	It("has all of repair.replaceAfter to answer, however long it was away while no operator looked", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "late")
		was, victim := identityOf(ctx, cluster), follower(ctx, cluster)
		node := cluster.NodeOf(ctx, victim)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Kill()
			kube.KillNode(ctx, node)
			kube.AwaitNodeSilent(ctx, node)
			away := unreadySince(ctx, cluster, victim)
			Eventually(ctx, func() time.Duration { return time.Since(away) }).Should(BeNumerically(">", soon))
			frozen := cluster.FreezeAtStart(ctx, victim)
			kube.StartNode(ctx, node)
			frozen()
			Expect(unreadySince(ctx, cluster, victim)).To(Equal(away), "it was ready before it was frozen")
			operator.Start()
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(was.ids))
			cluster.Thaw(ctx, victim)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

// identity is who the members are, where their data is, and which Pods they run in.
type identity struct {
	ids     map[string]etcdutil.ID
	volumes map[string]types.UID
	pods    map[string]types.UID
}

func identityOf(ctx context.Context, c *world.Cluster) identity {
	GinkgoHelper()
	return identity{ids: c.Identities(ctx), volumes: volumes(ctx, c), pods: podsOf(ctx, c)}
}

// podsOf are the UIDs of the members' Pods by name.
func podsOf(ctx context.Context, c *world.Cluster) map[string]types.UID {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	uids := map[string]types.UID{}
	for i := range pods {
		uids[pods[i].Name] = pods[i].UID
	}
	return uids
}

// expectSame expects the same members on the same volumes.
func expectSame(ctx context.Context, c *world.Cluster, was identity) {
	GinkgoHelper()
	Expect(c.Identities(ctx)).To(Equal(was.ids))
	Expect(volumes(ctx, c)).To(Equal(was.volumes))
}

// expectUntouched expects the same members on the same volumes in the same Pods.
func expectUntouched(ctx context.Context, c *world.Cluster, was identity) {
	GinkgoHelper()
	expectSame(ctx, c, was)
	Expect(podsOf(ctx, c)).To(Equal(was.pods), "decisions:\n%s", c.History)
}

func expectNoRestarts(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	for name := range podsOf(ctx, c) {
		Expect(c.Restarts(ctx, name)).To(BeZero(), "restarts of %s", name)
	}
}

// expectReplacedElsewhere expects a new member in the lost one's place, and no member on that node.
func expectReplacedElsewhere(ctx context.Context, c *world.Cluster, before map[string]etcdutil.ID, lost, node string) {
	GinkgoHelper()
	expectReplaced(ctx, c, before, lost)
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range pods {
		Expect(pods[i].Spec.NodeName).NotTo(Equal(node), pods[i].Name)
	}
}

// expectNothingLeft expects the Pod and the volume of a replaced member to go once its node is back, and everybody else to
// stay as they are.
func expectNothingLeft(ctx context.Context, c *world.Cluster, lost string) {
	GinkgoHelper()
	ids := c.Identities(ctx)
	Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Pod{}, key(lost)) }).Should(BeEmpty())
	Eventually(ctx, func() any { return volumes(ctx, c) }).Should(HaveLen(3))
	c.AwaitReady(ctx, 3)
	Expect(c.Identities(ctx)).To(Equal(ids))
}

// firstStep is when a decision of this reason was published first.
func firstStep(c *world.Cluster, reason string) time.Time {
	for _, step := range c.History.Steps() {
		if step.Reason == reason {
			return step.At
		}
	}
	return time.Time{}
}

// awaitUnscheduled waits until the scheduler has found no node for a member's Pod.
func awaitUnscheduled(ctx context.Context, c *world.Cluster, member string) *corev1.Pod {
	GinkgoHelper()
	var pod *corev1.Pod
	Eventually(ctx, func(g Gomega) {
		var err error
		pod, err = c.Pod(ctx, member)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodScheduled), HaveField("Reason", "Unschedulable"))))
	}).Should(Succeed())
	return pod
}

// labelNodes gives every node a label that is this story's own.
func labelNodes(ctx context.Context, label, value string) {
	GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(kube.Client.List(ctx, nodes)).To(Succeed())
	for i := range nodes.Items {
		before := nodes.Items[i].DeepCopy()
		if nodes.Items[i].Labels[label] == "" {
			DeferCleanup(func(ctx context.Context) { unlabelNode(ctx, before.Name, label) })
		}
		nodes.Items[i].Labels[label] = value
		Expect(kube.Client.Patch(ctx, &nodes.Items[i], client.MergeFrom(before))).To(Succeed())
	}
}

func unlabelNode(ctx context.Context, name, label string) {
	GinkgoHelper()
	patch := []byte(`{"metadata":{"labels":{"` + label + `":null}}}`)
	Expect(kube.Client.Patch(ctx, &corev1.Node{ObjectMeta: meta("", name)}, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}
