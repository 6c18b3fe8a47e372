package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// expectOtherData waits until the evidence says of a member that runs that the data of another cluster lies on its
// volume.
func expectOtherData(ctx context.Context, cluster *world.Cluster, member, otherID string) v1alpha1.EvidenceStatus {
	GinkgoHelper()
	cluster.AwaitStalled(ctx, facts.ReasonMembersDisagree)
	var evidence v1alpha1.EvidenceStatus
	Eventually(ctx, func(g Gomega) {
		evidence = cluster.Evidence(ctx)
		g.Expect(evidence.Quorum).To(Equal(string(plan.QuorumLost)))
		g.Expect(evidence.Message).To(ContainSubstring("%s (its directory holds the data of cluster %s)", member,
			otherID))
		g.Expect(evidence.Message).To(ContainSubstring("source.survivor can name no member"))
	}).Should(Succeed())
	Eventually(ctx, func() []string { return readyAddresses(ctx, cluster.Name) }).Should(BeEmpty(),
		"clients are led to it")
	return evidence
}

// expectSurvivorRefused says that an EtcdRestore of a survivor is refused with these words although it quotes the
// evidence, and is gone without a trace.
func expectSurvivorRefused(ctx context.Context, cluster *world.Cluster, member, reason string, says ...string) {
	GinkgoHelper()
	before := volumes(ctx, cluster)
	misled := cluster.RestoreTo(ctx, "misled-"+member, fromSurvivor(member))
	misled.Approve(ctx)
	status := misled.Await(ctx, v1alpha1.RestoreFailed, metav1.ConditionTrue, reason)
	for _, text := range append(says, member) {
		Expect(fmt.Sprint(status.Conditions)).To(ContainSubstring(text))
	}
	Expect(volumes(ctx, cluster)).To(HaveKeyWithValue(cluster.Member(0), before[cluster.Member(0)]))
	Expect(kube.Client.Delete(ctx, &v1alpha1.EtcdRestore{ObjectMeta: meta(cluster.Namespace, misled.Name)})).To(
		Succeed())
	Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(Equal(before),
		"what was restored of it is still there")
}

// filled is a cluster of three that holds what is to be kept, on every member.
func filled(ctx context.Context, options ...world.Option) *world.Cluster {
	GinkgoHelper()
	cluster := story.Create(ctx, "demo", 3, options...)
	cluster.AwaitReady(ctx, 3)
	cluster.Fill(ctx, "kept", savedKeys)
	cluster.AwaitEqualHashes(ctx)
	return cluster
}

// rebuild begins anew with what a member holds, and says that all of it is there.
func rebuild(ctx context.Context, cluster *world.Cluster, survivor string) {
	GinkgoHelper()
	restore := cluster.RestoreTo(ctx, "rebuilt", fromSurvivor(survivor))
	restore.Approve(ctx)
	restore.Complete(ctx)
	cluster.AwaitReady(ctx, 3)
	Expect(cluster.Filled(ctx, "kept")).To(Equal(savedKeys))
	cluster.Write(ctx).Finish(ctx)
}

