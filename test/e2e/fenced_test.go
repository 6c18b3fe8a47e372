package e2e

import (
	"context"
	"fmt"
	"path"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A member that a person fences", Label("nodes"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("stops, lends its volume to another Pod for longer than dead members have, and is itself once its name is taken out", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "fenced", 3, world.ReplaceAfter(soon))
			cluster.AwaitReady(ctx, 3)
			was, leader := identityOf(ctx, cluster), cluster.Leader(ctx)
			pod, err := cluster.Pod(ctx, leader)
			Expect(err).NotTo(HaveOccurred())
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				annotate(ctx, cluster, v1alpha1.AnnotationFence, fmt.Sprintf("%q", leader))
				cluster.AwaitCondition(ctx, v1alpha1.ConditionFenced, metav1.ConditionTrue, facts.ReasonFenced)
				Expect(cluster.History.HasSaid("MoveLeader", "etcdsteward.dev/fence names it")).To(BeTrue(), "decisions:\n%s", cluster.History)
				readByAnother(ctx, cluster, leader, pod.Spec)
				Consistently(ctx, func(g Gomega) {
					g.Expect(cluster.Identities(ctx)).To(Equal(was.ids))
					g.Expect(podsOf(ctx, cluster)).NotTo(HaveKey(leader))
				}).WithTimeout(soon + watching).Should(Succeed())
				annotate(ctx, cluster, v1alpha1.AnnotationFence, "null")
				cluster.AwaitReady(ctx, 3)
			})
			expectSame(ctx, cluster, was)
			traffic.Finish(ctx)
		})

	It("starts again when the others are no quorum without it, and stops once they all serve", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "fenced", 3, world.ReplaceAfter(0))
		cluster.AwaitReady(ctx, 3)
		was, victim := identityOf(ctx, cluster), follower(ctx, cluster)
		traffic := cluster.Write(ctx)
		annotate(ctx, cluster, v1alpha1.AnnotationFence, fmt.Sprintf("%q", victim))
		cluster.AwaitCondition(ctx, v1alpha1.ConditionFenced, metav1.ConditionTrue, facts.ReasonFenced)
		other := follower(ctx, cluster)
		if other == victim {
			other = otherFollower(ctx, cluster, victim)
		}
		cluster.Freeze(ctx, other)
		Eventually(ctx, func() bool { return cluster.History.HasSaid("StartPods", "without it the others are no quorum") }).
			WithTimeout(world.Patience).Should(BeTrue(), "decisions:\n%s", cluster.History)
		traffic.Flow(ctx)
		cluster.Thaw(ctx, other)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionFenced, metav1.ConditionTrue, facts.ReasonFenced)
		annotate(ctx, cluster, v1alpha1.AnnotationFence, "null")
		cluster.AwaitReady(ctx, 3)
		expectSame(ctx, cluster, was)
		traffic.FinishAfterOutage(ctx)
	})
})

// otherFollower is a member that follows, beside one.
func otherFollower(ctx context.Context, c *world.Cluster, beside string) string {
	GinkgoHelper()
	leader := c.Leader(ctx)
	for name := range c.Identities(ctx) {
		if name != leader && name != beside {
			return name
		}
	}
	Fail("no other member follows")
	return ""
}

// readByAnother has a Pod of a person read the database of a member on its volume, which no etcd has open.
func readByAnother(ctx context.Context, c *world.Cluster, member string, was corev1.PodSpec) {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	directory := resources.DataDir(object.Status.Incarnation, member)
	pod := &corev1.Pod{ObjectMeta: meta(c.Namespace, "borrower"), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, SecurityContext: was.SecurityContext,
		Containers: []corev1.Container{{
			Name: "etcdutl", Image: was.Containers[0].Image, ImagePullPolicy: corev1.PullIfNotPresent,
			SecurityContext: was.Containers[0].SecurityContext, Command: []string{"etcdutl"},
			Args:         []string{"snapshot", "status", directory + "/member/snap/db"},
			VolumeMounts: []corev1.VolumeMount{{Name: "borrowed", MountPath: path.Dir(path.Dir(directory))}},
		}},
		Volumes: []corev1.Volume{{Name: "borrowed", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: member}}}},
	}}
	Expect(kube.Client.Create(ctx, pod)).To(Succeed())
	Eventually(ctx, func() (corev1.PodPhase, error) {
		err := kube.Client.Get(ctx, key(pod.Name), pod)
		return pod.Status.Phase, err
	}).WithTimeout(world.Patience).Should(Equal(corev1.PodSucceeded))
	Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
}
