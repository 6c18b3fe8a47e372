package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

func aWAL() *v1alpha1.WALSpec { return &v1alpha1.WALSpec{Size: resource.MustParse("1Gi")} }

func withWAL(c *v1alpha1.EtcdCluster) { c.Spec.Storage = &v1alpha1.StorageSpec{WAL: aWAL()} }

// expectHalves expects each member to have its log on a claim of its own, or none to have; etcd's log is there.
func expectHalves(ctx context.Context, c *world.Cluster, members int, isHalved bool) map[string]types.UID {
	GinkgoHelper()
	want := members
	if isHalved {
		want *= 2
	}
	Eventually(ctx, func(g Gomega) {
		pods, err := c.Pods(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveLen(members))
		for _, pod := range pods {
			args := strings.Join(pod.Spec.Containers[0].Args, " ")
			g.Expect(strings.Contains(args, "--wal-dir=")).To(Equal(isHalved), "%s: %s", pod.Name, args)
		}
		g.Expect(volumes(ctx, c)).To(HaveLen(want))
	}).WithTimeout(heard).Should(Succeed(), "the decisions are\n%s", c.History)
	return volumes(ctx, c)
}

var _ = Describe("A write-ahead log on a volume of its own", Label("disks"), func() {
	ownNamespace()

	It("serves, comes back with a member that is restarted, and costs one member where its claim is deleted", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "logged", 3, withWAL)
			cluster.AwaitReady(ctx, 3)
			data, before := expectHalves(ctx, cluster, 3, true), cluster.Identities(ctx)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(5000))} })
				cluster.AwaitReady(ctx, 3)
			})
			Expect(cluster.Identities(ctx)).To(Equal(before))
			Expect(volumes(ctx, cluster)).To(Equal(data))

			lost := cluster.Member(1)
			traffic.During(ctx, func() {
				loseClaimOf(ctx, cluster, lost, resources.WALClaim(lost))
				cluster.AwaitReady(ctx, 3)
			})
			expectReplaced(ctx, cluster, before, lost)
			Expect(expectHalves(ctx, cluster, 3, true)).NotTo(HaveKey(lost))
			traffic.Finish(ctx)
		})

	It("is added and taken away under a client that writes, one member at a time", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "halved", 3)
		cluster.AwaitReady(ctx, 3)
		expectHalves(ctx, cluster, 3, false)
		traffic := cluster.Write(ctx)
		for _, wal := range []*v1alpha1.WALSpec{aWAL(), nil} {
			traffic.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Storage = &v1alpha1.StorageSpec{WAL: wal} })
				expectHalves(ctx, cluster, 3, wal != nil)
				cluster.AwaitReady(ctx, 3)
			})
		}
		traffic.Finish(ctx)
	})

	It("grows by its own size, one after the other, while clients write and no member stops", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "longer", 3, growable(ctx), func(c *v1alpha1.EtcdCluster) { c.Spec.Storage.WAL = aWAL() })
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Storage.WAL.Size = *quantity("2Gi") })
			for range 3 {
				claim := awaitGrowing(ctx, cluster)
				Expect(claim.Name).To(HaveSuffix("-wal"))
				Expect(claim.Spec.Resources.Requests.Storage().String()).To(Equal("2Gi"))
				expectOthersWait(ctx, cluster, claim.Name)
				giveSize(ctx, claim, "2Gi")
			}
			cluster.AwaitReady(ctx, 3)
		})
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("is restored with the data, and both halves of what there was are kept, or deleted", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 1, withWAL)
		cluster.AwaitReady(ctx, 1)
		inVolume(ctx, cluster)
		restore := cluster.RestoreTo(ctx, "back", toBackup())
		restore.Approve(ctx)
		restore.Complete(ctx)
		cluster.AwaitReady(ctx, 1)
		Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
		Expect(cluster.Filled(ctx, "lost")).To(BeZero())
		Expect(volumes(ctx, cluster)).To(HaveLen(4))
		restore.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.OldVolumes = v1alpha1.OldVolumesDelete })
		expectHalves(ctx, cluster, 1, true)
		pod, err := cluster.Pod(ctx, cluster.Member(1))
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Client.Delete(ctx, pod)).To(Succeed()) // it starts from what it wrote since
		cluster.AwaitReady(ctx, 1)
	})
})

// loseClaimOf deletes a claim of a member, and its Pod, so that the claim goes.
func loseClaimOf(ctx context.Context, c *world.Cluster, member, claim string) {
	GinkgoHelper()
	old := uidOf(ctx, pvc(), key(claim))
	Expect(old).NotTo(BeEmpty())
	Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(c.Namespace, claim)})).To(Succeed())
	pod, err := c.Pod(ctx, member)
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
	Eventually(ctx, func() any { return uidOf(ctx, pvc(), key(claim)) }).ShouldNot(BeEquivalentTo(old), "%s was deleted and is there", claim)
}
