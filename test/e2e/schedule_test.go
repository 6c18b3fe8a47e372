package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

const (
	// severalRuns is time enough for a few runs of a schedule of each minute, with all that is done after each.
	severalRuns = 6 * time.Minute
	// oneRun is time enough for the next.
	oneRun = 3 * time.Minute
)

var _ = Describe("A schedule with a retention and test restores", Label("backup", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("keeps what its rules say, removes nothing of anybody else's, and proves the newest", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		server := kube.S3Server(s3server.Versitygw)
		store := story.ToS3(ctx, server.Access)
		byHand := story.Backup(ctx, "by-hand", cluster.Name, store).Await(ctx, v1alpha1.BackupVerified)
		other := story.EachMinute(ctx, "other", cluster.Name, store)
		Eventually(ctx, func() []string { return other.Complete(ctx) }).WithTimeout(oneRun).ShouldNot(BeEmpty())
		other.Change(ctx, func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Suspend = new(true) })
		schedule := story.EachMinute(ctx, "minutely", cluster.Name, store, func(s *v1alpha1.EtcdBackupScheduleSpec) {
			s.Retention = &v1alpha1.BackupRetention{KeepLast: new(int32(2))}
			s.TestRestore = &v1alpha1.TestRestore{Schedule: "* * * * *"}
		})
		made := map[string]bool{}
		Eventually(ctx, func(g Gomega) {
			for _, key := range schedule.Complete(ctx) {
				made[key] = true
			}
			status, err := schedule.Status(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(made)).To(BeNumerically(">=", 4))
			g.Expect(schedule.Check(ctx, v1alpha1.ScheduleRetained, "True Applied")).To(Succeed())
			g.Expect(schedule.Check(ctx, v1alpha1.ScheduleProven, "True Restored")).To(Succeed())
			g.Expect(status.KeptBackups).To(HaveValue(BeEquivalentTo(2)))
			g.Expect(schedule.Complete(ctx)).To(HaveLen(2))
			g.Expect(status.LastProven).NotTo(BeNil())
		}).WithTimeout(severalRuns).Should(Succeed())
		left := objects(ctx, server)
		for _, key := range append(other.Complete(ctx), byHand.Key) {
			Expect(left).To(ContainElements(key, strings.TrimSuffix(key, "snapshot.db")+"manifest.json"), "retention removed what is not its own")
		}
		mine := 0
		for _, key := range left {
			if made[key] {
				mine++
			}
		}
		Expect(mine).To(BeNumerically("<=", 3), "two are kept, and another may have just been made")
		traffic.Finish(ctx)
	})

	It("keeps what an EtcdRestore names that is not approved, for as long as there is one", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		schedule := story.EachMinute(ctx, "minutely", cluster.Name, world.ToVolume("backups"), func(s *v1alpha1.EtcdBackupScheduleSpec) {
			s.Retention = &v1alpha1.BackupRetention{KeepLast: new(int32(1))}
		})
		var first string
		Eventually(ctx, func(g Gomega) {
			complete := schedule.Complete(ctx)
			g.Expect(complete).NotTo(BeEmpty())
			first = complete[0]
		}).WithTimeout(oneRun).Should(Succeed())
		wanted := schedule.Backups(ctx)[0].Name
		restore := cluster.RestoreTo(ctx, "one-day", v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: wanted}})
		made := map[string]bool{}
		Eventually(ctx, func(g Gomega) {
			for _, key := range schedule.Complete(ctx) {
				made[key] = true
			}
			status, err := schedule.Status(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(made)).To(BeNumerically(">=", 3))
			g.Expect(schedule.Check(ctx, v1alpha1.ScheduleRetained, "True Applied")).To(Succeed())
			g.Expect(status.KeptBackups).To(HaveValue(BeEquivalentTo(2)))
			g.Expect(status.OldestRestorable).To(HaveField("Key", first))
			g.Expect(schedule.Complete(ctx)).To(HaveLen(2))
		}).WithTimeout(severalRuns).Should(Succeed())
		Expect(kube.Client.Delete(ctx, &v1alpha1.EtcdRestore{ObjectMeta: meta(restore.Namespace, restore.Name)})).To(Succeed())
		Eventually(ctx, func() []string { return schedule.Complete(ctx) }).WithTimeout(oneRun).ShouldNot(ContainElement(first), "nobody wants it any more")
	})
})

