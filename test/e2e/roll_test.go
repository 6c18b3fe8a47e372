package e2e

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// mayMove is how often a roll may move the lead.
const mayMove = 1

var _ = Describe("A roll", Label("roll"), func() {
	ownNamespace()

	It("to another patch version restarts one member at a time on its volume, the leader last", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "patched", 3, world.Version("3.5.21"))
		cluster.AwaitReady(ctx, 3)
		before, ids, data := podsOf(ctx, cluster), cluster.Identities(ctx), volumes(ctx, cluster)
		leadership, serving := cluster.Leadership(), followServing(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
			cluster.AwaitReady(ctx, 3)
		})
		expectOneAtATime(cluster, serving(), 3)
		expectVersion(ctx, cluster, "3.5.35")
		after := podsOf(ctx, cluster)
		for name := range before {
			Expect(after[name]).NotTo(Equal(before[name]), "%s was restarted", name)
		}
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, cluster)).To(Equal(data))
		Expect(leadership().Check(mayMove)).To(Succeed(), "decisions:\n%s", cluster.History)
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})

	It("to the same version from another image repository, and back, restarts each member once each time", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "mirrored", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		for i, repository := range []string{"quay.io/coreos/etcd", ""} {
			before := podsOf(ctx, cluster)
			traffic.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = &v1alpha1.ImageSpec{Repository: repository} })
				cluster.AwaitReady(ctx, 3)
			})
			for _, pod := range listPods(ctx, cluster) {
				Expect(pod.Spec.Containers[0].Image).To(HavePrefix(cmp.Or(repository, resources.DefaultRepository)+":v"), pod.Name)
				Expect(pod.UID).NotTo(Equal(before[pod.Name]), "%s was restarted", pod.Name)
			}
			// The last of the first roll may be the first of the second one.
			Expect(len(cluster.History.Restarted())).To(BeNumerically("<=", 3*(i+1)), "one restart each:\n%s", cluster.History)
		}
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("to other flags, resources, affinity, tolerations and labels at once restarts each member once", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "much", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, muchElse)
			cluster.AwaitReady(ctx, 3)
		})
		for _, pod := range listPods(ctx, cluster) {
			expectMuchElse(&pod)
			Expect(pod.UID).NotTo(Equal(was.pods[pod.Name]), "%s was restarted", pod.Name)
		}
		Expect(cluster.History.Restarted()).To(HaveLen(3), "one restart each:\n%s", cluster.History)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("to other settings of Pods and etcd is taken back midway by putting the spec back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "midway", 3)
		cluster.AwaitReady(ctx, 3)
		before, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		ids := cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: quantity("1Gi")}
				s.Pod.PriorityClassName = "system-cluster-critical"
			})
			Eventually(func() []string { return cluster.History.Restarted() }).Should(HaveLen(1))
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before.Spec })
			cluster.AwaitReady(ctx, 3)
		})
		for _, pod := range listPods(ctx, cluster) {
			Expect(pod.Spec.PriorityClassName).To(BeEmpty(), pod.Name)
		}
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(len(cluster.History.Restarted())).To(BeNumerically("<=", 4), "nobody else was touched:\n%s", cluster.History)
		traffic.Finish(ctx)
	})

	It("on demand restarts each member once for each value of the annotation, and none when it is taken away", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "again", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		annotate := func(change string) {
			said, err := kube.Kubectl(ctx, "-n", story.Namespace, "annotate", "--overwrite", "etcd", cluster.Name, v1alpha1.AnnotationRestartedAt+change)
			Expect(err).NotTo(HaveOccurred(), said)
		}
		traffic := cluster.Write(ctx)
		for i, value := range []string{"2026-01-31T12:00:00Z", "2026-02-01T12:00:00Z"} {
			before := podsOf(ctx, cluster)
			traffic.During(ctx, func() {
				annotate("=" + value)
				cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionFalse, "MembersOutdated")
				cluster.AwaitReady(ctx, 3)
			})
			after := podsOf(ctx, cluster)
			for name := range before {
				Expect(after[name]).NotTo(Equal(before[name]), "%s was restarted", name)
			}
			// The last of the first roll may be the first of the second one.
			Expect(len(cluster.History.Restarted())).To(BeNumerically("<=", 3*(i+1)), "one restart each:\n%s", cluster.History)
			annotate("-")
			Consistently(ctx, func() map[string]types.UID { return podsOf(ctx, cluster) }).WithTimeout(15*time.Second).Should(Equal(after),
				"no member is restarted when the annotation is taken away")
		}
		annotate("=jetzt\n")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "SpecWarning")
		expectSame(ctx, cluster, was)
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})

	It("of a cluster of one restarts it on its volume, and what does not work is taken back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "lonely", 1, world.Version("3.5.21"))
		cluster.AwaitReady(ctx, 1)
		ids := cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
		cluster.AwaitReady(ctx, 1)
		expectVersion(ctx, cluster, "3.5.35")
		traffic.Flow(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Image = &v1alpha1.ImageSpec{Repository: "registry.invalid/no/etcd"}
		})
		cluster.AwaitStep(ctx, "ImagePullFailed")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
		cluster.AwaitReady(ctx, 1)
		traffic.Flow(ctx)
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		traffic.FinishAfterOutage(ctx)
	})

	It("of ephemeral members lets a successor join before each goes", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "fleeting", 3, world.Version("3.5.21"), world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before, leadership := cluster.Identities(ctx), cluster.Leadership()
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
			cluster.AwaitReady(ctx, 3)
		})
		expectVersion(ctx, cluster, "3.5.35")
		for name := range cluster.Identities(ctx) {
			Expect(before).NotTo(HaveKey(name), "every member is a new one")
		}
		Expect(leadership().Check(mayMove)).To(Succeed(), "decisions:\n%s", cluster.History)
		traffic.Finish(ctx)
	})

	It("of an ephemeral cluster of one goes by two members and back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "alone", 1, world.Version("3.5.21"), world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
			cluster.AwaitReady(ctx, 1)
		})
		expectVersion(ctx, cluster, "3.5.35")
		traffic.Finish(ctx)
	})

	It("is not needed for labels and annotations: they follow in place, and go again", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "dressed", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		before := podsOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Pod.Labels, s.Pod.Annotations = map[string]string{"team": "blue"}, map[string]string{"example.com/note": "hello"}
			})
			Eventually(ctx, func() []string { return worn(ctx, cluster) }).Should(Equal([]string{"blue hello", "blue hello", "blue hello"}))
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.Labels, s.Pod.Annotations = nil, nil })
			Eventually(ctx, func() []string { return worn(ctx, cluster) }).Should(Equal([]string{" ", " ", " "}))
			cluster.AwaitReady(ctx, 3)
		})
		Expect(podsOf(ctx, cluster)).To(Equal(before), "nobody was restarted")
		traffic.Finish(ctx)
	})

	It("does not begin while a member is not well, and restarts the sick one first", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "sick", 3)
		cluster.AwaitReady(ctx, 3)
		sick := cluster.Member(1)
		cluster.MoveLeader(ctx, cluster.Member(0))
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Freeze(ctx, sick)
			Eventually(ctx, func() error { return cluster.CheckReady(ctx, 3) }).Should(Not(Succeed()), "the member is sick")
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.PriorityClassName = "system-cluster-critical" })
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.History.Restarted()).To(HaveLen(3))
		Expect(cluster.History.Restarted()[0]).To(Equal(sick))
		traffic.Finish(ctx)
	})

	It("waits for a disruption budget of another owner, and says which", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "budgets", 3)
		cluster.AwaitReady(ctx, 3)
		before := podsOf(ctx, cluster)
		other := &policyv1.PodDisruptionBudget{ObjectMeta: meta(story.Namespace, "of-somebody-else"), Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelInstance: cluster.Name}},
		}}
		Expect(kube.Client.Create(ctx, other)).To(Succeed())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.PriorityClassName = "system-cluster-critical" })
			cluster.AwaitStep(ctx, "SeveralBudgets")
			Expect(podsOf(ctx, cluster)).To(Equal(before), "nobody was stopped")
			Expect(kube.Client.Delete(ctx, other)).To(Succeed())
			cluster.AwaitReady(ctx, 3)
		})
		Expect(slices.Collect(maps.Values(podsOf(ctx, cluster)))).NotTo(ContainElement(BeElementOf(slices.Collect(maps.Values(before)))), "all were restarted then")
		traffic.Finish(ctx)
	})
})

