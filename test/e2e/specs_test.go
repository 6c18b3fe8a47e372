package e2e

import (
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// heard ends a story to which status.nextStep never says why a change does not go on; it is no measure of speed.
const heard = 2 * time.Minute

// otherSettings is a change that restarts every member, and that anybody can live with.
func otherSettings(s *v1alpha1.EtcdClusterSpec) {
	s.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))}
}

// expectOtherSettings expects every member to run with otherSettings.
func expectOtherSettings(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range pods {
		Expect(pods[i].Spec.Containers[0].Args).To(ContainElement("--snapshot-count=20000"), pods[i].Name)
	}
}

var _ = Describe("A spec that no member can run with", Label("specs"), first, func() {
	ownNamespace()

	specs := map[string]struct {
		change  func(*v1alpha1.EtcdClusterSpec)
		reasons []string // any of these
	}{
		"an image that does not exist": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Image = &v1alpha1.ImageSpec{Repository: "registry.invalid/no/etcd"}
		}, []string{"ImagePullFailed"}},
		"a scheduler that does not exist": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Pod.SchedulerName = "no-such-scheduler"
		}, []string{"Unschedulable"}},
		"more memory than any node has": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Pod.Resources.Requests[corev1.ResourceMemory] = "500Gi"
		}, []string{"Unschedulable"}},
		"too little memory to start with": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Pod.Resources.Requests[corev1.ResourceMemory] = "6Mi"
			s.Pod.Resources.Limits = map[corev1.ResourceName]v1alpha1.Amount{corev1.ResourceMemory: "6Mi"}
		}, []string{"MemberCrashing", "ContainerNotStarting"}},
		"a flag that etcd does not accept": {func(s *v1alpha1.EtcdClusterSpec) {
			s.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"max-txn-ops": "many"}}
		}, []string{"MemberCrashing"}},
	}
	for _, what := range slices.Sorted(maps.Keys(specs)) { // every process must see them in one order
		// Longer than repair.replaceAfter: what a new member would meet as well is no ground to replace one.
		labels, watched := Labels{}, outlasting
		if what == "an image that does not exist" { // core leaves that to the others
			labels, watched = Label("core"), watching
		}
		It("for "+what+", stops at the first member, says so, and recovers by being put back", labels, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "wrong", 3, world.ReplaceAfter(soon))
			cluster.AwaitReady(ctx, 3)
			was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, specs[what].change)
				expectHeard(ctx, cluster, specs[what].reasons...)
				first := theOneStopped(ctx, cluster, was)
				Consistently(ctx, func() error { return onlyStopped(ctx, cluster, was, first) }).WithTimeout(watched).Should(Succeed())
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
				cluster.AwaitReady(ctx, 3)
				Expect(onlyStopped(ctx, cluster, was, first)).To(Succeed())
			})
			expectSame(ctx, cluster, was)
			traffic.Finish(ctx)
		})
	}
})

// ciphersOfNoCertificate let no client connect: the keys of the certificates are of another kind.
var ciphersOfNoCertificate = map[string]v1alpha1.ArgValue{
	"cipher-suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "tls-max-version": "TLS1.2",
}

var _ = Describe("Settings with which the only member runs, and no client can connect to it,", Label("specs"), func() {
	ownNamespace()

	It("are said, and put right by putting the spec back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "mute", 1)
		cluster.AwaitReady(ctx, 1)
		was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: ciphersOfNoCertificate}
		})
		expectHeard(ctx, cluster, "MembershipUnknown")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
		cluster.AwaitReady(ctx, 1)
		expectSame(ctx, cluster, was)
		traffic.FinishAfterOutage(ctx)
	})
})

