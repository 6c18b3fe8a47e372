package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// saidWithin ends a story in which a backup never says what keeps it from starting; it is no measure of speed.
const saidWithin = 2 * time.Minute

var _ = Describe("A backup to a volume", Label("backup"), func() {
	ownNamespace()

	withoutTLS := func(c *v1alpha1.EtcdCluster) { c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled} }
	for _, shape := range []struct {
		name    string
		size    int32
		options []world.Option
		labels  Labels
	}{
		{"of three members", 3, nil, Label("core")},
		{"of one member of etcd 3.5, without TLS", 1, []world.Option{world.Version("3.5.35"), withoutTLS}, Labels{}},
		{"of one member of etcd 3.7", 1, []world.Option{world.Version("3.7.3")}, Labels{}},
	} {
		It("is verified while a client writes, "+shape.name, shape.labels, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "saved", shape.size, shape.options...)
			cluster.AwaitReady(ctx, int(shape.size))
			cluster.AwaitCondition(ctx, v1alpha1.ConditionBackedUp, metav1.ConditionFalse, "NoBackup")
			story.Claim(ctx, "backups")
			traffic := cluster.Write(ctx)
			before := time.Now().Add(-time.Second) // the status has whole seconds
			backup := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups"))
			status := backup.Await(ctx, v1alpha1.BackupVerified)
			Expect(status.Revision).To(BeNumerically(">", 1))
			Expect(status.TotalKeys).To(BeNumerically(">", 0))
			Expect(status.ClusterID).NotTo(BeEmpty())
			Expect(status.StartedAt.Time).To(BeTemporally(">=", before))
			Expect(status.SHA256).To(HaveLen(64))
			traffic.Flow(ctx)

			second := story.Backup(ctx, "second", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
			Expect(second.Revision).To(BeNumerically(">", status.Revision))
			Expect(second.Key).NotTo(Equal(status.Key), "nothing is overwritten")
			Eventually(ctx, func(g Gomega) {
				object, err := cluster.Get(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(object.Status.LastProvenBackup).To(HaveField("Key", second.Key))
			}).WithTimeout(10 * time.Second).Should(Succeed())
			cluster.AwaitCondition(ctx, v1alpha1.ConditionBackedUp, metav1.ConditionTrue, "BackupProven")
			cluster.AwaitReady(ctx, int(shape.size))
			traffic.Finish(ctx)
		})
	}

	It("is complete and not verified while no other member confirms its keys, and verified once one does", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "unseen", 3)
		cluster.AwaitReady(ctx, 3)
		story.Claim(ctx, "backups")
		cluster.Write(ctx).Finish(ctx)
		seen := cluster.Leader(ctx)
		var unseen []string
		for name := range cluster.Identities(ctx) {
			if name != seen {
				unseen = append(unseen, name)
			}
		}
		cut := cluster.CutClients(ctx, unseen...)
		alone := story.Backup(ctx, "alone", cluster.Name, world.ToVolume("backups"))
		status := alone.Await(ctx, v1alpha1.BackupComplete)
		Expect(status.Member).To(Equal(seen))
		Expect(status.Witness).To(BeEmpty())
		Expect(status.VerifiedAt).To(BeNil())
		Expect(alone.Says(ctx)).To(HavePrefix("NoWitness: "))
		for _, name := range unseen {
			Expect(alone.Says(ctx)).To(ContainSubstring(name))
		}
		Expect(cut.Dropped(ctx)).To(BeNumerically(">", 0))
		cut.Heal(ctx)
		verified := story.Backup(ctx, "seen", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
		Expect(verified.Witness).NotTo(BeElementOf("", verified.Member))
	})

	It("is verified by the other members while etcd's alarm CORRUPT accuses one of them", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "accused", 3)
		cluster.AwaitReady(ctx, 3)
		story.Claim(ctx, "backups")
		cluster.Fill(ctx, corruptible, 50)
		cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.Paused = true })
		accused := follower(ctx, cluster)
		cluster.Corrupt(ctx, accused, '1')
		cluster.Accuse(ctx, accused)
		status := story.Backup(ctx, "sound", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
		Expect([]string{status.Member, status.Witness}).NotTo(ContainElement(accused))
		Expect(status.Witness).NotTo(BeElementOf("", status.Member))
	})

	It("tells the same when its status is wiped and its Job is gone, and never runs again", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		backup := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups"))
		status := backup.Await(ctx, v1alpha1.BackupVerified)
		deleteJob(ctx, status.JobName)
		backup.WipeStatus(ctx)
		again := backup.Await(ctx, v1alpha1.BackupVerified)
		Expect(again.Key).To(Equal(status.Key))
		Consistently(ctx, func() []batchv1.Job { return backupJobs(ctx) }).WithTimeout(5 * time.Second).Should(BeEmpty())
	})

	It("does not count as proven any more once its record is changed, and says so, and the next one counts", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		changed := story.Backup(ctx, "changed", cluster.Name, world.ToVolume("backups"))
		status := changed.Await(ctx, v1alpha1.BackupVerified)
		changed.ChangeRecord(ctx, fmt.Sprintf(`"revision":%d`, status.Revision), `"revision":9000000000000000000`)
		Eventually(ctx, func() string { return changed.Says(ctx) }).WithTimeout(saidWithin).Should(HavePrefix("RecordNotSigned: "))
		cluster.AwaitCondition(ctx, v1alpha1.ConditionBackedUp, metav1.ConditionFalse, "NoBackup")
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Status.LastProvenBackup).To(BeNil())
		next := story.Backup(ctx, "next", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
		Expect(next.Revision).To(BeNumerically("<", 1<<32))
		cluster.AwaitCondition(ctx, v1alpha1.ConditionBackedUp, metav1.ConditionTrue, "BackupProven")
	})

	It("goes on when its Pod is killed", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		backup := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups"))
		var victim corev1.Pod
		Eventually(ctx, func() []corev1.Pod {
			pods := backupPods(ctx)
			if len(pods) > 0 {
				victim = pods[0]
			}
			return pods
		}).Should(HaveLen(1))
		Expect(client.IgnoreNotFound(kube.Client.Delete(ctx, &victim))).To(Succeed())
		backup.Await(ctx, v1alpha1.BackupVerified)
	})
})

