package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("The authorities of a cluster that somebody deletes", Label("operator"), func() {
	ownOperator()

	It("are not made anew: members serve on and come back, nobody joins, and all goes on when they are put back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "trust", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		authorities := []string{resources.CASecret(cluster.Name), resources.PeerCASecret(cluster.Name)}
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Kill() // it keeps what it read of Secrets for minutes; one that starts reads them anew
			var copies []*corev1.Secret
			for _, name := range authorities {
				copies = append(copies, takeAway(ctx, name))
			}
			operator.Start()
			cluster.AwaitStalled(ctx, "AuthorityLost")
			expectUntouched(ctx, cluster, was)
			deletePod(ctx, cluster, follower(ctx, cluster))
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).Should(Succeed(), "it starts with the certificate that it has")
			cluster.Resize(ctx, 5)
			awaitTold(ctx, cluster, authorities[0]+", which holds the authority of this cluster, is gone")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(was.ids), "nobody could join")
			for i, name := range authorities {
				Expect(uidOf(ctx, &corev1.Secret{}, key(name))).To(BeEmpty(), "another authority %s", name)
				Expect(kube.Client.Create(ctx, copies[i])).To(Succeed())
			}
			cluster.AwaitReady(ctx, 5)
		})
		ids := cluster.Identities(ctx)
		for name, id := range was.ids {
			Expect(ids).To(HaveKeyWithValue(name, id))
		}
		cluster.Write(ctx).Finish(ctx)
		traffic.Finish(ctx)
	})
})

// awaitTold waits until the condition Ready of this generation is False and says these words.
func awaitTold(ctx context.Context, c *world.Cluster, words string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		ready := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.ObservedGeneration).To(Equal(object.Generation))
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Message).To(ContainSubstring(words))
	}).Should(Succeed())
}

// takeAway deletes a Secret and returns a copy that can be put back.
func takeAway(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(name), secret)).To(Succeed())
	Expect(kube.Client.Delete(ctx, secret.DeepCopy())).To(Succeed())
	Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Secret{}, key(name)) }).Should(BeEmpty())
	secret.UID, secret.ResourceVersion, secret.ManagedFields = "", "", nil
	return secret
}
