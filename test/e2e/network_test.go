package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// Localkube enforces no NetworkPolicy, so what one lets in is for the unit tests. These stories are about the object.
var _ = Describe("A NetworkPolicy for members", Label("operator"), func() {
	ownNamespace()

	It("is made before the first Pod, follows the spec, is put right and goes with the field, with no member restarted", perStory,
		func(ctx context.Context) {
			shop := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}}
			cluster := story.Create(ctx, "guarded", 3, func(c *v1alpha1.EtcdCluster) {
				c.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{
					Clients: []networkingv1.NetworkPolicyPeer{shop}, Metrics: []networkingv1.NetworkPolicyPeer{}}
			})
			cluster.AwaitReady(ctx, 3)
			policy := &networkingv1.NetworkPolicy{ObjectMeta: meta(story.Namespace, "guarded-members")}
			Expect(uidOf(ctx, policy, key(policy.Name))).NotTo(BeEmpty())
			for ordinal := range 3 {
				pod, err := cluster.Pod(ctx, cluster.Member(ordinal))
				Expect(err).NotTo(HaveOccurred())
				Expect(policy.CreationTimestamp.After(pod.CreationTimestamp.Time)).To(BeFalse(), "a member ran unguarded")
			}
			ids, processes := cluster.Identities(ctx), processesOf(ctx, []*world.Cluster{cluster})
			edit(ctx, policy, func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress[1].From = nil },
				func(p *networkingv1.NetworkPolicy) any { return p.Spec.Ingress })
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.NetworkPolicy.Metrics = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
			})
			Eventually(ctx, func() ([]networkingv1.NetworkPolicyIngressRule, error) {
				err := kube.Client.Get(ctx, key(policy.Name), policy)
				return policy.Spec.Ingress, err
			}).Should(HaveLen(3))
			Expect(kube.Client.Delete(ctx, policy)).To(Succeed())
			Eventually(ctx, func() types.UID { return uidOf(ctx, policy, key(policy.Name)) }).ShouldNot(BeEmpty(), "it is made again")
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.NetworkPolicy = nil })
			Eventually(ctx, func() types.UID { return uidOf(ctx, policy, key(policy.Name)) }).Should(BeEmpty())
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			Expect(processesOf(ctx, []*world.Cluster{cluster})).To(Equal(processes))
		})
})