var _ = Describe("A backup that cannot start", Label("backup"), func() {
	var cluster *world.Cluster
	ownNamespace()
	BeforeEach(func(ctx context.Context) {
		cluster = story.Create(ctx, "saved", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
	})

	It("says which Secret is missing, and goes on when it is there", perStory, func(ctx context.Context) {
		backup := story.Backup(ctx, "nowhere", cluster.Name, v1alpha1.BackupStore{S3: &v1alpha1.S3Store{
			Bucket: "etcd-backups", Endpoint: "http://127.0.0.1:1", CredentialsSecretRef: &v1alpha1.StoreSecretReference{Name: "absent"},
		}})
		Eventually(ctx, func() string { return backup.Says(ctx) }).WithTimeout(saidWithin).Should(SatisfyAll(
			HavePrefix("MountFailed: Secret absent is missing. Create it in this namespace with the keys access-key-id"),
			ContainSubstring("goes on by itself")))
		Expect(kube.Client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: "absent"},
			StringData: map[string]string{"access-key-id": "nobody", "secret-access-key": "no-secret-of-anybody"},
		})).To(Succeed())
		status := backup.Await(ctx, v1alpha1.BackupFailed) // nobody serves there
		Expect(status.Conditions).NotTo(BeEmpty())
		Expect(backup.Says(ctx)).To(HavePrefix("StoreUnreachable: "))
		Expect(backup.Says(ctx)).NotTo(ContainSubstring("no-secret-of-anybody"))
	})

	It("says which claim is missing", perStory, func(ctx context.Context) {
		backup := story.Backup(ctx, "nowhere", cluster.Name, world.ToVolume("absent"))
		Eventually(ctx, func() string { return backup.Says(ctx) }).WithTimeout(saidWithin).Should(SatisfyAll(
			HavePrefix("Unschedulable: "), ContainSubstring(`persistentvolumeclaim "absent" not found`)))
	})

	It("says that the cluster is missing, and has failed past its deadline", perStory, func(ctx context.Context) {
		backup := story.Backup(ctx, "nobody", "nobody", world.ToVolume("absent"), func(s *v1alpha1.EtcdBackupSpec) {
			s.Deadline = &metav1.Duration{Duration: time.Minute}
		})
		Eventually(ctx, func() string { return backup.Says(ctx) }).WithTimeout(saidWithin).Should(HavePrefix("ClusterNotFound: EtcdCluster nobody does not exist"))
		backup.Await(ctx, v1alpha1.BackupFailed)
		Expect(backup.Says(ctx)).To(HavePrefix("DeadlineExceeded: "))
	})

	It("says that a quota refuses its Pod, and goes on when the quota is gone", perStory, func(ctx context.Context) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: "few"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		}
		Expect(kube.Client.Create(ctx, quota)).To(Succeed())
		Eventually(ctx, func(g Gomega) { // a quota counts once its controller has looked
			g.Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Used).NotTo(BeEmpty())
		}).Should(Succeed())
		story.Claim(ctx, "backups")
		backup := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups"))
		Eventually(ctx, func() string { return backup.Says(ctx) }).WithTimeout(saidWithin).Should(SatisfyAll(
			HavePrefix("QuotaExceeded: "), ContainSubstring("exceeded quota: few")))
		Expect(kube.Client.Delete(ctx, quota)).To(Succeed())
		backup.Await(ctx, v1alpha1.BackupVerified)
	})

	It("has failed when its Job is deleted, and never runs again", perStory, func(ctx context.Context) {
		backup := story.Backup(ctx, "nowhere", cluster.Name, world.ToVolume("absent"))
		Eventually(ctx, func() string { return backup.Says(ctx) }).WithTimeout(saidWithin).Should(HavePrefix("Unschedulable: "))
		for _, job := range backupJobs(ctx) {
			deleteJob(ctx, job.Name)
		}
		backup.Await(ctx, v1alpha1.BackupFailed)
		Expect(backup.Says(ctx)).To(HavePrefix("JobDeleted: "))
		Consistently(ctx, func() []batchv1.Job { return backupJobs(ctx) }).WithTimeout(5 * time.Second).Should(BeEmpty())
	})
})

func backupJobs(ctx context.Context) []batchv1.Job {
	GinkgoHelper()
	var list batchv1.JobList
	Expect(kube.Client.List(ctx, &list, client.InNamespace(story.Namespace))).To(Succeed())
	return list.Items
}

func backupPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(kube.Client.List(ctx, &list, client.InNamespace(story.Namespace),
		client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentBackup})).To(Succeed())
	return list.Items
}

// deleteJob deletes a Job with its Pods, and waits until it is gone.
func deleteJob(ctx context.Context, name string) {
	GinkgoHelper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: story.Namespace, Name: name}}
	Expect(kube.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	Eventually(ctx, func() error { return kube.Client.Get(ctx, client.ObjectKeyFromObject(job), job) }).ShouldNot(Succeed())
}
