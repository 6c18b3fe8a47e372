package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/azureserver"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/gcsserver"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// savedKeys are in a backup, lostKeys were written after it.
const savedKeys, lostKeys = 40, 10

// fromBackup is a cluster that is to begin with an EtcdBackup.
func fromBackup(name string) world.Option {
	return func(c *v1alpha1.EtcdCluster) {
		c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{
			Restore: &v1alpha1.RestoreSource{BackupRef: &v1alpha1.BackupReference{Name: name}}}
	}
}

// save fills a cluster, backs it up and goes on writing.
func save(ctx context.Context, cluster *world.Cluster, store v1alpha1.BackupStore) v1alpha1.EtcdBackupStatus {
	GinkgoHelper()
	cluster.Fill(ctx, "saved", savedKeys)
	status := story.Backup(ctx, "first", cluster.Name, store).Await(ctx, v1alpha1.BackupVerified)
	cluster.Fill(ctx, "lost", lostKeys)
	return status
}

// holdsBackup says that a cluster holds what was saved and nothing of what came later, and is another one than it was
// saved from.
func holdsBackup(ctx context.Context, cluster, saved *world.Cluster) {
	GinkgoHelper()
	Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
	Expect(cluster.Filled(ctx, "lost")).To(BeZero())
	Expect(saved.Filled(ctx, "lost")).To(Equal(lostKeys))
	current, err := cluster.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	was, err := saved.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(current.Status.ClusterID).NotTo(Equal(was.Status.ClusterID))
	cluster.AwaitEqualHashes(ctx)
	Eventually(ctx, func() []string { return taskPods(ctx, cluster) }).Should(BeEmpty(), "Pods of the restore are left")
}

// nextStep is the reason and the sentence of what the operator does next, or waits for.
func nextStep(ctx context.Context, cluster *world.Cluster) (string, error) {
	current, err := cluster.Get(ctx)
	if err != nil || current.Status.NextStep == nil {
		return "", err
	}
	return current.Status.NextStep.Reason + ": " + current.Status.NextStep.Message, nil
}

// taskPods are the Pods of a cluster's restores.
func taskPods(ctx context.Context, cluster *world.Cluster) []string {
	GinkgoHelper()
	var names []string
	for _, component := range []string{v1alpha1.ComponentPreflight, v1alpha1.ComponentRestore} {
		var pods corev1.PodList
		Expect(kube.Client.List(ctx, &pods, client.InNamespace(story.Namespace), client.MatchingLabels{
			v1alpha1.LabelCluster: cluster.Name, v1alpha1.LabelComponent: component,
		})).To(Succeed())
		for _, pod := range pods.Items {
			names = append(names, pod.Name)
		}
	}
	return names
}

