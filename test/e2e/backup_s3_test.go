package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var _ = Describe("A backup to S3", Label("backup", "s3"), func() {
	var cluster *world.Cluster
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()
	BeforeEach(func(ctx context.Context) {
		cluster = story.Create(ctx, "saved", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
	})

	for _, kind := range s3server.Kinds {
		It("is verified while a client writes, on "+string(kind), perStory, func(ctx context.Context) {
			server := kube.S3Server(kind)
			traffic := cluster.Write(ctx)
			status := story.Backup(ctx, "first", cluster.Name, story.ToS3(ctx, server.Access)).Await(ctx, v1alpha1.BackupVerified)
			Expect(status.Key).To(HavePrefix("stories/" + story.Namespace + "/" + story.Namespace + "/saved/"))
			manifest := strings.TrimSuffix(status.Key, "snapshot.db") + "manifest.json"
			Expect(objects(ctx, server)).To(ConsistOf(status.Key, manifest))
			traffic.Finish(ctx)
		})

		It("is verified in a bucket that takes no upload without a sum of its bytes, on "+string(kind), perStory, func(ctx context.Context) {
			proxy := kube.S3Server(kind).Proxy(GinkgoTB())
			refused := proxy.Inject(s3server.WantSum())
			cluster.Fill(ctx, "large", 300) // several parts
			backup := story.Backup(ctx, "locked", cluster.Name, story.ToS3(ctx, proxy.Access))
			status := backup.Await(ctx, v1alpha1.BackupVerified)
			Expect(refused.Count()).To(BeZero())
			operations := map[s3server.Operation]int{}
			for _, r := range proxy.Requests() {
				operations[r.Operation]++
			}
			Expect(operations[s3server.UploadPart]).To(BeNumerically(">", 1), "%d bytes, %v", status.SizeBytes, operations)
			Expect(operations[s3server.PutObject]).To(BeNumerically(">", 0), "the manifest: %v", operations)
		})

		It("is verified, with a warning, in a store that knows no conditional writes, on "+string(kind), perStory, func(ctx context.Context) {
			proxy := kube.S3Server(kind).Proxy(GinkgoTB())
			refused := proxy.Inject(s3server.KnowNoConditions())
			backup := story.Backup(ctx, "unconditional", cluster.Name, story.ToS3(ctx, proxy.Access))
			backup.Await(ctx, v1alpha1.BackupVerified)
			Expect(refused.Count()).To(BeNumerically(">=", 2), "the snapshot and the manifest")
			Expect(backup.Says(ctx)).To(ContainSubstring("knows no conditional writes"))
		})

		It("says that the store refuses it, and keeps the secret, on "+string(kind), perStory, func(ctx context.Context) {
			server := kube.S3Server(kind)
			wrong := server.Access
			wrong.SecretAccessKey = "a-secret-that-is-wrong"
			backup := story.Backup(ctx, "refused", cluster.Name, story.ToS3(ctx, wrong))
			backup.Await(ctx, v1alpha1.BackupFailed)
			Expect(backup.Says(ctx)).To(HavePrefix("StoreAccessDenied: "))
			Expect(backup.Says(ctx)).NotTo(ContainSubstring(wrong.SecretAccessKey))
			Expect(objects(ctx, server)).To(BeEmpty())
		})

		It("says that the bucket does not exist, on "+string(kind), perStory, func(ctx context.Context) {
			missing := kube.S3Server(kind).Access
			missing.Bucket = "nobodys-bucket"
			backup := story.Backup(ctx, "nowhere", cluster.Name, story.ToS3(ctx, missing))
			backup.Await(ctx, v1alpha1.BackupFailed)
			Expect(backup.Says(ctx)).To(HavePrefix("StoreNotFound: "))
		})

		It("that stands still is begun anew and verified when the store is well again, on "+string(kind), perStory, func(ctx context.Context) {
			server := kube.S3Server(kind)
			proxy := server.Proxy(GinkgoTB())
			fault := proxy.Inject(s3server.StallUpload(1).On(s3server.PutObject, s3server.UploadPart))
			backup := story.Backup(ctx, "stalled", cluster.Name, story.ToS3(ctx, proxy.Access))
			Eventually(ctx, fault.Reached()).Should(BeClosed())
			Eventually(ctx, func() string { return backup.Says(ctx) }).Should(HavePrefix("Retrying: "))
			proxy.Heal()
			status := backup.Await(ctx, v1alpha1.BackupVerified)
			Expect(objects(ctx, server)).To(HaveLen(2), "of the attempt that stood still nothing is left: %s", status.Key)
		})

		It("whose bytes are not what was written is never called good, on "+string(kind), perStory, func(ctx context.Context) {
			proxy := kube.S3Server(kind).Proxy(GinkgoTB())
			fault := proxy.Inject(s3server.FlipBit(5000).On(s3server.GetObject))
			backup := story.Backup(ctx, "flipped", cluster.Name, story.ToS3(ctx, proxy.Access))
			status := backup.Await(ctx, v1alpha1.BackupFailed)
			Expect(fault.Count()).To(BeNumerically(">", 0))
			Expect(backup.Says(ctx)).To(HavePrefix("ObjectDamaged: "))
			Expect(status.VerifiedAt).To(BeNil())
		})
	}
})

var _ = Describe("A schedule that never fires", Label("backup", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("says so and makes nothing, and is kept once it names a time that comes", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		store := story.ToS3(ctx, kube.S3Server(s3server.Rclone).Access)
		schedule := story.EachMinute(ctx, "never", cluster.Name, store, func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Schedule = "0 0 30 2 *" })
		Eventually(ctx, func() error { return schedule.Check(ctx, v1alpha1.ScheduleReady, "False NeverFires") }).Should(Succeed())
		Expect(schedule.Backups(ctx)).To(BeEmpty())
		schedule.Change(ctx, func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Schedule = "* * * * *" })
		Eventually(ctx, func() []string { return schedule.Complete(ctx) }).WithTimeout(oneRun).ShouldNot(BeEmpty())
	})
})

// objects are the keys in the server's bucket.
func objects(ctx context.Context, server *s3server.Server) []string {
	GinkgoHelper()
	list, err := server.Client().ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &server.Bucket})
	Expect(err).NotTo(HaveOccurred())
	var keys []string
	for _, object := range list.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}