var _ = Describe("A schedule whose operator was away", Label("backup", "operator"), func() {
	ownOperator()

	It("makes the newest of the runs that it missed, once, and says so", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		schedule := story.EachMinute(ctx, "minutely", cluster.Name, world.ToVolume("backups"))
		Eventually(ctx, func() []string { return schedule.Complete(ctx) }).WithTimeout(oneRun).ShouldNot(BeEmpty())
		operator.Kill()
		before := schedule.Backups(ctx)
		Consistently(ctx, func() int { return len(schedule.Backups(ctx)) }).WithTimeout(130*time.Second).WithPolling(5*time.Second).
			Should(Equal(len(before)), "nobody is there to make any")
		operator.Start()
		var made []v1alpha1.EtcdBackup
		Eventually(ctx, func() []v1alpha1.EtcdBackup {
			made = schedule.Backups(ctx)[len(before):]
			return made
		}).ShouldNot(BeEmpty())
		Expect(made[0].CreationTimestamp.Sub(timeIn(made[0].Name))).To(BeNumerically("<", time.Minute+10*time.Second), "it is the newest that was due")
		Expect(made[0].CreationTimestamp.Sub(before[len(before)-1].CreationTimestamp.Time)).To(BeNumerically(">", 2*time.Minute))
		Eventually(ctx, func() []string { return reasons(ctx, schedule.Name) }).Should(ContainElement("RunsMissed"))
		Eventually(ctx, func() []string { return schedule.Complete(ctx) }).WithTimeout(oneRun).Should(ContainElement(Not(BeElementOf(keysOf(before)))))
	})
})

var _ = Describe("A schedule of a degraded cluster", Label("backup"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("goes on making backups, which are verified", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 3)
		cluster.AwaitReady(ctx, 3)
		story.Claim(ctx, "backups")
		traffic := cluster.Write(ctx)
		frozen := cluster.Member(2)
		cluster.Freeze(ctx, frozen)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionDegraded, "True", "MembersUnhealthy")
		schedule := story.EachMinute(ctx, "minutely", cluster.Name, world.ToVolume("backups"))
		Eventually(ctx, func() []string { return schedule.Complete(ctx) }).WithTimeout(oneRun).ShouldNot(BeEmpty())
		Expect(schedule.Check(ctx, v1alpha1.ScheduleBackedUp, "True LastRunComplete")).To(Succeed())
		cluster.Thaw(ctx, frozen)
		cluster.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A schedule that is suspended", Label("backup"), func() {
	ownNamespace()

	It("begins nothing, and makes up for the newest run when it goes on", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 1)
		cluster.AwaitReady(ctx, 1)
		story.Claim(ctx, "backups")
		schedule := story.EachMinute(ctx, "minutely", cluster.Name, world.ToVolume("backups"), func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Suspend = new(true) })
		Eventually(ctx, func() error { return schedule.Check(ctx, v1alpha1.ScheduleReady, "False Suspended") }).Should(Succeed())
		Consistently(ctx, func() []v1alpha1.EtcdBackup { return schedule.Backups(ctx) }).WithTimeout(70 * time.Second).WithPolling(5 * time.Second).Should(BeEmpty())
		schedule.Change(ctx, func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Suspend = nil })
		Eventually(ctx, func() []v1alpha1.EtcdBackup { return schedule.Backups(ctx) }).WithTimeout(20*time.Second).ShouldNot(BeEmpty(), "the run of a minute ago is due")
		Eventually(ctx, func() []string { return schedule.Complete(ctx) }).WithTimeout(oneRun).ShouldNot(BeEmpty())
	})
})

// timeIn is the time in the name of a run.
func timeIn(run string) time.Time {
	GinkgoHelper()
	at, err := time.Parse("20060102-1504", run[len(run)-len("20060102-1504"):])
	Expect(err).NotTo(HaveOccurred())
	return at
}

func keysOf(backups []v1alpha1.EtcdBackup) []string {
	keys := []string{}
	for _, b := range backups {
		keys = append(keys, b.Status.Key)
	}
	return keys
}

// reasons are those of the events about an object of the story.
func reasons(ctx context.Context, name string) []string {
	GinkgoHelper()
	var list corev1.EventList
	Expect(kube.Client.List(ctx, &list, client.InNamespace(story.Namespace))).To(Succeed())
	var found []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name {
			found = append(found, event.Reason)
		}
	}
	return found
}
