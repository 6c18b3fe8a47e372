package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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

var _ = Describe("A CA that ends within two years", Label("operator"), func() {
	ownOperator()

	It("is replaced by itself while clients write, and clients get 30 days unless a person says otherwise", perCARoll, func(ctx context.Context) {
		asked := time.Now() // for no CA that is made meanwhile
		cluster, before := createUnderCAs(ctx, "ending", asked.AddDate(-9, 0, 0))
		traffic := cluster.WriteFollowing(ctx)
		traffic.During(ctx, func() {
			awaitCAs(ctx, cluster, func(name string, held []string) bool { return len(held) == 2 && held[0] == before[name] })
			Eventually(ctx, func() (string, error) {
				object, err := cluster.Get(ctx)
				if err != nil || object.Status.NextStep == nil {
					return "", err
				}
				return object.Status.NextStep.Message, nil
			}).WithTimeout(5 * time.Minute).Should(ContainSubstring("Until then: " + time.Now().AddDate(0, 0, 30).UTC().Format("2006-01-")))
			annotate(ctx, cluster, v1alpha1.AnnotationRotateCA, `"0s@`+asked.UTC().Format(time.RFC3339)+`"`)
			awaitCAs(ctx, cluster, func(name string, held []string) bool { return len(held) == 1 && held[0] != before[name] })
			cluster.AwaitReady(ctx, 3)
		})
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})
})

// createUnderCAs has a cluster begin with CAs that were made at another time, as one does over CAs that were kept.
func createUnderCAs(ctx context.Context, name string, made time.Time) (*world.Cluster, map[string]string) {
	GinkgoHelper()
	earlier := story.Create(ctx, name, 1)
	earlier.AwaitReady(ctx, 1)
	left := uidOf(ctx, &v1alpha1.EtcdCluster{}, key(name))
	deleteCluster(ctx, earlier)
	Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, earlier.Member(0))})).To(Succeed())
	Eventually(ctx, func() map[string]types.UID { return volumes(ctx, earlier) }).Should(BeEmpty())
	for _, ca := range []string{resources.CASecret(name), resources.PeerCASecret(name)} {
		pair, err := pki.NewCA(ca, made, 0)
		Expect(err).NotTo(HaveOccurred())
		secret := secretOf(ctx, ca)
		secret.Data = map[string][]byte{resources.KeyCert: pair.Cert, resources.KeyKey: pair.Key, resources.KeyCA: pair.Cert}
		Expect(kube.Client.Update(ctx, secret)).To(Succeed())
	}
	cluster := story.Create(ctx, name, 3, func(c *v1alpha1.EtcdCluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationBeginEmpty: string(left)}
	})
	cluster.AwaitReady(ctx, 3)
	return cluster, signingCAs(ctx, cluster)
}
