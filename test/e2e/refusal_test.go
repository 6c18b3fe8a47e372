package e2e

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("An image that does not exist", Label("refusals"), func() {
	ownNamespace()

	for _, size := range []int32{1, 3} {
		It("is reported at the birth of "+members(size)+", and recovers by being put right", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "image", size, func(c *v1alpha1.EtcdCluster) {
				c.Spec.Image = &v1alpha1.ImageSpec{Repository: "registry.invalid/no/etcd"}
			})
			cluster.AwaitStep(ctx, "ImagePullFailed")
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
			cluster.AwaitReady(ctx, int(size))
			cluster.Write(ctx).Finish(ctx)
		})
	}
})

var _ = Describe("A spec that is changed in the middle of a birth", Label("refusals"), func() {
	ownNamespace()

	It("is what the cluster becomes, when first members could never be scheduled", Label("core"), perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "stuck", 3, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.NodeSelector = map[string]string{"e2e.etcdsteward.dev/no-such": "node"}
		})
		cluster.AwaitStep(ctx, "Unschedulable")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.NodeSelector = nil })
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
	})

	It("to another size and version is what the cluster becomes, while no member has started", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "changed", 3, world.Version("3.5.35"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Pod.NodeSelector = map[string]string{"e2e.etcdsteward.dev/no-such": "node"}
		})
		cluster.AwaitStep(ctx, "Unschedulable")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Size, s.Version, s.Pod.NodeSelector = 1, world.DefaultVersion, nil
		})
		cluster.AwaitReady(ctx, 1)
		Expect(cluster.Identities(ctx)).To(HaveLen(1))
		Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(1))
		cluster.Write(ctx).Finish(ctx)
	})

	It("to a larger size as soon as it begins ends with the larger size", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "larger", 1, world.Ephemeral)
		Eventually(ctx, cluster.History.Rules).Should(Not(BeEmpty()))
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
	})
})

var _ = Describe("An object of another owner", Label("refusals"), func() {
	ownNamespace()

	foreign := map[string]func() client.Object{
		"the client Service": func() client.Object {
			return &corev1.Service{ObjectMeta: meta(story.Namespace, "mine"), Spec: corev1.ServiceSpec{ClusterIP: "None"}}
		},
		"the peer Service": func() client.Object {
			return &corev1.Service{ObjectMeta: meta(story.Namespace, "mine-peers"), Spec: corev1.ServiceSpec{ClusterIP: "None"}}
		},
		"the authority": func() client.Object {
			return &corev1.Secret{ObjectMeta: meta(story.Namespace, "mine-ca")}
		},
		"a member's certificates": func() client.Object {
			return &corev1.Secret{ObjectMeta: meta(story.Namespace, "mine-0-tls")}
		},
		"the disruption budget": func() client.Object {
			one := intstr.FromInt32(1)
			return &policyv1.PodDisruptionBudget{ObjectMeta: meta(story.Namespace, "mine"), Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one}}
		},
		"a member's volume": func() client.Object {
			return &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, "mine-0"), Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}
		},
		"a member's Pod": func() client.Object {
			return &corev1.Pod{ObjectMeta: meta(story.Namespace, "mine-0"), Spec: corev1.PodSpec{
				NodeSelector:    map[string]string{"e2e.etcdsteward.dev/no-such": "node"},
				SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: yes(), RunAsUser: user(65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
				Containers: []corev1.Container{{Name: "other", Image: "registry.invalid/other", SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: no(), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				}}},
			}}
		},
	}
	for _, what := range slices.Sorted(maps.Keys(foreign)) { // every process must see them in one order
		It("with the name of "+what+" is never adopted, and the cluster goes on once it is gone", perStory, func(ctx context.Context) {
			theirs := foreign[what]()
			Expect(kube.Client.Create(ctx, theirs)).To(Succeed())
			before := theirs.GetResourceVersion()
			cluster := story.Create(ctx, "mine", 1)
			cluster.AwaitStalled(ctx, "NameTaken")
			Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
			Expect(theirs.GetOwnerReferences()).To(BeEmpty())
			Expect(theirs.GetLabels()).To(BeEmpty())
			if _, isSettled := theirs.(*corev1.Secret); isSettled {
				Expect(theirs.GetResourceVersion()).To(Equal(before), "nothing was written to it")
			}
			Expect(kube.Client.Delete(ctx, theirs, client.GracePeriodSeconds(0))).To(Succeed())
			cluster.AwaitReady(ctx, 1)
			cluster.Write(ctx).Finish(ctx)
		})
	}
})

// expectVolumesOf expects every member's claim to ask for this size.
func expectVolumesOf(ctx context.Context, c *world.Cluster, size string) {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range pods {
		claim := pvc()
		Expect(kube.Client.Get(ctx, key(pod.Name), claim)).To(Succeed())
		Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal(size), pod.Name)
	}
}

func members(size int32) string {
	if size == 1 {
		return "a cluster of one"
	}
	return "a cluster of three"
}

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

func yes() *bool           { b := true; return &b }
func no() *bool            { b := false; return &b }
func user(id int64) *int64 { return &id }
