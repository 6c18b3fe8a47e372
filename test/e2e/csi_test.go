package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// What Kubernetes itself says of a claim that grows, before the operator has anything to do with it.
var _ = Describe("A claim of Kubernetes", Label("growth"), func() {
	ownNamespace()

	It("grows while a Pod uses it, where its class allows it", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		pod := usedBy(ctx, makeClaim(ctx, world.Expandable))
		Expect(askFor(ctx, "12Gi")).To(Succeed())
		expectGrown(ctx, "12Gi")
		Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeZero())
	})

	It("of a class that does not expand is refused", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		usedBy(ctx, makeClaim(ctx, world.Fixed))
		Expect(askFor(ctx, "12Gi")).To(MatchError(ContainSubstring("only dynamically provisioned pvc can be resized")))
	})

	It("that its storage cannot make so large is told, and grows once less is asked for", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		usedBy(ctx, makeClaim(ctx, world.Infeasible))
		Expect(askFor(ctx, "20Gi")).To(Succeed())
		expectResize(ctx, corev1.PersistentVolumeClaimControllerResizeInfeasible)
		Expect(askFor(ctx, "12Gi")).To(Succeed())
		expectGrown(ctx, "12Gi")
	})

	It("gets another VolumeAttributesClass, and one that its driver refuses is told", perStory, func(ctx context.Context) {
		kube.GrowingVolumes(ctx)
		claim := makeClaim(ctx, world.Expandable)
		usedBy(ctx, claim)
		Expect(patchClaim(ctx, `{"spec":{"volumeAttributesClassName":"`+world.Fast+`"}}`)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(theClaim(ctx, g).Status.CurrentVolumeAttributesClassName).To(HaveValue(Equal(world.Fast)))
		}).WithTimeout(world.Patience).Should(Succeed())
		Expect(patchClaim(ctx, `{"spec":{"volumeAttributesClassName":"`+world.Impossible+`"}}`)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			status := theClaim(ctx, g).Status.ModifyVolumeStatus
			g.Expect(status).To(HaveValue(HaveField("Status", corev1.PersistentVolumeClaimModifyVolumeInfeasible)))
		}).WithTimeout(world.Patience).Should(Succeed())
	})
})

func makeClaim(ctx context.Context, class string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, "data")}
	claim.Spec.StorageClassName = &class
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}
	Expect(kube.Client.Create(ctx, claim)).To(Succeed())
	return claim
}

// usedBy has a Pod write to a claim, and waits until it runs.
func usedBy(ctx context.Context, claim *corev1.PersistentVolumeClaim) *corev1.Pod {
	GinkgoHelper()
	const volume, user = "data", int64(1000)
	pod := &corev1.Pod{ObjectMeta: meta(story.Namespace, "user")}
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(user), FSGroup: new(user),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	pod.Spec.Containers = []corev1.Container{{
		Name: "user", Image: "docker.io/library/busybox:1.35.0", Command: []string{"sh", "-c", "echo written >/data/file && sleep 3600"},
		VolumeMounts: []corev1.VolumeMount{{Name: volume, MountPath: "/data"}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
	}}
	pod.Spec.Volumes = []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}}
	Expect(kube.Client.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Status.ContainerStatuses).To(ConsistOf(HaveField("State.Running", Not(BeNil()))))
	}).WithTimeout(world.Patience).Should(Succeed())
	return pod
}

func patchClaim(ctx context.Context, patch string) error {
	return kube.Client.Patch(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, "data")},
		client.RawPatch("application/merge-patch+json", []byte(patch)))
}

func askFor(ctx context.Context, size string) error {
	return patchClaim(ctx, fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, size))
}

func theClaim(ctx context.Context, g Gomega) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	g.Expect(kube.Client.Get(ctx, client.ObjectKey{Namespace: story.Namespace, Name: "data"}, claim)).To(Succeed())
	return claim
}

func expectGrown(ctx context.Context, size string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		status := theClaim(ctx, g).Status
		g.Expect(status.Capacity.Storage().String()).To(Equal(size), "%+v", status)
		g.Expect(status.AllocatedResourceStatuses).To(BeEmpty())
	}).WithTimeout(world.Patience).Should(Succeed())
}

func expectResize(ctx context.Context, state corev1.ClaimResourceStatus) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(theClaim(ctx, g).Status.AllocatedResourceStatuses).To(HaveKeyWithValue(corev1.ResourceStorage, state))
	}).WithTimeout(world.Patience).Should(Succeed())
}