// Alone, because its bound is so narrow that other stories would take from it.
var _ = Describe("A roll", Label("roll"), Serial, func() {
	ownNamespace()

	It("holds back a client behind the Service no longer than it takes to connect to another member", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "behind", 3)
		cluster.AwaitReady(ctx, 3)
		Eventually(ctx, func() []string { return readyAddresses(ctx, cluster.Name) }).Should(HaveLen(3))
		was := identityOf(ctx, cluster)
		behind, knowing := cluster.WriteThroughService(ctx), cluster.Write(ctx)
		behind.Within(ctx, world.OneConnection, func() {
			knowing.During(ctx, func() {
				cluster.Change(ctx, otherSettings)
				cluster.AwaitReady(ctx, 3)
			})
		})
		for _, pod := range listPods(ctx, cluster) {
			Expect(pod.UID).NotTo(Equal(was.pods[pod.Name]), "%s was restarted", pod.Name)
			Expect(pod.Spec.Containers[0].Lifecycle.PreStop.Sleep).NotTo(BeNil(), pod.Name)
		}
		Expect(cluster.History.Restarted()).To(HaveLen(3), "one restart each:\n%s", cluster.History)
		expectSame(ctx, cluster, was)
		knowing.Finish(ctx)
		behind.Finish(ctx)
	})
})

