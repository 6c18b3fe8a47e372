package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// In each state of a way from one minor version to another something is lost, and the way goes on from there.

// legs go from the lowest minor to the highest, and back.
var legs = [][]string{{"3.5.35", "3.6.16", "3.7.3"}, {"3.7.3", "3.6.16", "3.5.35"}}

func direction(leg []string) string { return "from " + leg[0] + " to " + leg[len(leg)-1] }

var _ = Describe("In each state of a change of minor version", Label("versions", "data"), func() {
	ownNamespace()

	for _, leg := range legs {
		It("the Pod of a member is lost, and all arrive, "+direction(leg), longWay, func(ctx context.Context) {
			loseOnEachLeg(ctx, leg, losePod)
		})
		It("the volume of a member is lost, and all arrive, "+direction(leg), longWay, func(ctx context.Context) {
			loseOnEachLeg(ctx, leg, loseClaim)
		})
	}
})

var _ = Describe("In each state of a change of minor version", Label("versions", "nodes"), Serial, func() {
	ownNamespace()

	for _, leg := range legs {
		It("a node loses power, and all arrive, "+direction(leg), longWay, func(ctx context.Context) {
			loseOnEachLeg(ctx, leg, cutPower)
		})
	}
})

// losePod deletes a member's Pod, which may be restarted just now.
func losePod(ctx context.Context, cluster *world.Cluster, member string) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: meta(cluster.Namespace, member)}
	Expect(client.IgnoreNotFound(kube.Client.Delete(ctx, pod))).To(Succeed())
}

// loseClaim deletes a member's claim, and the Pod that keeps it.
func loseClaim(ctx context.Context, cluster *world.Cluster, member string) {
	GinkgoHelper()
	old := volumes(ctx, cluster)[member]
	Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(cluster.Namespace, member)})).To(
		Succeed())
	losePod(ctx, cluster, member)
	Eventually(ctx, func() types.UID { return volumes(ctx, cluster)[member] }).ShouldNot(Equal(old))
}

// cutPower ends all that runs on the member's node, and starts the node again once the member is missed.
func cutPower(ctx context.Context, cluster *world.Cluster, member string) {
	GinkgoHelper()
	pod, err := cluster.Pod(ctx, member)
	Expect(err).NotTo(HaveOccurred())
	if pod.Spec.NodeName == "" {
		return // it is restarted just now, and has no node to lose yet
	}
	kube.KillNode(ctx, pod.Spec.NodeName)
	Eventually(ctx, func() error { return cluster.CheckReady(ctx, 3) }).ShouldNot(Succeed())
	kube.StartNode(ctx, pod.Spec.NodeName)
}

// loseOnEachLeg goes from one version to the next, and loses something of one member in each state of each leg.
func loseOnEachLeg(ctx context.Context, versions []string, lose func(context.Context, *world.Cluster, string)) {
	GinkgoHelper()
	cluster := story.Create(ctx, "unlucky", 3, world.Version(versions[0]))
	cluster.AwaitReady(ctx, 3)
	traffic := cluster.Write(ctx)
	for i, to := range versions[1:] {
		from, known := versions[i], len(cluster.History.Steps())
		By("from " + from + " to " + to)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = to })
		for _, state := range beforeRoll(from, to) {
			By(state.name)
			state.await(ctx, cluster, known)
			known = len(cluster.History.Steps())
			lose(ctx, cluster, follower(ctx, cluster))
			awaitThreeVoters(ctx, cluster) // the next loss must not be one too many
		}
		for _, there := range []int{1, 2} { // the last old one among them
			By(fmt.Sprintf("%d of 3 are there", there))
			lose(ctx, cluster, awaitOld(ctx, cluster, to, there))
		}
		Eventually(ctx, func() []string { return versionsIn(answering(ctx, cluster)) }).WithTimeout(longWait).
			Should(ConsistOf(to, to, to))
		awaitThreeVoters(ctx, cluster)
		lose(ctx, cluster, follower(ctx, cluster))
		arrive(ctx, cluster, 3, to)
	}
	traffic.FinishAfterOutage(ctx)
	cluster.AwaitEqualHashes(ctx)
}

// state is one on the way to another minor version. Steps that were known before do not count.
type state struct {
	name  string
	await func(ctx context.Context, cluster *world.Cluster, known int)
}

// beforeRoll are the states in which no member was stopped yet, in order.
func beforeRoll(from, to string) []state {
	switch {
	case to == "3.7.3":
		return []state{{"the log is covered", published("AppendEntries")}}
	case from > to:
		enabled := func(ctx context.Context, cluster *world.Cluster, _ int) {
			GinkgoHelper()
			downgradeEnabled(minorOf(to))(ctx, cluster)
		}
		return []state{{"a downgrade is enabled", enabled}}
	}
	return nil
}

func published(reason string) func(context.Context, *world.Cluster, int) {
	isAwaited := func(s world.Step) bool { return s.Reason == reason }
	return func(ctx context.Context, cluster *world.Cluster, known int) {
		GinkgoHelper()
		Eventually(ctx, func() bool { return slices.ContainsFunc(cluster.History.Steps()[known:], isAwaited) }).
			WithTimeout(longWait).WithPolling(50*time.Millisecond).
			Should(BeTrue(), "no step was %s:\n%s", reason, cluster.History)
	}
}

func awaitThreeVoters(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func() bool { return threeVote(ctx, cluster) }).WithTimeout(longWait).
		Should(BeTrue(), "decisions:\n%s", cluster.History)
}

func threeVote(ctx context.Context, cluster *world.Cluster) bool {
	views := answering(ctx, cluster)
	return len(views) == 3 && !slices.ContainsFunc(views, func(view world.View) bool { return view.Status.Learner })
}

// awaitOld waits until three voters are ready, at least so many of them with the version that is gone to, and names one
// of the others. The next one is stopped within a moment, which is over before it is seen on a busy machine: then it is
// the state after it. There is an old one less, or none, and any follower is as good. A learner's Pod is ready before it
// votes, and the loss of a voter beside one would be one too many.
func awaitOld(ctx context.Context, cluster *world.Cluster, to string, there int) string {
	GinkgoHelper()
	old := ""
	Eventually(ctx, func() bool {
		n, ready := 0, 0
		old = ""
		for _, pod := range listPods(ctx, cluster) {
			if world.IsReady(&pod) {
				ready++
			}
			if strings.HasSuffix(pod.Spec.Containers[0].Image, ":v"+to) {
				n++
			} else {
				old = pod.Name
			}
		}
		return ready == 3 && n >= there && threeVote(ctx, cluster)
	}).WithTimeout(longWait).WithPolling(20*time.Millisecond).Should(BeTrue(), "decisions:\n%s", cluster.History)
	if old == "" {
		return follower(ctx, cluster)
	}
	return old
}