var _ = Describe("A new cluster that begins with a backup", Label("restore"), func() {
	ownNamespace()

	It("of one member, from a volume, holds what was saved", Label("core"), first, perStory, func(ctx context.Context) {
		saved := story.Create(ctx, "saved", 1)
		saved.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		save(ctx, saved, world.ToVolume("backups"))
		again := story.Create(ctx, "again", 1, fromBackup("first"))
		again.AwaitReady(ctx, 1)
		holdsBackup(ctx, again, saved)
		Expect(again.History.Rules()).To(ContainElements("restore-source", "restored"))
		traffic := again.Write(ctx)
		traffic.Flow(ctx)
		again.Resize(ctx, 3) // what is restored is a cluster like any other
		again.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
		holdsBackup(ctx, again, saved)
	})

	It("says that there is no such backup, and begins when there is one", perStory, func(ctx context.Context) {
		again := story.Create(ctx, "again", 1, fromBackup("first"))
		again.AwaitStalled(ctx, facts.ReasonUnusable)
		saved := story.Create(ctx, "saved", 1)
		saved.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		save(ctx, saved, world.ToVolume("backups"))
		again.AwaitReady(ctx, 1)
		holdsBackup(ctx, again, saved)
	})

	It("of a newer minor version is refused, and begins when spec.version is put right", perStory,
		func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1)
			saved.AwaitReady(ctx, 1)
			story.Claim(ctx, "backups")
			save(ctx, saved, world.ToVolume("backups"))
			again := story.Create(ctx, "again", 1, fromBackup("first"), world.Version("3.5.35"))
			again.AwaitStalled(ctx, facts.ReasonUnusable)
			Expect(nextStep(ctx, again)).To(
				ContainSubstring("Set spec.version to 3.6.x"))
			Expect(again.Pods(ctx)).To(BeEmpty())
			again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = world.DefaultVersion })
			again.AwaitReady(ctx, 1)
			holdsBackup(ctx, again, saved)
		})

	It("larger than its quota is refused with both figures, and begins when the quota is raised", perStory, func(ctx context.Context) {
		saved := story.Create(ctx, "saved", 1, world.Quota("256Mi"))
		saved.AwaitReady(ctx, 1)
		saved.Fill(ctx, "large", hundredMebi)
		story.Claim(ctx, "backups")
		save(ctx, saved, world.ToVolume("backups"))
		again := story.Create(ctx, "again", 1, fromBackup("first"), world.Quota("64Mi"))
		again.AwaitStalled(ctx, facts.ReasonUnusable)
		Expect(nextStep(ctx, again)).To(MatchRegexp(`quotaBackendBytes is 64Mi\. The backup has 1[0-9]{2}Mi, and may take 80 % of it\. Raise the quota to at least 1[0-9]{2}Mi`))
		Expect(again.Pods(ctx)).To(BeEmpty())
		Expect(volumes(ctx, again)).To(BeEmpty())
		again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd.QuotaBackendBytes = quantity("256Mi") })
		again.AwaitReady(ctx, 1)
		Expect(again.Filled(ctx, "large")).To(Equal(hundredMebi))
		holdsBackup(ctx, again, saved)
		again.Write(ctx).Finish(ctx)
	})

	It("whose manifest is not signed with the key of the store is refused, and begins with the newest that is", perStory,
		func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1)
			saved.AwaitReady(ctx, 1)
			story.Claim(ctx, "backups")
			store := story.Signed(ctx, world.ToVolume("backups"))
			signed := save(ctx, saved, store)
			unsigned := story.Backup(ctx, "unsigned", saved.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
			Expect(unsigned.Revision).To(BeNumerically(">", signed.Revision), "it is not the newer one")

			source := &v1alpha1.RestoreSource{Store: &store, Key: unsigned.Key}
			again := story.Create(ctx, "again", 1,
				func(c *v1alpha1.EtcdCluster) { c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: source} })
			again.AwaitStalled(ctx, facts.ReasonUnusable)
			Expect(nextStep(ctx, again)).To(And(ContainSubstring("manifest-key"), ContainSubstring(unsigned.Key[:len(unsigned.Key)-len("snapshot.db")])))
			Expect(again.Pods(ctx)).To(BeEmpty())
			again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Bootstrap.Restore = &v1alpha1.RestoreSource{Store: &store, Latest: true,
					LatestOf: &v1alpha1.BackedUpCluster{Name: "saved"}}
			})
			again.AwaitReady(ctx, 1)
			holdsBackup(ctx, again, saved)
			current, err := again.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(current.Status.RestoredFrom).To(And(HaveField("Key", signed.Key), HaveField("PassedOver", int32(1))))
		})

	for _, version := range []string{"3.5.35", "3.7.3"} {
		It("of etcd "+version+" holds what was saved, with that version", perStory, func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1, world.Version(version))
			saved.AwaitReady(ctx, 1)
			story.Claim(ctx, "backups")
			save(ctx, saved, world.ToVolume("backups"))
			again := story.Create(ctx, "again", 1, fromBackup("first"), world.Version(version))
			again.AwaitReady(ctx, 1)
			holdsBackup(ctx, again, saved)
			expectVersion(ctx, again, version)
		})
	}

	It("of a cluster with authentication on has it on too, and is looked after; without certificates nothing is made",
		perStory, func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1)
			saved.AwaitReady(ctx, 1)
			saved.EnableAuth(ctx, "saved-client", "again-client")
			story.Claim(ctx, "backups")
			save(ctx, saved, world.ToVolume("backups"))

			plain := story.Create(ctx, "plain", 1, fromBackup("first"), withoutTLS)
			plain.AwaitStalled(ctx, facts.ReasonUnusable)
			Expect(plain.Pods(ctx)).To(BeEmpty())

			again := story.Create(ctx, "again", 1, fromBackup("first"))
			again.AwaitReady(ctx, 1)
			Expect(again.AuthIsOn(ctx)).To(BeTrue())
			holdsBackup(ctx, again, saved)
			again.Resize(ctx, 3) // which etcd lets nobody do but root
			again.AwaitReady(ctx, 3)
			current, err := again.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(current.Status.RestoredFrom).NotTo(BeNil())
		})

	It("says within half a minute which Secret is not there, and begins when it is", perStory,
		func(ctx context.Context) {
			kube.NeedLocalkube()
			saved := story.Create(ctx, "saved", 1, world.Ephemeral)
			saved.AwaitReady(ctx, 1)
			store := story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access)
			done := save(ctx, saved, store)
			credentials := &corev1.Secret{}
			Expect(kube.Client.Get(ctx, client.ObjectKey{Namespace: story.Namespace,
				Name: store.S3.CredentialsSecretRef.Name}, credentials)).To(Succeed())
			store.S3.CredentialsSecretRef = &v1alpha1.StoreSecretReference{Name: "absent"}
			again := story.Create(ctx, "again", 1, func(c *v1alpha1.EtcdCluster) {
				c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: &v1alpha1.RestoreSource{Store: &store,
					Key: done.Key}}
			})
			Eventually(ctx, func() (string, error) { return nextStep(ctx, again) }).WithTimeout(
				30 * time.Second).Should(
				SatisfyAll(HavePrefix(facts.ReasonNotMounted+": "), ContainSubstring(`secret "absent" not found`)))
			absent := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: "absent"},
				Data: credentials.Data}
			Expect(kube.Client.Create(ctx, absent)).To(Succeed())
			again.AwaitReady(ctx, 1)
			holdsBackup(ctx, again, saved)
		})

	It("goes on when its restore Pod is deleted", perStory, func(ctx context.Context) {
		saved := story.Create(ctx, "saved", 1)
		saved.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		save(ctx, saved, world.ToVolume("backups"))
		again := story.Create(ctx, "again", 1, fromBackup("first"))
		pod := &corev1.Pod{}
		Eventually(ctx, func() error {
			return kube.Client.Get(ctx, client.ObjectKey{Namespace: story.Namespace, Name: "again-0-restore"}, pod)
		}).WithPolling(50 * time.Millisecond).Should(Succeed())
		Expect(client.IgnoreNotFound(kube.Client.Delete(ctx, pod))).To(Succeed())
		again.AwaitReady(ctx, 1)
		holdsBackup(ctx, again, saved)
	})
})

