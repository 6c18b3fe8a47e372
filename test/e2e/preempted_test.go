package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

var _ = Describe("A Pod that is preempted", Label("nodes"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("by the scheduler waits for room on the node of its volume, and is the same member there", perStory, func(ctx context.Context) {
		slot := corev1.ResourceName("e2e.etcdsteward.dev/" + story.Namespace) // of which each node has one
		offer(ctx, slot)
		cluster := story.Create(ctx, "preempted", 3, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.Resources.Requests[slot] = "1"
			c.Spec.Pod.Resources.Limits = map[corev1.ResourceName]v1alpha1.Amount{slot: "1"}
		})
		cluster.AwaitReady(ctx, 3)
		was, member := identityOf(ctx, cluster), follower(ctx, cluster)
		pod, err := cluster.Pod(ctx, member)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			urgent := preempt(ctx, slot, pod.Spec.NodeName)
			awaitPodGone(ctx, cluster, pod)
			awaitUnscheduled(ctx, cluster, member)
			cluster.AwaitStep(ctx, "Unschedulable")
			Eventually(ctx, func() (string, error) {
				err := kube.Client.Get(ctx, client.ObjectKeyFromObject(urgent), urgent)
				return urgent.Spec.NodeName, err
			}).Should(Equal(pod.Spec.NodeName), "it has the place")
			Expect(kube.Client.Delete(ctx, urgent, client.GracePeriodSeconds(0))).To(Succeed())
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

// offer gives each node one of a resource, until the story is over.
func offer(ctx context.Context, name corev1.ResourceName) {
	GinkgoHelper()
	nodes, err := kube.Nodes(ctx)
	Expect(err).NotTo(HaveOccurred())
	set := func(ctx context.Context, node, amount string) error {
		values := `{"` + string(name) + `":` + amount + `}`
		patch := []byte(`{"status":{"capacity":` + values + `,"allocatable":` + values + `}}`)
		return kube.Client.Status().Patch(ctx, &corev1.Node{ObjectMeta: meta("", node)}, client.RawPatch(types.MergePatchType, patch))
	}
	for _, node := range nodes {
		Expect(set(ctx, node, `"1"`)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return set(ctx, node, "null") })
	}
}

// preempt creates a Pod that is more important than members are, and wants their place on a node. Its image does not exist:
// a Pod has its place from when it is bound.
func preempt(ctx context.Context, slot corev1.ResourceName, node string) *corev1.Pod {
	GinkgoHelper()
	important := &schedulingv1.PriorityClass{ObjectMeta: meta("", story.Namespace), Value: 1000}
	Expect(kube.Client.Create(ctx, important)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(kube.Client.Delete(ctx, important)) })
	one := corev1.ResourceList{slot: resource.MustParse("1")}
	pod := &corev1.Pod{ObjectMeta: meta(story.Namespace, "urgent"), Spec: corev1.PodSpec{
		PriorityClassName: important.Name,
		NodeSelector:      map[string]string{corev1.LabelHostname: node},
		SecurityContext:   &corev1.PodSecurityContext{RunAsNonRoot: yes(), RunAsUser: user(65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: "urgent", Image: "registry.invalid/urgent", Resources: corev1.ResourceRequirements{Requests: one, Limits: one},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: no(), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}}
	Expect(kube.Client.Create(ctx, pod)).To(Succeed())
	return pod
}
