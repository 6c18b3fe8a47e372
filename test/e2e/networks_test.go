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

// outlasting is longer than repair.replaceAfter of these stories, and than a look of the operator more.
const outlasting = soon + 25*time.Second

var _ = Describe("An API server that is gone for a minute", Label("networks"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is not missed by etcd, and when it is back nothing was restarted or replaced, the operator included", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "alone")
		was, operators := identityOf(ctx, cluster), operatorRestarts(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			heal := kube.Cut(ctx, world.ControlPlane)
			Consistently(ctx, func() error { return kube.AskAPIServer(ctx) }).WithTimeout(time.Minute).ShouldNot(Succeed(), "the API server is cut off")
			heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		expectNoRestarts(ctx, cluster)
		Expect(operatorRestarts(ctx)).To(Equal(operators), "the operator's Lease outlasts a minute")
		traffic.Finish(ctx)
	})
})

var _ = Describe("An operator that is cut off", Label("networks"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("from every member says that it knows nothing, and touches nothing, however long it lasts", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "blind")
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			partition := cluster.CutFromOperator(ctx, names(was)...)
			cluster.AwaitStep(ctx, "MembershipUnknown")
			cluster.Resize(ctx, 5)
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(outlasting).Should(Equal(was.pods))
			Expect(cluster.Identities(ctx)).To(Equal(was.ids), "asked by others, the members answer")
			for member := range was.ids {
				Expect(roleOf(ctx, cluster, member)).To(Equal(v1alpha1.RoleVoter), "%s is in the Service", member)
			}
			Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
			cluster.Resize(ctx, 3)
			partition.Heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("from one member says so, and does not replace what its kubelet calls ready", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "unseen")
		was, member := identityOf(ctx, cluster), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			partition := cluster.CutFromOperator(ctx, member)
			cluster.AwaitStep(ctx, "MemberNotReady")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(outlasting).Should(Equal(was.ids))
			Expect(cluster.CheckServing(ctx, 3)).To(Succeed(), "all members serve")
			Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
			partition.Heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A member that its kubelet cannot reach", Label("networks"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("and the operator can is not replaced", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "unprobed")
		was, member := identityOf(ctx, cluster), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			partition := cluster.CutProbes(ctx, member)
			unreadySince(ctx, cluster, member)
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(outlasting).Should(Equal(was.ids))
			Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
			partition.Heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A network that carries packets in one direction only", Label("networks"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, direction := range []string{"from a follower to the leader", "from the leader to a follower"} {
		It("between two members, "+direction+", costs no write and no member", perStory, func(ctx context.Context) {
			cluster := createMortal(ctx, "halves")
			was, leader, other := identityOf(ctx, cluster), cluster.Leader(ctx), follower(ctx, cluster)
			from, to := leader, other // what is dropped
			if direction == "from the leader to a follower" {
				from, to = other, leader
			}
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				partition := cluster.CutOneWay(ctx, from, to)
				unreadySince(ctx, cluster, other)
				Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(outlasting).Should(Equal(was.ids))
				Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
				partition.Heal(ctx)
				cluster.AwaitReady(ctx, 3)
			})
			expectUntouched(ctx, cluster, was)
			traffic.Finish(ctx)
		})
	}
})

var _ = Describe("A link that is slow", Label("networks"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("lets its member fall behind under load, and catch up after; no member is replaced for it", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "thin")
		was, member := identityOf(ctx, cluster), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			partition := cluster.SlowReceiver(ctx, member, 64)
			cluster.FillThrough(ctx, cluster.Leader(ctx), "heavy", 300)
			Expect(cluster.Lag(ctx, member)).To(BeNumerically(">", 100), "entries that it lacks")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(outlasting).Should(Equal(was.ids))
			Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
			partition.Heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("An operator that is cut off from Kubernetes", Label("networks"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("gives way to the one beside it, which goes on where it stopped", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "other", 3, world.ReplaceAfter(never))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		first, err := kube.OperatorLeader(ctx)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			partition := kube.CutFromKubernetes(ctx, *first)
			deletePod(ctx, cluster, follower(ctx, cluster))
			Eventually(ctx, func() (string, error) { return leadingOperator(ctx) }).ShouldNot(BeElementOf(first.Name, ""))
			cluster.AwaitReady(ctx, 3)
			Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
			partition.Heal(ctx)
		})
		expectSame(ctx, cluster, was)
		awaitOperators(ctx)
		traffic.Finish(ctx)
	})

	It("with all of its kind leaves etcd to itself, and goes on when it is back", perStory, func(ctx context.Context) {
		cluster := createMortal(ctx, "nobody")
		was := identityOf(ctx, cluster)
		operators, err := kube.OperatorPods(ctx)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			partition := kube.CutFromKubernetes(ctx, operators...)
			member := follower(ctx, cluster)
			deletePod(ctx, cluster, member)
			Consistently(ctx, func() any { return uidOf(ctx, &corev1.Pod{}, key(member)) }).WithTimeout(outlasting).Should(BeEquivalentTo(""))
			Expect(partition.Dropped(ctx)).To(BeNumerically(">", 0))
			partition.Heal(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		awaitOperators(ctx)
		traffic.Finish(ctx)
	})
})

// createMortal makes a cluster of three whose members are replaced soon after they are called dead.
func createMortal(ctx context.Context, name string) *world.Cluster {
	GinkgoHelper()
	cluster := story.Create(ctx, name, 3, world.ReplaceAfter(soon))
	cluster.AwaitReady(ctx, 3)
	return cluster
}

// unreadySince waits until Kubernetes calls a member's Pod not ready, and says since when.
func unreadySince(ctx context.Context, c *world.Cluster, member string) time.Time {
	GinkgoHelper()
	var since time.Time
	Eventually(ctx, func() (time.Time, error) {
		pod, err := c.Pod(ctx, member)
		if err == nil {
			since = world.UnreadySince(pod)
		}
		return since, err
	}).ShouldNot(BeZero(), "%s is not ready", member)
	return since
}

func names(i identity) []string {
	var out []string
	for name := range i.ids {
		out = append(out, name)
	}
	return out
}

// operatorRestarts is how often the installed operator's containers were started again, by Pod.
func operatorRestarts(ctx context.Context) map[string]int32 {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(kube.Client.List(ctx, list, client.InNamespace(world.OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(Succeed())
	restarts := map[string]int32{}
	for i := range list.Items {
		for _, status := range list.Items[i].Status.ContainerStatuses {
			restarts[list.Items[i].Name] += status.RestartCount
		}
	}
	return restarts
}

// leadingOperator is the name of the Pod that holds the Lease.
func leadingOperator(ctx context.Context) (string, error) {
	pod, err := kube.OperatorLeader(ctx)
	if err != nil {
		return "", err
	}
	return pod.Name, nil
}

// awaitOperators waits until both replicas of the operator are as later stories expect them.
func awaitOperators(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() (ready int, err error) {
		pods, err := kube.OperatorPods(ctx)
		for i := range pods {
			if world.IsReady(&pods[i]) {
				ready++
			}
		}
		return ready, err
	}).Should(Equal(2), "replicas of the operator that are ready")
}