// sizes are how many members a backup is of, and how many begin with it, on the server that a program is.
type sizes struct {
	from, to int32
	program  s3server.Kind
}

var (
	_ = beginsWithBackupIn("S3", sizes{1, 3, s3server.Versitygw}, sizes{3, 1, s3server.Rclone}, sizes{3, 5, s3server.Versitygw})
	_ = beginsWithBackupIn("GCS", sizes{3, 3, gcsserver.Program})
	_ = beginsWithBackupIn("Azure", sizes{3, 3, azureserver.Program})
)

// beginsWithBackupIn tells the stories of a kind of store.
func beginsWithBackupIn(kind string, rows ...sizes) bool {
	return Describe("A new cluster that begins with a backup in "+kind, Label("restore", strings.ToLower(kind)), func() {
		BeforeEach(func() { kube.NeedLocalkube() })
		ownNamespace()

		for _, row := range rows {
			It(fmt.Sprintf("of %d members, from one of %d, holds what was saved", row.to, row.from), perStory,
				func(ctx context.Context) {
					saved := story.Create(ctx, "saved", row.from, world.Ephemeral)
					saved.AwaitReady(ctx, int(row.from))
					save(ctx, saved, story.Bucket(ctx, row.program).Store)
					again := story.Create(ctx, "again", row.to, fromBackup("first"))
					again.AwaitReady(ctx, int(row.to))
					holdsBackup(ctx, again, saved)
					traffic := again.Write(ctx)
					traffic.Finish(ctx)
				})
		}
	})
}

