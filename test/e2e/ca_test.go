package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("The CAs of a cluster that a person deletes", Label("operator"), func() {
	ownOperator()

	It("are not made anew: members serve on and come back, no member joins, and all goes on when they are put back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "trust", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cas := []string{resources.CASecret(cluster.Name), resources.PeerCASecret(cluster.Name)}
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Kill() // it keeps what it read of Secrets for minutes; one that starts reads them anew
			var copies []*corev1.Secret
			for _, name := range cas {
				copies = append(copies, takeAway(ctx, name))
			}
			operator.Start()
			cluster.AwaitStalled(ctx, "CALost")
			expectUntouched(ctx, cluster, was)
			deletePod(ctx, cluster, follower(ctx, cluster))
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).Should(Succeed(), "it starts with the certificate that it has")
			cluster.Resize(ctx, 5)
			awaitTold(ctx, cluster, cas[0]+", which holds a CA of this cluster, is gone")
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(was.ids), "nobody could join")
			for i, name := range cas {
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

var _ = Describe("The CAs of a cluster that a person replaces by others", Label("operator"), func() {
	ownOperator()

	It("issue nothing: no Secret and no Pod changes, no member joins, and all goes on when they are put back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "usurped", 3)
		cluster.AwaitReady(ctx, 3)
		was, issued := identityOf(ctx, cluster), certificatesOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Kill() // it keeps what it read of Secrets for minutes; one that starts reads them anew
			copies := map[string]map[string][]byte{}
			for _, name := range []string{resources.CASecret(cluster.Name), resources.PeerCASecret(cluster.Name)} {
				pair, err := pki.NewCA("peers of etcd "+story.Namespace+"/"+cluster.Name, time.Now(), 0)
				Expect(err).NotTo(HaveOccurred())
				copies[name] = exchange(ctx, name, map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key, resources.KeyCA: pair.Cert})
			}
			operator.Start()
			cluster.AwaitStalled(ctx, "CAReplaced")
			expectUntouched(ctx, cluster, was)
			deletePod(ctx, cluster, follower(ctx, cluster))
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).Should(Succeed(), "it starts with the certificate that it has")
			cluster.Resize(ctx, 5)
			for name, copied := range copies {
				awaitTold(ctx, cluster, name+" holds another CA")
				awaitTold(ctx, cluster, pki.Fingerprint(copied[resources.KeyCert])[:len("01:23:45:67:89:AB:CD:EF")])
			}
			Consistently(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(watching).Should(Equal(was.ids), "nobody could join")
			Expect(certificatesOf(ctx, cluster)).To(Equal(issued))
			for name, copied := range copies {
				exchange(ctx, name, copied)
			}
			Eventually(ctx, func() bool { return isStalledFor(ctx, cluster, "CAReplaced") }).WithTimeout(watching).Should(BeFalse(), "they are back")
			cluster.AwaitReady(ctx, 5)
		})
		Expect(certificatesOf(ctx, cluster)).To(Equal(issued), "nothing was due")
		cluster.Write(ctx).Finish(ctx)
		traffic.Finish(ctx)
	})
})

// certificatesOf are the resource versions of the Secrets with certificates that a cluster of three has.
func certificatesOf(ctx context.Context, c *world.Cluster) map[string]string {
	GinkgoHelper()
	versions := map[string]string{resources.ClientSecret(c.Name): "", resources.OperatorSecret(c.Name): ""}
	for ordinal := range 3 {
		versions[resources.MemberSecret(c.Member(ordinal))] = ""
	}
	for name := range versions {
		secret := &corev1.Secret{}
		Expect(kube.Client.Get(ctx, key(name), secret)).To(Succeed())
		versions[name] = secret.ResourceVersion
	}
	return versions
}

// exchange puts something else into a Secret, whose labels stay, and returns what was in it.
func exchange(ctx context.Context, name string, data map[string][]byte) map[string][]byte {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(name), secret)).To(Succeed())
	was := secret.Data
	secret.Data = data
	Expect(kube.Client.Update(ctx, secret)).To(Succeed())
	return was
}

// isStalledFor reports whether a cluster waits for a person for this reason.
func isStalledFor(ctx context.Context, c *world.Cluster, reason string) bool {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	stalled := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == reason
}

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
