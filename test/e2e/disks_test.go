package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A disk that fails", Label("data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("and is read-only from then on costs its member after repair.replaceAfter, and the volume is kept and shown", perStory, func(ctx context.Context) {
		const replaceAfter = 30 * time.Second
		cluster := story.Create(ctx, "failing", 3, world.ReplaceAfter(replaceAfter))
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		owned := volumes(ctx, cluster)
		disk := cluster.MoveToDisk(ctx, victim, 256)
		cluster.AwaitReady(ctx, 3)
		Expect(cluster.Identities(ctx)).To(Equal(before), "moving it to the disk cost nothing")
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			failed := time.Now()
			cluster.KillEtcd(ctx, victim)
			disk.MakeReadOnly(ctx)
			Eventually(ctx, func() (string, error) { return cluster.LastWords(ctx, victim) }).Should(ContainSubstring("read-only file system"))
			expectSaid(ctx, cluster, "replace", "its disk fails). A new member")
			Expect(time.Since(failed)).To(BeNumerically(">", replaceAfter-time.Second), "Kubernetes tells times in whole seconds")
			cluster.AwaitReady(ctx, 3)
		})
		expectReplaced(ctx, cluster, before, victim)
		expectKept(ctx, cluster, victim, "Disk")
		Expect(uidOf(ctx, pvc(), key(victim))).To(Equal(owned[victim]), "it is the very volume")
		traffic.Finish(ctx)
	})
})

// expectKept waits until the volume of a replaced member is put aside for this reason, and the status says so with when it ends.
func expectKept(ctx context.Context, c *world.Cluster, member, reason string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(c.Namespace, member)}
		g.Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Labels).To(HaveKeyWithValue(v1alpha1.LabelKept, reason))
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.Status.KeptVolumes).To(HaveLen(1))
		kept := object.Status.KeptVolumes[0]
		g.Expect([]string{kept.Name, kept.Reason}).To(Equal([]string{member, reason}))
		g.Expect(kept.Since).NotTo(BeNil())
		g.Expect(kept.Until.Sub(kept.Since.Time)).To(Equal(v1alpha1.DefaultKeepVolumes))
	}).Should(Succeed())
}
