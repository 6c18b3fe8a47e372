package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// What images under these names are, of all versions: see test/localkube.
const (
	olderThanItSays = "mislabelled.test/etcd"
	noEtcdAtAll     = "mislabelled.test/busybox"
	noEtcdutl       = "mislabelled.test/no-etcdutl"
)

func from(repository string) *v1alpha1.ImageSpec { return &v1alpha1.ImageSpec{Repository: repository} }

var _ = Describe("An image that is not what its name says", Label("versions", "specs"), func() {
	ownNamespace()

	for _, row := range [][3]string{
		{"of an older minor version, which does not know the flags", olderThanItSays, facts.ReasonCrashing},
		{"of no etcd", noEtcdAtAll, facts.ReasonContainer},
	} {
		what, repository, reason := row[0], row[1], row[2]
		It(what+", ends the roll at the first member. Put right, all arrive", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "mislabelled", 3, world.Version("3.5.35"))
			cluster.AwaitReady(ctx, 3)
			pods, traffic := podsOf(ctx, cluster), cluster.Write(ctx)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version, s.Image = "3.6.16", from(repository) })
			cluster.AwaitStep(ctx, reason)
			Consistently(ctx, func() int { return changedOf(pods, podsOf(ctx, cluster)) }).WithTimeout(watching).
				Should(Equal(1), "one member is restarted")
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
			arrive(ctx, cluster, 3, "3.6.16")
			Expect(traffic.Finish(ctx).Failed).To(BeZero())
		})
	}

	It("but of an older patch, ends the roll at the first member. Put right, all arrive", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "mislabelled", 3, world.Version("3.5.21"))
			cluster.AwaitReady(ctx, 3)
			pods, traffic := podsOf(ctx, cluster), cluster.Write(ctx)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Version, s.Image = "3.5.35", from(olderThanItSays)
			})
			cluster.AwaitStep(ctx, facts.ReasonOtherVersion)
			Consistently(ctx, func() int { return changedOf(pods, podsOf(ctx, cluster)) }).WithTimeout(watching).
				Should(Equal(1), "one member is restarted")
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
			cluster.AwaitReady(ctx, 3)
			expectVersion(ctx, cluster, "3.5.35")
			Expect(traffic.Finish(ctx).Failed).To(BeZero())
		})

	It("is told at birth, and put right on a cluster that serves", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "mislabelled", 1, world.Version("3.5.35"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Image = from(olderThanItSays)
		})
		cluster.AwaitStep(ctx, facts.ReasonOtherVersion)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
		cluster.AwaitReady(ctx, 1)
		expectVersion(ctx, cluster, "3.5.35")
	})
})

var _ = Describe("An image of etcd without etcdutl", Label("backup", "specs"), func() {
	ownNamespace()

	It("ends a backup with its first Pod, which says what to do, and is proven once spec.image has it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "without", 1, func(c *v1alpha1.EtcdCluster) { c.Spec.Image = from(noEtcdutl) })
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		backup := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups"))
		backup.Await(ctx, v1alpha1.BackupFailed)
		Expect(backup.Says(ctx)).To(And(HavePrefix("EtcdutlMissing: "), ContainSubstring("Name an image that has it in spec.image")))
		Eventually(ctx, func() []batchv1.Job { return backupJobs(ctx) }).Should(BeEmpty(), "it would make three more Pods")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
		cluster.AwaitReady(ctx, 1)
		story.Backup(ctx, "second", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
	})
})

// changedOf counts the members whose Pods are others by now.
func changedOf(before, after map[string]types.UID) int {
	n := 0
	for name, uid := range before {
		if after[name] != uid {
			n++
		}
	}
	return n
}
