package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// operator is the story's own, in containers that begin with ownOperator.
var operator *world.Operator

// ownOperator gives each story of a container a namespace, and an operator of its own that can be killed.
func ownOperator() {
	GinkgoHelper()
	BeforeEach(func(ctx context.Context) {
		kube.NeedLocalkube()
		var err error
		story, err = kube.NewStoryWithOwnOperator(ctx)
		Expect(err).NotTo(HaveOccurred())
		operator = story.StartOperator(ctx)
	})
}

var _ = Describe("An operator that is killed", Label("operator"), func() {
	ownOperator()

	It("at each rule of a birth, and once at random, still brings three members up", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "born", 3)
		stop := operator.KillAtEachRule(cluster)
		killAtRandom(operator)
		cluster.AwaitReady(ctx, 3)
		// It may die while it seals, after the budget, before it has logged that pass.
		Expect(killedAt(stop)).To(And(ContainElement("first-quorum"), Or(ContainElement("seal"), ContainElement("budget"))))
		expectNoLearnerEver(cluster)
		cluster.Write(ctx).Finish(ctx)
	})

	It("at each rule of growing and shrinking still reaches each size", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sized", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		stop := operator.KillAtEachRule(cluster)
		for _, size := range []int32{3, 1} {
			traffic.During(ctx, func() {
				killAtRandom(operator)
				cluster.Resize(ctx, size)
				cluster.AwaitReady(ctx, int(size))
			})
		}
		Expect(killedAt(stop)).To(ContainElements("grow", "promote", "shrink"))
		traffic.Finish(ctx)
	})

	It("at each rule of replacing a lost member still replaces it, and no other", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "lost", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
		traffic := cluster.Write(ctx)
		stop := operator.KillAtEachRule(cluster)
		traffic.During(ctx, func() {
			killAtRandom(operator)
			loseVolume(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(killedAt(stop)).To(ContainElements("replace", "grow", "promote"))
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	It("and stays away costs the cluster nothing", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "orphan", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		pods, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Kill()
			Consistently(ctx, func() error { return cluster.CheckServing(ctx, 3) }).WithTimeout(watching).Should(Succeed())
			operator.Start()
			Consistently(ctx, func() error { return cluster.CheckServing(ctx, 3) }).WithTimeout(watching).Should(Succeed())
		})
		for i := range pods {
			pod, err := cluster.Pod(ctx, pods[i].Name)
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.UID).To(Equal(pods[i].UID), "an operator that starts restarts nothing")
		}
		traffic.Finish(ctx)
	})
})