var _ = Describe("A bucket with backups of two clusters of one name", Label("restore", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is not guessed from: their keys are named, and a new cluster begins with the one that is chosen", perStory,
		func(ctx context.Context) {
			server := kube.S3Server(s3server.Rclone)
			store := story.ToS3(ctx, server.Access)
			leavesNothing := func(c *v1alpha1.EtcdCluster) {
				c.Spec.Storage = &v1alpha1.StorageSpec{DeletionPolicy: v1alpha1.DeletionDelete}
			}
			was := story.Create(ctx, "saved", 1, leavesNothing)
			was.AwaitReady(ctx, 1)
			older := save(ctx, was, store)
			end(ctx, was)
			saved := story.Create(ctx, "saved", 1, leavesNothing)
			saved.AwaitReady(ctx, 1)
			saved.Fill(ctx, "other", savedKeys)
			newer := story.Backup(ctx, "second", saved.Name, store).Await(ctx, v1alpha1.BackupVerified)

			source := &v1alpha1.RestoreSource{Store: &store, Latest: true,
				LatestOf: &v1alpha1.BackedUpCluster{Name: "saved"}}
			again := story.Create(ctx, "again", 1,
				func(c *v1alpha1.EtcdCluster) { c.Spec.Bootstrap = &v1alpha1.BootstrapSpec{Restore: source} })
			again.AwaitStalled(ctx, facts.ReasonUnusable)
			Expect(nextStep(ctx, again)).To(And(ContainSubstring(older.Key), ContainSubstring(newer.Key)))
			Expect(again.Pods(ctx)).To(BeEmpty())
			again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Bootstrap.Restore = &v1alpha1.RestoreSource{Store: &store, Key: older.Key}
			})
			again.AwaitReady(ctx, 1)
			Expect(again.Filled(ctx, "saved")).To(Equal(savedKeys))
			Expect(again.Filled(ctx, "other")).To(BeZero())
			Expect(objects(ctx, server)).To(HaveLen(4), "nobody touched the backups of the other")
		})
})

// end deletes a cluster that keeps nothing, and waits until its name is free.
func end(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	deleteCluster(ctx, cluster)
	Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Secret{}, key(cluster.Name+"-ca")) }).Should(BeEmpty())
	Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(BeEmpty())
}

var _ = Describe("A restore whose operator is killed again and again", Label("restore", "operator"), func() {
	ownOperator()

	It("goes on, and holds what was saved", perStory, func(ctx context.Context) {
		saved := story.Create(ctx, "saved", 1)
		saved.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		save(ctx, saved, world.ToVolume("backups"))
		again := story.Create(ctx, "again", 1, fromBackup("first"))
		Eventually(ctx, func() error {
			operator.Restart()
			return again.CheckReady(ctx, 1)
		}).WithPolling(4 * time.Second).Should(Succeed())
		holdsBackup(ctx, again, saved)
	})
})