// muchElse is a change of nearly all that members can be given.
func muchElse(s *v1alpha1.EtcdClusterSpec) {
	otherSettings(s)
	s.Etcd.ExtraArgs = map[string]v1alpha1.ArgValue{"max-txn-ops": "256"}
	s.Pod.Resources.Requests[corev1.ResourceMemory] = "96Mi"
	s.Pod.Tolerations = []corev1.Toleration{{Key: "e2e.etcdsteward.dev/any", Operator: corev1.TolerationOpExists}}
	s.Pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "e2e.etcdsteward.dev/any", Operator: corev1.NodeSelectorOpExists}},
		}}},
	}}
	s.Pod.Labels = map[string]string{"team": "blue"}
	s.Pod.DNSConfig = &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}}}
}

// expectMuchElse expects a Pod to be as muchElse asks for.
func expectMuchElse(pod *corev1.Pod) {
	GinkgoHelper()
	etcd := pod.Spec.Containers[0]
	Expect(etcd.Args).To(ContainElements("--snapshot-count=20000", "--max-txn-ops=256"), pod.Name)
	Expect(etcd.Resources.Requests.Memory().String()).To(Equal("96Mi"), pod.Name)
	Expect(pod.Spec.Tolerations).To(ContainElement(HaveField("Key", "e2e.etcdsteward.dev/any")), pod.Name)
	Expect(pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution).To(HaveLen(1), pod.Name)
	Expect(pod.Labels).To(HaveKeyWithValue("team", "blue"), pod.Name)
	Expect(pod.Spec.DNSConfig.Options).To(ConsistOf(HaveField("Name", "ndots")), pod.Name)
}

// followServing writes down how many members were Ready once and not stopped since, from now on, until the returned
// function is called. It sees two that a roll stops at once, however quickly they are back.
func followServing(ctx context.Context, c *world.Cluster) (serving func() []int) {
	GinkgoHelper()
	pods := map[types.UID]bool{}
	for _, uid := range podsOf(ctx, c) {
		pods[uid] = true
	}
	isMember := func(pod *corev1.Pod) bool { _, isOurs := etcdutil.Ordinal(c.Name, pod.Name); return isOurs }
	return followAll(&corev1.PodList{}, isMember, func(pod *corev1.Pod) int {
		switch {
		case pod.DeletionTimestamp != nil:
			delete(pods, pod.UID)
		case world.IsReady(pod):
			pods[pod.UID] = true
		}
		return len(pods)
	})
}

// expectOneAtATime expects a roll of three members to have made so many stops, each while the other two served.
func expectOneAtATime(c *world.Cluster, serving []int, stops int) {
	GinkgoHelper()
	stopped := slices.DeleteFunc(slices.Clone(serving), func(n int) bool { return n == 3 })
	Expect(stopped).To(HaveLen(stops), "members that served: %v; decisions:\n%s", serving, c.History)
	Expect(stopped).To(HaveEach(2), "members that served: %v; decisions:\n%s", serving, c.History)
}

func listPods(ctx context.Context, c *world.Cluster) []corev1.Pod {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	return pods
}

// worn is what each Pod wears of this story's label and annotation.
func worn(ctx context.Context, c *world.Cluster) []string {
	var out []string
	for _, pod := range listPods(ctx, c) {
		out = append(out, pod.Labels["team"]+" "+pod.Annotations["example.com/note"])
	}
	return out
}

// expectVersion expects every member to answer with this version, and the status to say so.
func expectVersion(ctx context.Context, c *world.Cluster, version string) {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(object.Status.Version).To(Equal(version))
	for _, pod := range listPods(ctx, c) {
		view, err := c.Look(ctx, &pod)
		Expect(err).NotTo(HaveOccurred())
		Expect(view.Status.Version).To(Equal(version), pod.Name)
	}
}