var _ = Describe("A survivor that misleads", Label("restore", "data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("because it serves the data of another cluster, is named and refused, and is one again with its own data",
		perStory, func(ctx context.Context) {
			cluster, other := filled(ctx), story.Create(ctx, "other", 1)
			other.AwaitReady(ctx, 1)
			survivor, lost := cluster.Member(0), []string{cluster.Member(1), cluster.Member(2)}
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost, "source.survivor "+survivor)
			own := cluster.TakeData(ctx, survivor)
			cluster.PutData(ctx, survivor, other.TakeData(ctx, other.Member(0)))
			expectOtherData(ctx, cluster, survivor, other.ClusterID.String())
			before := asItIs(ctx, cluster)
			expectSurvivorRefused(ctx, cluster, survivor, facts.ReasonRestoreHeld, "holds the data of cluster "+
				other.ClusterID.String())
			before.expectUntouched(ctx, cluster)

			cluster.PutData(ctx, survivor, own)
			expectLost(ctx, cluster, lost, "one that stopped answering ("+survivor)
			rebuild(ctx, cluster, survivor)
		})

	It("because what lies on its volume is of another cluster, and says nothing, is refused when that is read",
		perStory, func(ctx context.Context) {
			cluster, other := filled(ctx), story.Create(ctx, "other", 3)
			other.AwaitReady(ctx, 3)
			survivor, lost := cluster.Member(0), []string{cluster.Member(1), cluster.Member(2)}
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost, "source.survivor "+survivor)
			own := cluster.TakeData(ctx, survivor)
			cluster.PutData(ctx, survivor, other.TakeData(ctx, follower(ctx, other)))
			expectLost(ctx, cluster, lost, "one that stopped answering ("+survivor)
			expectSurvivorRefused(ctx, cluster, survivor, facts.ReasonRestoreFailed,
				"holds data of another cluster, or of another incarnation of this one")

			cluster.PutData(ctx, survivor, own)
			expectLost(ctx, cluster, lost, "one that stopped answering ("+survivor)
			rebuild(ctx, cluster, survivor)
		})

	It("because its volume holds what a restore in place ended, is named and refused, and the backup comes back",
		perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			inVolume(ctx, cluster)
			ended, old := cluster.ClusterID.String(), cluster.TakeData(ctx, cluster.Member(0))
			restore := cluster.RestoreTo(ctx, "back", toBackup())
			restore.Approve(ctx)
			restore.Complete(ctx)
			cluster.AwaitReady(ctx, 1)
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "later", lostKeys)

			survivor, lost := cluster.Member(1), []string{cluster.Member(2), cluster.Member(3)}
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost, "source.survivor "+survivor)
			cluster.PutData(ctx, survivor, old)
			evidence := expectOtherData(ctx, cluster, survivor, ended)
			Expect(evidence.Message).To(ContainSubstring("it is of a former incarnation of the cluster"))
			expectSurvivorRefused(ctx, cluster, survivor, facts.ReasonRestoreHeld, "holds the data of cluster "+ended)
			// the ended incarnation's own member
			expectSurvivorRefused(ctx, cluster, cluster.Member(0), facts.ReasonRestoreHeld, "nothing says")

			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size = 1 }) // one Pod at a time can mount the claim
			again := cluster.RestoreTo(ctx, "again", toBackup())
			again.Approve(ctx)
			again.Complete(ctx)
			cluster.AwaitReady(ctx, 1)
			Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
			Expect([]int{cluster.Filled(ctx, "lost"), cluster.Filled(ctx, "later")}).To(Equal([]int{0, 0}))
			cluster.Write(ctx).Finish(ctx)
		})
})

var _ = Describe("A survivor of a cluster that grew", Label("restore", "data"), func() {
	ownNamespace()

	It("is rebuilt from although it was restarted, by the certificates of the others", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "kept", savedKeys)
			cluster.AwaitEqualHashes(ctx)
			survivor, lost := cluster.Member(0), []string{cluster.Member(1), cluster.Member(2)}
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost, "source.survivor "+survivor)
			deletePod(ctx, cluster, survivor)
			// the last that joined may never have had a vote
			expectLost(ctx, cluster, lost[:1], "one that stopped answering ("+survivor)
			rebuild(ctx, cluster, survivor)
		})
})

