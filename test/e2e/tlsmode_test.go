package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// perTurn is longer than a story has: members are restarted three times on the way on, and three times on the way off.
const perTurn = NodeTimeout(20 * time.Minute)

var _ = Describe("TLS of a cluster that serves", Label("operator"), func() {
	ownOperator()

	It("is turned on and off again, though the operator is killed after each change, and no write fails", perTurn, func(ctx context.Context) {
		cluster := story.Create(ctx, "turned", 3, withoutTLS)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		plain := cluster.WriteWithoutTLS(ctx)
		stop := operator.KillAtEachChange(cluster)
		plain.During(ctx, func() { turnTLS(ctx, cluster, v1alpha1.TLSPermissive) })
		Expect(killedAt(stop)).To(ContainElements("ApplyObjects", "WriteSettings", "SetPeerScheme", "EvictPod", "MoveLeader"))

		following := cluster.WriteFollowing(ctx)
		Expect(plain.Finish(ctx).Failed).To(BeZero())
		following.During(ctx, func() { turnTLS(ctx, cluster, v1alpha1.TLSManaged) })
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))

		stop = operator.KillAtEachChange(cluster)
		following.During(ctx, func() { turnTLS(ctx, cluster, v1alpha1.TLSPermissive) })
		plain = cluster.WriteWithoutTLS(ctx)
		Expect(following.Finish(ctx).Failed).To(BeZero())
		plain.During(ctx, func() { turnTLS(ctx, cluster, v1alpha1.TLSDisabled) })
		Expect(killedAt(stop)).To(ContainElements("SetPeerScheme", "EvictPod"))
		awaitNoCertificates(ctx, cluster)
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(plain.Finish(ctx).Failed).To(BeZero())
	})

	It("stays off where the mode is put back while members change how they dial each other", perTurn, func(ctx context.Context) {
		cluster := story.Create(ctx, "called-off", 3, withoutTLS)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		plain := cluster.WriteWithoutTLS(ctx)
		plain.During(ctx, func() {
			cluster.Change(ctx, asksForTLS(v1alpha1.TLSPermissive))
			Eventually(ctx, func() (int, error) { return reachedBy(ctx, cluster, etcdutil.TransportPermissive) }).
				WithTimeout(8 * time.Minute).Should(BeNumerically(">=", 1))
			turnTLS(ctx, cluster, v1alpha1.TLSDisabled)
		})
		awaitNoCertificates(ctx, cluster)
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(plain.Finish(ctx).Failed).To(BeZero())
	})

	It("is not turned off while an EtcdClient is let in by a certificate", perTurn, func(ctx context.Context) {
		cluster := story.Create(ctx, "let-in", 1)
		cluster.AwaitReady(ctx, 1)
		turnTLS(ctx, cluster, v1alpha1.TLSPermissive)
		access := &v1alpha1.EtcdClient{ObjectMeta: meta(cluster.Namespace, "shop")}
		access.Spec.ClusterRef.Name = cluster.Name
		access.Spec.Permissions = []v1alpha1.ClientPermission{{Prefix: "/shop/", Access: "ReadOnly"}}
		Expect(kube.Client.Create(ctx, access)).To(Succeed())
		cluster.Change(ctx, asksForTLS(v1alpha1.TLSDisabled))
		Eventually(ctx, func() (string, error) {
			object, err := cluster.Get(ctx)
			if err != nil || object.Status.NextStep == nil {
				return "", err
			}
			return object.Status.NextStep.Message, nil
		}).WithTimeout(world.Patience).Should(ContainSubstring("EtcdClient shop needs one"))
		Expect(kube.Client.Delete(ctx, access)).To(Succeed())
		turnTLS(ctx, cluster, v1alpha1.TLSDisabled)
	})
})

func asksForTLS(mode v1alpha1.TLSMode) func(*v1alpha1.EtcdClusterSpec) {
	return func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS = &v1alpha1.TLSSpec{Mode: mode} }
}

// turnTLS asks for a mode, and waits until every member is reached so.
func turnTLS(ctx context.Context, c *world.Cluster, mode v1alpha1.TLSMode) {
	GinkgoHelper()
	c.Change(ctx, asksForTLS(mode))
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	asked, size := resources.TransportAsked(object), int(object.Spec.Size)
	Eventually(ctx, func() (int, error) { return reachedBy(ctx, c, asked) }).WithTimeout(8*time.Minute).Should(Equal(size), string(mode))
	c.AwaitReady(ctx, size)
}

// reachedBy are so many members as run and are reached so.
func reachedBy(ctx context.Context, c *world.Cluster, wanted etcdutil.Transport) (n int, err error) {
	pods, err := c.Pods(ctx)
	for i := range pods {
		if transport, isSaid := resources.TransportOf(&pods[i]); isSaid && transport == wanted && pods[i].DeletionTimestamp == nil {
			n++
		}
	}
	return n, err
}

// awaitNoCertificates waits until nothing is left of TLS but the CAs, and status and list say so.
func awaitNoCertificates(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	for _, name := range []string{resources.ClientSecret(c.Name), resources.MemberSecret(c.Member(0)), resources.OperatorSecret(c.Name)} {
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(kube.Client.Get(ctx, key(name), &corev1.Secret{}))
		}).WithTimeout(2*time.Minute).Should(BeTrue(), name)
	}
	secretOf(ctx, resources.CASecret(c.Name))
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(object.Status.ClientSecretRef).To(BeNil())
	Expect(object.Status.Endpoints).To(HaveEach(HavePrefix("http://")))
}
