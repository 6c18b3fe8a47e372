package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var _ = Describe("A backup whose operator is killed again and again", Label("backup", "operator"), func() {
	ownOperator()

	It("is made once, and verified", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		backup := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups"))
		Eventually(ctx, func(g Gomega) {
			operator.Restart()
			object, err := backup.Get(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(apimeta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.BackupVerified)).To(BeTrue(), "%+v", object.Status)
		}).WithPolling(4 * time.Second).Should(Succeed()) // time enough for one that has just begun to do something
		Expect(backupJobs(ctx)).To(HaveLen(1))
		Expect(backupPods(ctx)).To(HaveLen(1))
	})
})

var _ = Describe("A backup on a node that dies", Label("backup", "nodes", "s3"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is made on another one, and verified", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 3)
		cluster.AwaitReady(ctx, 3)
		server := kube.S3Server(s3server.Versitygw)
		proxy := server.Proxy(GinkgoTB())
		fault := proxy.Inject(s3server.StallUpload(1).On(s3server.PutObject, s3server.UploadPart))
		backup := story.Backup(ctx, "first", cluster.Name, story.ToS3(ctx, proxy.Access))
		Eventually(ctx, fault.Reached()).Should(BeClosed())
		pods := backupPods(ctx)
		Expect(pods).To(HaveLen(1))
		kube.KillNode(ctx, pods[0].Spec.NodeName)
		proxy.Heal()
		backup.Await(ctx, v1alpha1.BackupVerified)
		for _, pod := range backupPods(ctx) {
			if pod.Name != pods[0].Name {
				Expect(pod.Spec.NodeName).NotTo(Equal(pods[0].Spec.NodeName))
			}
		}
		Expect(objects(ctx, server)).To(HaveLen(2))
	})
})