var _ = Describe("A change that Kubernetes would not admit", Label("specs"), func() {
	ownNamespace()

	It("over quota stops no member, says so, and goes on by itself when the quota allows it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "quota", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		quota := limitNamespace(ctx, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			expectHeard(ctx, cluster, "QuotaExceeded")
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
			Expect(kube.Client.Delete(ctx, quota)).To(Succeed())
			cluster.AwaitReady(ctx, 3)
		})
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("for more memory than the quota leaves stops no member, and nothing is left of it when it is put back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "memory", 3)
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
		limitNamespace(ctx, corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse("200Mi")})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.Resources.Requests[corev1.ResourceMemory] = "128Mi" })
			expectHeard(ctx, cluster, "QuotaExceeded")
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("is not taken for one because a quota is just full: each member makes room for its successor", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "full", 3, world.Version("3.5.21"))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		limitNamespace(ctx, corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("3"), corev1.ResourceRequestsMemory: resource.MustParse("192Mi"),
		})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			cluster.AwaitReady(ctx, 3)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
			cluster.AwaitReady(ctx, 3)
		})
		expectVersion(ctx, cluster, "3.5.35")
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("by a Pod Security that became stricter stops no member, says so, and goes on by itself when it is as before", perStory, func(ctx context.Context) {
		enforce(ctx, "privileged")
		cluster := story.Create(ctx, "strict", 3)
		cluster.AwaitReady(ctx, 3)
		member, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		// What the operator makes is restricted. What a webhook adds to it, only privileged namespaces admit.
		leaveAlone := story.ChangePods(ctx, member, `Object{spec: Object.spec{securityContext: Object.spec.securityContext{
			appArmorProfile: Object.spec.securityContext.appArmorProfile{type: "Unconfined"}}}}`,
			func(pod *corev1.Pod) bool { return pod.Spec.SecurityContext.AppArmorProfile != nil })
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			enforce(ctx, "restricted")
			cluster.Change(ctx, otherSettings)
			expectHeard(ctx, cluster, "PodSecurity")
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
			leaveAlone(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("by a LimitRange stops no member, says so, and goes on by itself when the LimitRange is gone", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "limits", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		limits := limitContainers(ctx, corev1.LimitRangeItem{Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			expectHeard(ctx, cluster, "Forbidden", "Invalid")
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
			Expect(kube.Client.Delete(ctx, limits)).To(Succeed())
			cluster.AwaitReady(ctx, 3)
		})
		expectOtherSettings(ctx, cluster)
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A LimitRange", Label("specs"), func() {
	ownNamespace()

	It("that rewrites Pods restarts no member by itself, and what it rewrites in a roll is not rolled again", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "rewritten", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		limitContainers(ctx, corev1.LimitRangeItem{Default: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(was.pods))
			cluster.Change(ctx, otherSettings)
			cluster.AwaitReady(ctx, 3)
			rolled := podsOf(ctx, cluster)
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(watching).Should(Equal(rolled))
		})
		expectOtherSettings(ctx, cluster)
		pods, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			Expect(pods[i].Spec.Containers[0].Resources.Limits.Memory().String()).To(Equal("512Mi"), "the Pod was rewritten")
		}
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("that leaves members too little memory stops a roll at the first, which recovers when all is put back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "starved", 3, func(c *v1alpha1.EtcdCluster) {
			delete(c.Spec.Pod.Resources.Requests, corev1.ResourceMemory)
		})
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
		limits := limitContainers(ctx, corev1.LimitRangeItem{
			Default:        corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("6Mi")},
			DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("6Mi")},
		})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, otherSettings)
			expectHeard(ctx, cluster, "MemberCrashing", "ContainerNotStarting")
			first := theOneStopped(ctx, cluster, was)
			Consistently(ctx, func() error { return onlyStopped(ctx, cluster, was, first) }).WithTimeout(watching).Should(Succeed())
			Expect(kube.Client.Delete(ctx, limits)).To(Succeed())
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
			cluster.AwaitReady(ctx, 3)
			Expect(onlyStopped(ctx, cluster, was, first)).To(Succeed())
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

// specOf is the spec as it is now, to be put back.
func specOf(ctx context.Context, c *world.Cluster) v1alpha1.EtcdClusterSpec {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	return object.Spec
}

// expectHeard expects status.nextStep to say one of these reasons of the spec as it is, in time.
func expectHeard(ctx context.Context, c *world.Cluster, reasons ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.Status.ObservedGeneration).To(Equal(object.Generation))
		g.Expect(object.Status.NextStep).NotTo(BeNil())
		g.Expect(object.Status.NextStep.Reason).To(BeElementOf(reasons), object.Status.NextStep.Message)
		g.Expect(object.Status.NextStep.Message).NotTo(BeEmpty())
	}).WithTimeout(heard).Should(Succeed())
}

// theOneStopped is the only member whose Pod is another than it was.
func theOneStopped(ctx context.Context, c *world.Cluster, was identity) string {
	GinkgoHelper()
	var stopped []string
	for name, uid := range was.pods {
		if podsOf(ctx, c)[name] != uid {
			stopped = append(stopped, name)
		}
	}
	Expect(stopped).To(HaveLen(1), "decisions:\n%s", c.History)
	return stopped[0]
}

// onlyStopped says what speaks against this member being the only one that was stopped, and all being members still.
func onlyStopped(ctx context.Context, c *world.Cluster, was identity, only string) error {
	for name, uid := range was.pods {
		pod, err := c.Pod(ctx, name)
		switch {
		case name == only && (err == nil || apierrors.IsNotFound(err)): // it may be on its way
		case err != nil:
			return err
		case pod.UID != uid:
			return StopTrying("a second member was stopped: " + name)
		}
	}
	if ids := c.Identities(ctx); !maps.Equal(ids, was.ids) {
		return StopTrying("the members are others than they were")
	}
	return nil
}

// limitNamespace gives the story's namespace a quota, and waits until the API server knows what is used of it.
func limitNamespace(ctx context.Context, hard corev1.ResourceList) *corev1.ResourceQuota {
	GinkgoHelper()
	quota := &corev1.ResourceQuota{ObjectMeta: meta(story.Namespace, "tight"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	Expect(kube.Client.Create(ctx, quota)).To(Succeed())
	Eventually(ctx, func() (corev1.ResourceList, error) {
		quota := &corev1.ResourceQuota{}
		err := kube.Client.Get(ctx, key("tight"), quota)
		return quota.Status.Used, err
	}).Should(HaveLen(len(hard)))
	return quota
}

// limitContainers gives the story's namespace a LimitRange for containers.
func limitContainers(ctx context.Context, item corev1.LimitRangeItem) *corev1.LimitRange {
	GinkgoHelper()
	item.Type = corev1.LimitTypeContainer
	limits := &corev1.LimitRange{ObjectMeta: meta(story.Namespace, "limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}
	Expect(kube.Client.Create(ctx, limits)).To(Succeed())
	return limits
}

// enforce sets what Pod Security demands of new Pods in the story's namespace.
func enforce(ctx context.Context, level string) {
	GinkgoHelper()
	patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"` + level + `"}}}`)
	namespace := &corev1.Namespace{ObjectMeta: meta("", story.Namespace)}
	Expect(kube.Client.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}