var _ = Describe("An alarm that comes back with the data", Label("restore", "data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	withRoom := func(s *v1alpha1.EtcdClusterSpec) { s.Etcd.QuotaBackendBytes = quantity("64Mi") }
	// cured says that the alarm is taken back.
	cured := func(ctx context.Context, cluster *world.Cluster, voters int) {
		GinkgoHelper()
		expectSaid(ctx, cluster, "alarms", "every member has room again")
		cluster.AwaitReady(ctx, voters)
		Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
		cluster.Write(ctx).Finish(ctx)
	}

	It("of a backup is taken back at once, since nothing begins with it before there is room", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 1, world.Quota("16Mi"), keepingHistory)
		cluster.AwaitReady(ctx, 1)
		cluster.Fill(ctx, "saved", savedKeys)
		cluster.FillUp(ctx)
		cluster.AwaitStalled(ctx, facts.ReasonAlarm)
		story.Claim(ctx, "backups")
		story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
		loseVolumes(ctx, cluster, cluster.Member(0))
		expectLost(ctx, cluster, []string{cluster.Member(0)}, "the EtcdBackup first")
		restore := cluster.RestoreTo(ctx, "back", toBackup())
		before := volumes(ctx, cluster)
		restore.Approve(ctx)
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(world.Patience).Should(
			ContainSubstring("quotaBackendBytes is 16Mi. The backup has"))
		restore.Await(ctx, v1alpha1.RestoreFailed, metav1.ConditionTrue, facts.ReasonUnusable)
		Expect(volumes(ctx, cluster)).To(Equal(before))
		cluster.Change(ctx, withRoom)
		restore.Complete(ctx)
		cured(ctx, cluster, 1)
	})

	It("of a survivor is shown, and taken back once there is room, before the cluster grows back", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 3, world.Quota("16Mi"), keepingHistory)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "saved", savedKeys)
			cluster.FillUpWithKeys(ctx, "demo") // a restore leaves history behind
			cluster.AwaitStalled(ctx, facts.ReasonAlarm)
			cluster.AwaitEqualHashes(ctx)
			survivor, lost := cluster.Member(0), []string{cluster.Member(1), cluster.Member(2)}
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost, "source.survivor "+survivor)
			restore := cluster.RestoreTo(ctx, "rebuilt", fromSurvivor(survivor))
			restore.Approve(ctx)
			restore.Complete(ctx)
			cluster.AwaitStalled(ctx, facts.ReasonAlarm)
			expectSaid(ctx, cluster, "alarms", "of the cluster that the backup was taken from")
			cluster.Change(ctx, withRoom)
			cured(ctx, cluster, 3)
		})
})

var _ = Describe("A cluster of three without TLS", Label("restore", "data", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is restored in place, and clients come back by themselves", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 3, withoutTLS)
		cluster.AwaitReady(ctx, 3)
		goesBack(ctx, cluster)
	})

	It(
		"that lost two volumes says in numbers what is lost; once its survivor is restarted nothing proves that loss, and the backup is taken", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 3, withoutTLS)
			cluster.AwaitReady(ctx, 3)
			save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
			cluster.AwaitEqualHashes(ctx)
			survivor, lost := cluster.Member(0), []string{cluster.Member(1), cluster.Member(2)}
			loseVolumes(ctx, cluster, lost...)
			evidence := expectLost(ctx, cluster, lost, "source.survivor "+survivor, "the EtcdBackup first")
			Expect(evidence.Revision - evidence.Backup.Revision).To(BeEquivalentTo(lostKeys))
			deletePod(ctx, cluster, survivor)
			cluster.AwaitStep(ctx, facts.ReasonMembershipUnknown)

			misled := cluster.RestoreTo(ctx, "misled", fromSurvivor(survivor))
			Eventually(ctx, func(g Gomega) {
				evidence = cluster.Evidence(ctx)
				g.Expect(evidence.Quorum).To(Equal(string(plan.QuorumUnknown)))
				g.Expect(evidence.Message).To(ContainSubstring("The first members " + lost[0] + ", " + lost[1] +
					" have no volume"))
			}).Should(Succeed())
			before := volumes(ctx, cluster)
			misled.Approve(ctx)
			status := misled.Await(ctx, v1alpha1.RestoreFailed, metav1.ConditionTrue, facts.ReasonRestoreHeld)
			Expect(fmt.Sprint(status.Conditions)).To(ContainSubstring("not certainly lost"))
			Consistently(ctx, func() any { return volumes(ctx, cluster) }).WithTimeout(watching).Should(Equal(before))
			Expect(kube.Client.Delete(ctx, &v1alpha1.EtcdRestore{ObjectMeta: meta(cluster.Namespace, misled.Name)})).To(
				Succeed())

			restore := cluster.RestoreTo(ctx, "back", toBackup())
			restore.Approve(ctx)
			restore.Complete(ctx)
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
			Expect(cluster.Filled(ctx, "lost")).To(BeZero())
			cluster.Write(ctx).Finish(ctx)
		})
})

// keepingHistory is a cluster that asks for a person as soon as it is full, since no history may be compacted.
func keepingHistory(c *v1alpha1.EtcdCluster) {
	c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{CompactOnNoSpace: new(false)}
}
