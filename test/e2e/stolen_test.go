package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

var _ = Describe("An operator whose token was stolen", Label("operator"), func() {
	ownNamespace()

	It("writes nothing foreign and starts no privileged Pod: each attempt is refused by name, and the operator's own work goes on",
		perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "limits", 3)
			cluster.AwaitReady(ctx, 3)
			member, err := cluster.Pod(ctx, cluster.Member(0))
			Expect(err).NotTo(HaveOccurred())
			secret, pod, claim := foreignObjects(ctx, member)
			thief := kube.Stolen(ctx)
			refused := func(what, by string, attempt error) {
				GinkgoHelper()
				Expect(attempt).To(And(MatchError(apierrors.IsForbidden, "a refusal by rights"), MatchError(ContainSubstring(by))), what)
			}
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				refused("listing Secrets", `cannot list resource "secrets"`,
					thief.List(ctx, &corev1.SecretList{}, client.InNamespace(story.Namespace)))
				refused("a foreign Secret is made", "secrets "+story.Namespace+"/loot-0-tls does not have the label",
					thief.Create(ctx, &corev1.Secret{
						ObjectMeta: meta(story.Namespace, "loot-0-tls"), Type: corev1.SecretTypeTLS,
						Data: map[string][]byte{corev1.TLSCertKey: nil, corev1.TLSPrivateKeyKey: nil},
					}))
				refused("a Secret for the token of an account is made", `has the type "kubernetes.io/service-account-token"`,
					thief.Create(ctx, tokenSecret(cluster.Name)))
				refused("a privileged Pod is made", "pods default/loot has a container that is privileged",
					thief.Create(ctx, privileged(member)))
				for _, object := range []client.Object{secret, pod, claim} {
					made := "/" + object.GetName() + " was not made by the operator"
					refused("a foreign object is deleted", made, thief.Delete(ctx, object))
					taken := object.DeepCopyObject().(client.Object)
					taken.SetLabels(member.Labels)
					refused("a foreign object is taken over", made, thief.Patch(ctx, taken, client.MergeFrom(object)))
				}
				refused("a Pod is evicted that is no member", "pods "+story.Namespace+"/web is no member",
					thief.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{}))
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
					s.Etcd = &v1alpha1.EtcdSpec{QuotaBackendBytes: quantity("1Gi")}
				})
				cluster.AwaitReady(ctx, 3)
			})
			traffic.Finish(ctx)
			for _, object := range []client.Object{secret, pod, claim} {
				uid := object.GetUID()
				Expect(uidOf(ctx, object, client.ObjectKeyFromObject(object))).To(Equal(uid), "%T", object)
				Expect(object.GetLabels()).To(BeEmpty(), "%T", object)
				Expect(object.GetDeletionTimestamp()).To(BeNil(), "%T", object)
			}
		})
})

// foreignObjects are a Secret, a Pod that no node takes, and a claim that have nothing to do with the operator.
func foreignObjects(ctx context.Context, like *corev1.Pod) (*corev1.Secret, *corev1.Pod, *corev1.PersistentVolumeClaim) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: meta(story.Namespace, "web"), StringData: map[string]string{"password": "x"}}
	pod := &corev1.Pod{ObjectMeta: meta(story.Namespace, "web"), Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"e2e.etcdsteward.dev/no-such": "node"},
		Containers: []corev1.Container{{Name: "web", Image: "registry.invalid/no/web",
			SecurityContext: like.Spec.Containers[0].SecurityContext}},
		SecurityContext: like.Spec.SecurityContext,
	}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, "web"), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *quantity("1Gi")}},
	}}
	for _, object := range []client.Object{secret, pod, claim} {
		Expect(kube.Client.Create(ctx, object)).To(Succeed())
	}
	return secret, pod, claim
}

// tokenSecret looks like a member's Secret, but Kubernetes would fill it with a token.
func tokenSecret(cluster string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: meta(story.Namespace, resources.MemberSecret(cluster+"-9")), Type: corev1.SecretTypeServiceAccountToken}
	secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	secret.Labels = map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	return secret
}

// privileged is a Pod like a member's, with its labels and its owner, and with every privilege. It is in a namespace for which
// Kubernetes itself would let it pass.
func privileged(member *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "loot", Labels: member.Labels,
		OwnerReferences: member.OwnerReferences}, Spec: *member.Spec.DeepCopy()}
	pod.Spec.NodeName = ""
	pod.Spec.Containers[0].SecurityContext.Privileged = new(true)
	pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
	return pod
}
