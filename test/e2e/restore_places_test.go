package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// rulesOfPlaces are how people ask for members on nodes of their own.
var rulesOfPlaces = []struct {
	how  string
	rule world.Option
}{
	{"a rule that keeps them apart by a label of theirs", func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{}
		apartBy(metav1.LabelSelector{MatchLabels: map[string]string{"team": "storage"}})(c)
		c.Spec.Pod.Labels = map[string]string{"team": "storage"}
	}},
	{"a spread that is required", func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule}}}
	}},
	{"the spread that all members have", func(*v1alpha1.EtcdCluster) {}},
}

var _ = Describe("Three members whose backup lies on a claim that one node mounts", Label("restore"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, row := range rulesOfPlaces {
		It("go back to it in place on three nodes, under "+row.how, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 3, row.rule)
			cluster.AwaitReady(ctx, 3)
			inVolume(ctx, cluster)
			traffic, before := cluster.Write(ctx), asItIs(ctx, cluster)
			restore := cluster.RestoreTo(ctx, "back", toBackup())
			restore.Approve(ctx)
			status := restore.Complete(ctx)
			traffic.Flow(ctx)
			cluster.AwaitReady(ctx, 3)
			expectOnThreeNodes(ctx, cluster)
			wentBack(ctx, cluster, before, status)
		})

		It("begin with it on three nodes, under "+row.how, perStory, func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1)
			saved.AwaitReady(ctx, 1)
			inVolume(ctx, saved)
			restored := story.Create(ctx, "restored", 3, row.rule, fromBackup("first"))
			restored.AwaitReady(ctx, 3)
			expectOnThreeNodes(ctx, restored)
			holdsBackup(ctx, restored, saved)
		})
	}
})

func expectOnThreeNodes(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	pods, err := cluster.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	nodes := map[string]bool{}
	for i := range pods {
		nodes[pods[i].Spec.NodeName] = true
	}
	Expect(nodes).To(HaveLen(3))
}

// Taints and full nodes are seen by all stories.
var _ = Describe("A restore in place whose next members no node takes", Label("restore", "s3"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	var tainted = corev1.Taint{Key: "e2e.etcdsteward.dev/late", Effect: corev1.TaintEffectNoSchedule}

	// taintWhileRestored taints the nodes of the restore Pods once all of these have theirs.
	taintWhileRestored := func(ctx context.Context, cluster *world.Cluster) (untaint func(context.Context)) {
		var nodes []string
		Eventually(ctx, func() []string { nodes = nodesOfRestores(ctx, cluster); return nodes }).
			WithPolling(20 * time.Millisecond).WithTimeout(world.Patience).Should(HaveLen(3))
		var backs []func(context.Context)
		for _, node := range nodes {
			backs = append(backs, kube.Taint(ctx, node, tainted))
		}
		return func(ctx context.Context) {
			for _, back := range backs {
				back(ctx)
			}
		}
	}

	It("for a taint that came after the restore stops no member before the taint is gone", perStory, func(ctx context.Context) {
		cluster, restore := restorable(ctx)
		before, traffic := asItIs(ctx, cluster), cluster.Write(ctx)
		var untaint func(context.Context)
		traffic.During(ctx, func() {
			restore.Approve(ctx)
			untaint = taintWhileRestored(ctx, cluster)
			awaitsPlaces(ctx, restore, "untolerated taint")
			before.expectServing(ctx, cluster)
		})
		untaint(ctx)
		status := restore.Complete(ctx)
		traffic.Flow(ctx)
		cluster.AwaitReady(ctx, 3)
		wentBack(ctx, cluster, before, status)
	})

	It("for a taint that came after the restore is called off, and no write failed", perStory, func(ctx context.Context) {
		cluster, restore := restorable(ctx)
		before, traffic := asItIs(ctx, cluster), cluster.Write(ctx)
		traffic.During(ctx, func() {
			restore.Approve(ctx)
			untaint := taintWhileRestored(ctx, cluster)
			awaitsPlaces(ctx, restore, "untolerated taint")
			callOff(ctx, restore)
			untaint(ctx)
			Eventually(ctx, func() any { return volumes(ctx, cluster) }).WithTimeout(world.Patience).Should(Equal(before.volumes))
			cluster.AwaitReady(ctx, 3)
		})
		before.expectUntouched(ctx, cluster)
		traffic.Finish(ctx)
	})

	It("as each node is too full for a second one is told, and called off, and no write failed", perStory, func(ctx context.Context) {
		cluster, restore := restorable(ctx, asMuchAsOneOfTwo(ctx))
		before, traffic := asItIs(ctx, cluster), cluster.Write(ctx)
		traffic.During(ctx, func() {
			restore.Approve(ctx)
			awaitsPlaces(ctx, restore, "Insufficient memory")
			before.expectServing(ctx, cluster)
			callOff(ctx, restore)
			Eventually(ctx, func() any { return volumes(ctx, cluster) }).WithTimeout(world.Patience).Should(Equal(before.volumes))
			cluster.AwaitReady(ctx, 3)
		})
		before.expectUntouched(ctx, cluster)
		traffic.Finish(ctx)
	})
})

// restorable is a cluster of three with a backup in S3, and a wish to go back to it that waits for an approval.
func restorable(ctx context.Context, options ...world.Option) (*world.Cluster, *world.InPlace) {
	GinkgoHelper()
	cluster := story.Create(ctx, "demo", 3, options...)
	cluster.AwaitReady(ctx, 3)
	save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
	return cluster, cluster.RestoreTo(ctx, "back", toBackup())
}

// asMuchAsOneOfTwo asks for more than half of a node's memory, so that no node takes two members.
func asMuchAsOneOfTwo(ctx context.Context) world.Option {
	GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(kube.Client.List(ctx, nodes)).To(Succeed())
	bytes := nodes.Items[0].Status.Allocatable.Memory().Value() * 6 / 10
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Pod = &v1alpha1.PodSpec{Resources: &v1alpha1.ResourceRequirements{
			Requests: map[corev1.ResourceName]v1alpha1.Amount{
				corev1.ResourceMemory: v1alpha1.Amount(resource.NewQuantity(bytes, resource.BinarySI).String())}}}
	}
}

func nodesOfRestores(ctx context.Context, cluster *world.Cluster) (nodes []string) {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(kube.Client.List(ctx, pods, client.InNamespace(cluster.Namespace))).To(Succeed())
	for i := range pods.Items {
		if _, ok := resources.RestoredMember(pods.Items[i].Name); ok && pods.Items[i].Spec.NodeName != "" {
			nodes = append(nodes, pods.Items[i].Spec.NodeName)
		}
	}
	return nodes
}

// awaitsPlaces says that the restore tells what keeps the next members from running, in Kubernetes' words.
func awaitsPlaces(ctx context.Context, restore *world.InPlace, why string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := restore.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		complete := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.RestoreComplete)
		g.Expect(complete).NotTo(BeNil())
		g.Expect(complete.Message).To(ContainSubstring(why))
	}).WithTimeout(world.Patience).Should(Succeed())
}

// expectServing says that the members of before run on for as long as one would wait for something else.
func (w was) expectServing(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	Consistently(ctx, func() any { return podUIDs(ctx, cluster) }).WithTimeout(watching).Should(Equal(w.pods))
}

func callOff(ctx context.Context, restore *world.InPlace) {
	GinkgoHelper()
	Expect(kube.Client.Delete(ctx, &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: restore.Namespace,
		Name: restore.Name}})).To(Succeed())
}