var _ = Describe("The installed operator", Label("operator"), Serial, func() {
	ownNamespace()

	It("goes on in its other replica when the one that leads is deleted", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "handed", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Member(1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			leader, err := kube.OperatorLeader(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(kube.Client.Delete(ctx, leader)).To(Succeed())
			deletePod(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
			next, err := kube.OperatorLeader(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(next.Name).NotTo(Equal(leader.Name))
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})
})

var _ = Describe("Two operators", Label("operator"), func() {
	ownOperator()

	It("of one install that act at once still make one cluster, and replace one lost member", perStory, func(ctx context.Context) {
		story.StartOperator(ctx)
		cluster := story.Create(ctx, "both", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Member(1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			loseVolume(ctx, cluster, victim)
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	It("of two installs leave each other's clusters alone", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "claimed", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		operator.Kill()
		begin, err := kube.Mark(ctx)
		Expect(err).NotTo(HaveOccurred())
		other := story.StartOperatorOf(ctx, story.Namespace+"-other")
		cluster.Resize(ctx, 3)
		Eventually(other.Log).Should(ContainSubstring("OtherOperator"), "it saw the cluster")
		Consistently(ctx, func() ([]world.Request, error) { return kube.OperatorWrites(ctx, begin, story.Namespace) }).WithTimeout(watching).Should(BeEmpty())
		Expect(cluster.Identities(ctx)).To(HaveLen(1))
		operator.Start()
		cluster.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
	})
})

var _ = Describe("Two operators", Label("operator"), func() {
	ownOperator()

	It("of two installs hand a cluster over once its annotation asks for it, whether the first one runs or not", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "moved", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), cluster.Member(1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Uninstall(ctx)
			second := story.StartOperatorOf(ctx, story.Namespace+"-second")
			cluster.AwaitStalled(ctx, "OtherOperator")
			handOver(ctx, cluster, story.Namespace+"-second")
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Identities(ctx)).To(Equal(before), "to be taken over costs no member")

			third := story.StartOperatorOf(ctx, story.Namespace+"-third")
			Eventually(third.Log).Should(ContainSubstring("OtherOperator"), "it saw the cluster")
			handOver(ctx, cluster, story.Namespace+"-third")
			read := len(second.Log())
			loseVolume(ctx, cluster, victim)
			Eventually(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(3 * time.Minute).ShouldNot(HaveKey(victim))
			cluster.AwaitReady(ctx, 3)
			Expect(second.Log()[read:]).NotTo(ContainSubstring(`"result":"applied"`), "the second one runs on and does nothing")
		})
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})
})

var _ = Describe("Two operators", Label("operator"), func() {
	ownOperator()

	It("of two installs leave a cluster whose peer Service is deleted to the first, until its annotation asks for the second", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "unserviced", 3)
		cluster.AwaitReady(ctx, 3)
		before, second := cluster.Identities(ctx), story.Namespace+"-second"
		traffic := cluster.Write(ctx)
		operator.Kill()
		other := story.StartOperatorOf(ctx, second)
		Eventually(other.Log).Should(ContainSubstring("OtherOperator"), "it saw the cluster")
		begin, err := kube.Mark(ctx)
		Expect(err).NotTo(HaveOccurred())
		deletePeers(ctx, cluster)
		Eventually(other.Log).Should(ContainSubstring("By its data"), "it saw that the Service is gone")
		Consistently(ctx, func() ([]world.Request, error) { return kube.OperatorWrites(ctx, begin, story.Namespace) }).WithTimeout(watching).Should(BeEmpty())
		operator.Start()
		Eventually(ctx, func() string { return claimOf(ctx, cluster) }).Should(Equal(story.Namespace + "/etcd-steward"))
		cluster.AwaitReady(ctx, 3)

		operator.Uninstall(ctx)
		deletePeers(ctx, cluster)
		cluster.AwaitStalled(ctx, "OtherOperator")
		handOver(ctx, cluster, second)
		cluster.AwaitReady(ctx, 3)
		for name := range volumes(ctx, cluster) {
			Eventually(ctx, func() string {
				claim := pvc()
				Expect(kube.Client.Get(ctx, key(name), claim)).To(Succeed())
				return claim.Annotations[v1alpha1.AnnotationOperator]
			}).Should(Equal(second+"/etcd-steward"), name)
		}
		Expect(cluster.Identities(ctx)).To(Equal(before), "it costs no member")
		traffic.Finish(ctx)
	})
})

// deletePeers deletes the Service with the bootstrap record and the claim.
func deletePeers(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	Expect(kube.Client.Delete(ctx, &corev1.Service{ObjectMeta: meta(story.Namespace, cluster.Name+"-peers")})).To(Succeed())
}

// claimOf is the install that claims a cluster on its peer Service; empty where there is none.
func claimOf(ctx context.Context, cluster *world.Cluster) string {
	GinkgoHelper()
	service := &corev1.Service{}
	Expect(client.IgnoreNotFound(kube.Client.Get(ctx, key(cluster.Name+"-peers"), service))).To(Succeed())
	return service.Annotations[v1alpha1.AnnotationOperator]
}

// handOver asks another install to look after a cluster.
func handOver(ctx context.Context, cluster *world.Cluster, install string) {
	GinkgoHelper()
	said, err := kube.Kubectl(ctx, "-n", story.Namespace, "annotate", "--overwrite", "etcd", cluster.Name,
		v1alpha1.AnnotationOperator+"="+install+"/etcd-steward")
	Expect(err).NotTo(HaveOccurred(), said)
	Eventually(ctx, func() string { return claimOf(ctx, cluster) }).Should(Equal(install + "/etcd-steward"))
}

var _ = Describe("A status that is wiped", Label("operator"), func() {
	ownNamespace()

	It("is written again and changes nothing, in the middle of growing too", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "wiped", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		before := cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		wipeStatus(ctx, cluster)
		cluster.AwaitReady(ctx, 1)
		Expect(cluster.Identities(ctx)).To(Equal(before))
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			Eventually(ctx, func() ([]string, error) { return learners(ctx, cluster) }).WithPolling(50 * time.Millisecond).ShouldNot(BeEmpty())
			wipeStatus(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(HaveKeyWithValue(cluster.Member(0), before[cluster.Member(0)]))
		traffic.Finish(ctx)
	})
})

// killedAt ends the killing and tells after which rules it was done.
func killedAt(stop func() []string) []string {
	rules := stop()
	AddReportEntry("killed", fmt.Sprintf("%d times at a rule: %v", len(rules), rules))
	return rules
}

// killAtRandom kills and starts the operator once, some time in the next seconds. Ginkgo's seed says when.
func killAtRandom(operator *world.Operator) {
	seed := GinkgoRandomSeed()
	after := time.Duration(rand.New(rand.NewPCG(uint64(seed), 0)).Int64N(int64(4 * time.Second)))
	AddReportEntry("killed at random", fmt.Sprintf("after %s, with --seed=%d", after, seed))
	timer := time.AfterFunc(after, func() {
		defer GinkgoRecover()
		operator.Restart()
	})
	DeferCleanup(func() { timer.Stop() })
}

func wipeStatus(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":null}`))
	Expect(kube.Client.Status().Patch(ctx, &v1alpha1.EtcdCluster{ObjectMeta: meta(c.Namespace, c.Name)}, patch)).To(Succeed())
}

// recordedIncarnation reads a bootstrap record as it is written.
func recordedIncarnation(record string) string {
	GinkgoHelper()
	var bootstrap struct {
		Incarnation string `json:"incarnation"`
	}
	Expect(json.Unmarshal([]byte(record), &bootstrap)).To(Succeed())
	Expect(bootstrap.Incarnation).NotTo(BeEmpty())
	return bootstrap.Incarnation
}
