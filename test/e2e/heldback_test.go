package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// holder is something outside of a member that keeps its next Pod from starting.
type holder struct {
	// hold begins with it, for Pods like this, and returns what lets the member's Pod go
	hold func(ctx context.Context, member *corev1.Pod) (letGo func(context.Context))
	// what status.nextStep says, and the reason of the member
	step, names, reason string
}

var _ = Describe("A member that is held back from outside", Label("pods"), func() {
	ownNamespace()

	It("by a scheduling gate stays a member for longer than repair.replaceAfter, the gate is named, and it returns once that is gone",
		perStory, func(ctx context.Context) {
			expectKeptWhileHeldBack(ctx, holder{
				hold: holdByGate, step: "SchedulingGated", names: "example.com/wait", reason: "SchedulingGated",
			})
		})

	It("by a Secret that is missing stays a member for longer than repair.replaceAfter, the Secret is named, and it returns once that is there",
		perStory, func(ctx context.Context) {
			expectKeptWhileHeldBack(ctx, holder{
				hold: holdBySecret, step: "MountFailed", names: `secret "awaited" not found`, reason: "FailedMount",
			})
		})

	It("by a policy that refuses its Pod stays a member for longer than repair.replaceAfter, the policy is named, and it returns once that is gone",
		perStory, func(ctx context.Context) {
			expectKeptWhileHeldBack(ctx, holder{
				hold: func(ctx context.Context, member *corev1.Pod) func(context.Context) {
					return story.RefusePods(ctx, member, "no new Pods during the freeze")
				},
				step: "AdmissionRefused", names: "no new Pods during the freeze", reason: "PodMissing",
			})
		})

	It("by one policy and then by another reads in the status what refuses its Pod now", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 3)
		cluster.AwaitReady(ctx, 3)
		was, member := identityOf(ctx, cluster), cluster.Member(2)
		pod, err := cluster.Pod(ctx, member)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			letGo := story.RefusePods(ctx, pod, "no new Pods during the freeze")
			deletePod(ctx, cluster, member)
			expectNamed(ctx, cluster, member, holder{step: "AdmissionRefused", names: "no new Pods during the freeze", reason: "PodMissing"})
			policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta("", story.Namespace)}
			other := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/validations/0/message","value":"Pods need an owner"}]`))
			Expect(kube.Client.Patch(ctx, policy, other)).To(Succeed())
			expectNamed(ctx, cluster, member, holder{step: "AdmissionRefused", names: "Pods need an owner", reason: "PodMissing"})
			letGo(ctx)
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

// expectKeptWhileHeldBack deletes the Pod of a member whose next one is held back for longer than dead members have, and
// expects the same member on the same volume when it is let go.
func expectKeptWhileHeldBack(ctx context.Context, by holder) {
	GinkgoHelper()
	const replaceAfter = time.Minute
	cluster := story.Create(ctx, "demo", 3, world.ReplaceAfter(replaceAfter))
	cluster.AwaitReady(ctx, 3)
	was, member := identityOf(ctx, cluster), cluster.Member(2)
	pod, err := cluster.Pod(ctx, member)
	Expect(err).NotTo(HaveOccurred())
	traffic := cluster.Write(ctx)
	traffic.During(ctx, func() {
		letGo := by.hold(ctx, pod)
		deletePod(ctx, cluster, member)
		expectNamed(ctx, cluster, member, by)
		Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(replaceAfter+time.Minute).
			Should(Equal(was.ids), "a new member would meet the same; decisions:\n%s", cluster.History)
		expectNamed(ctx, cluster, member, by)
		letGo(ctx)
		cluster.AwaitReady(ctx, 3)
	})
	expectSame(ctx, cluster, was)
	traffic.Finish(ctx)
}

// expectNamed waits until the status says what holds the member back.
func expectNamed(ctx context.Context, c *world.Cluster, member string, by holder) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.Status.NextStep).NotTo(BeNil())
		g.Expect(object.Status.NextStep.Reason).To(Equal(by.step), object.Status.NextStep.Message)
		g.Expect(object.Status.NextStep.Message).To(ContainSubstring(by.names))
		reasons := map[string]string{}
		for _, m := range object.Status.Members {
			reasons[m.Name] = m.Reason
		}
		g.Expect(reasons).To(HaveKeyWithValue(member, by.reason))
	}).Should(Succeed(), "decisions:\n%s", c.History)
}

// holdByGate puts a scheduling gate on new Pods, as a queue does that admits them one by one.
func holdByGate(ctx context.Context, member *corev1.Pod) func(context.Context) {
	GinkgoHelper()
	isGated := func(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) > 0 }
	end := story.ChangePods(ctx, member,
		`Object{spec: Object.spec{schedulingGates: [Object.spec.schedulingGates{name: "example.com/wait"}]}}`, isGated)
	return func(ctx context.Context) {
		GinkgoHelper()
		end(ctx)
		pod := &corev1.Pod{ObjectMeta: meta(member.Namespace, member.Name)}
		open := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`))
		Expect(kube.Client.Patch(ctx, pod, open)).To(Succeed())
	}
}

// holdBySecret has the containers of new Pods mount a Secret that is not there, as an injector of credentials does.
func holdBySecret(ctx context.Context, member *corev1.Pod) func(context.Context) {
	GinkgoHelper()
	mounts := func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "awaited" })
	}
	end := story.ChangePods(ctx, member, `Object{spec: Object.spec{
		volumes: [Object.spec.volumes{name: "awaited", secret: Object.spec.volumes.secret{secretName: "awaited"}}],
		containers: object.spec.containers.map(c, Object.spec.containers{name: c.name,
			volumeMounts: [Object.spec.containers.volumeMounts{name: "awaited", mountPath: "/awaited"}]})
	}}`, mounts)
	return func(ctx context.Context) {
		GinkgoHelper()
		end(ctx)
		Expect(kube.Client.Create(ctx, &corev1.Secret{ObjectMeta: meta(member.Namespace, "awaited")})).To(Succeed())
	}
}
