package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// perCARoll is longer than a story has: kubelets get minutes to give members their certificates.
const perCARoll = NodeTimeout(20 * time.Minute)

var _ = Describe("A CA that a person has replaced", Label("operator"), func() {
	ownOperator()

	It("is followed by members and clients, though the operator is killed after each change, and no write fails", perCARoll, func(ctx context.Context) {
		cluster := story.Create(ctx, "rotated", 3)
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), signingCAs(ctx, cluster)
		traffic := cluster.WriteFollowing(ctx)
		stop := operator.KillAtEachChange(cluster)
		traffic.During(ctx, func() {
			annotate(ctx, cluster, v1alpha1.AnnotationRotateCA, `"0s@`+time.Now().UTC().Format(time.RFC3339)+`"`)
			awaitCAs(ctx, cluster, func(name string, held []string) bool { return len(held) == 1 && held[0] != before[name] })
			cluster.AwaitReady(ctx, 3)
		})
		Expect(killedAt(stop)).To(ContainElements("TurnCA", "ApplyObjects", "EvictPod", "MoveLeader"))
		after := signingCAs(ctx, cluster)
		for member := range was.ids {
			secret := secretOf(ctx, resources.MemberSecret(member))
			Expect(pki.Fingerprints(secret.Data[resources.KeyCA])).To(Equal([]string{after[resources.CASecret(cluster.Name)]}))
			Expect(pki.Fingerprints(secret.Data[resources.KeyPeerCA])).To(Equal([]string{after[resources.PeerCASecret(cluster.Name)]}))
		}
		clients := secretOf(ctx, resources.ClientSecret(cluster.Name))
		Expect(pki.Fingerprints(clients.Data[resources.KeyCA])).To(Equal([]string{after[resources.CASecret(cluster.Name)]}))
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		cluster.Write(ctx).Finish(ctx)
	})

	It("stays where the request is taken back after the new one has signed", perCARoll, func(ctx context.Context) {
		cluster := story.Create(ctx, "kept-ca", 3)
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), signingCAs(ctx, cluster)
		traffic := cluster.WriteFollowing(ctx)
		traffic.During(ctx, func() {
			annotate(ctx, cluster, v1alpha1.AnnotationRotateCA, `"0s@`+time.Now().UTC().Format(time.RFC3339)+`"`)
			awaitCAs(ctx, cluster, func(name string, held []string) bool { return len(held) == 2 && held[0] != before[name] })
			annotate(ctx, cluster, v1alpha1.AnnotationRotateCA, "null")
			awaitCAs(ctx, cluster, func(name string, held []string) bool { return len(held) == 2 && held[0] == before[name] })
		})
		Expect(signingCAs(ctx, cluster)).To(Equal(before))
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})
})

func secretOf(ctx context.Context, name string) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(name), secret)).To(Succeed())
	return secret
}

// signingCAs are the fingerprints of the CAs that sign, by their Secrets.
func signingCAs(ctx context.Context, c *world.Cluster) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for _, name := range []string{resources.CASecret(c.Name), resources.PeerCASecret(c.Name)} {
		out[name] = pki.Fingerprint(secretOf(ctx, name).Data[resources.KeyCert])
	}
	return out
}

// awaitCAs waits until this holds of both Secrets of CAs: of the one that signs, and the other one behind it.
func awaitCAs(ctx context.Context, c *world.Cluster, holds func(name string, held []string) bool) {
	GinkgoHelper()
	for _, name := range []string{resources.CASecret(c.Name), resources.PeerCASecret(c.Name)} {
		Eventually(ctx, func() bool {
			data := secretOf(ctx, name).Data
			held := append(pki.Fingerprints(data[resources.KeyCert]), pki.Fingerprints(data[resources.KeyOtherCert])...)
			return holds(name, held)
		}).WithTimeout(12*time.Minute).Should(BeTrue(), name)
	}
}
