package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

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

// severalParts are so many keys that a snapshot goes to S3 in parts: only its manifest is put there in one request.
const severalParts = 200

var _ = Describe("A backup that is killed", Label("backup", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, row := range []struct {
		when, command string
		hold          s3server.Fault // keeps a step where it is to be killed; others are killed as they begin
		left, good    int            // of the objects that are left of it, and how many backups there are at the end
	}{
		{"while it uploads", "/agent snapshot", s3server.StallUpload(1).On(s3server.UploadPart), 0, 1},
		{"while it fetches back", "/agent fetch", s3server.StallAnswer(1).On(s3server.GetObject), 1, 1},
		{"while it restores what it fetched", "etcdutl snapshot restore", s3server.Fault{}, 1, 1},
		{"while it compares", "/agent compare", s3server.Fault{}, 1, 1},
		{"while it writes the manifest", "/agent compare", s3server.StallUpload(1).On(s3server.PutObject), 1, 1},
		{"before it says that it wrote the manifest", "/agent compare", s3server.Hang().On(s3server.GetObject).After(1), 2, 2},
	} {
		It(row.when+" is begun anew, and nothing that is not whole is called a backup", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "saved", 1, world.Ephemeral)
			cluster.AwaitReady(ctx, 1)
			cluster.Fill(ctx, "saved", severalParts)
			server := kube.S3Server(s3server.Versitygw)
			proxy := server.Proxy(GinkgoTB())
			fault, slow, traffic := proxy.Inject(row.hold), slowSteps(ctx), cluster.Write(ctx)
			backup := story.Backup(ctx, "first", cluster.Name, story.ToS3(ctx, proxy.Access))
			Eventually(ctx, fault.Reached()).Should(BeClosed())
			pods := backupPods(ctx)
			Expect(pods).To(HaveLen(1))
			kube.KillSteps(ctx, world.Victim{Pod: &pods[0], Command: row.command})
			proxy.Heal()
			Expect(kube.Client.Delete(ctx, slow)).To(Succeed())
			status := backup.Await(ctx, v1alpha1.BackupVerified)
			Expect(backupPods(ctx)).To(HaveLen(2))
			Expect(objects(ctx, server)).To(HaveLen(row.left + 2))
			Expect(wholeBackups(ctx, server)).To(SatisfyAll(HaveLen(row.good), ContainElement(status.Key)))
			traffic.Finish(ctx)
		})
	}
})

// slowSteps gives every step of Pods to come, and every other container, a tenth of a CPU, so that none is over before it is met.
func slowSteps(ctx context.Context) *corev1.LimitRange {
	GinkgoHelper()
	return limitContainers(ctx, corev1.LimitRangeItem{Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}})
}

// wholeBackups are the keys of the snapshots that a manifest calls good. Each must be as its manifest says.
func wholeBackups(ctx context.Context, server *s3server.Server) (keys []string) {
	GinkgoHelper()
	for _, name := range objects(ctx, server) {
		if !strings.HasSuffix(name, "/manifest.json") {
			continue
		}
		var manifest struct{ Key, SHA256 string }
		Expect(json.Unmarshal(contentOf(ctx, server, name), &manifest)).To(Succeed())
		sum := sha256.Sum256(contentOf(ctx, server, manifest.Key))
		Expect(hex.EncodeToString(sum[:])).To(Equal(manifest.SHA256))
		keys = append(keys, manifest.Key)
	}
	return keys
}

func contentOf(ctx context.Context, server *s3server.Server, name string) []byte {
	GinkgoHelper()
	object, err := server.Client().GetObject(ctx, &s3.GetObjectInput{Bucket: &server.Bucket, Key: &name})
	Expect(err).NotTo(HaveOccurred())
	defer object.Body.Close()
	content, err := io.ReadAll(object.Body)
	Expect(err).NotTo(HaveOccurred())
	return content
}

var _ = Describe("A backup on a node that dies", Label("backup", "nodes", "s3"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, row := range []struct {
		when string
		hold s3server.Fault
		left int
	}{
		{"while it uploads", s3server.StallUpload(1).On(s3server.PutObject, s3server.UploadPart), 0},
		{"while it fetches back", s3server.StallAnswer(1).On(s3server.GetObject), 1},
	} {
		It(row.when+" is made on another one, and verified", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "saved", 3)
			cluster.AwaitReady(ctx, 3)
			server := kube.S3Server(s3server.Versitygw)
			proxy := server.Proxy(GinkgoTB())
			fault, traffic := proxy.Inject(row.hold), cluster.Write(ctx)
			backup := story.Backup(ctx, "first", cluster.Name, story.ToS3(ctx, proxy.Access))
			Eventually(ctx, fault.Reached()).Should(BeClosed())
			pods, status := backupPods(ctx), v1alpha1.EtcdBackupStatus{}
			Expect(pods).To(HaveLen(1))
			kube.KillNode(ctx, pods[0].Spec.NodeName)
			proxy.Heal()
			traffic.During(ctx, func() { status = backup.Await(ctx, v1alpha1.BackupVerified) })
			for _, pod := range backupPods(ctx) {
				if pod.Name != pods[0].Name {
					Expect(pod.Spec.NodeName).NotTo(Equal(pods[0].Spec.NodeName))
				}
			}
			Expect(objects(ctx, server)).To(HaveLen(row.left + 2))
			Expect(wholeBackups(ctx, server)).To(ConsistOf(status.Key))
			kube.StartNode(ctx, pods[0].Spec.NodeName)
			cluster.AwaitReady(ctx, 3)
			traffic.Finish(ctx)
		})
	}
})
