package e2e

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A change of minor version", Label("versions"), func() {
	ownNamespace()

	It("goes from an old patch of 3.5 to 3.6 in one edit, by way of a patch that may be left", Label("core"), first, perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "raised", 3, world.Version("3.5.21"))
			cluster.AwaitReady(ctx, 3)
			ids, data, id := cluster.Identities(ctx), volumes(ctx, cluster), cluster.ClusterID
			traffic, serving := cluster.Write(ctx), followServing(ctx, cluster)
			traffic.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
				cluster.AwaitReady(ctx, 3)
			})
			expectOneAtATime(cluster, serving(), 6) // one restart each for each stop
			expectVersion(ctx, cluster, "3.6.16")
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			Expect(volumes(ctx, cluster)).To(Equal(data))
			Expect(cluster.ClusterID).To(Equal(id))
			expectClusterVersion(ctx, cluster, "3.6.0")
			Expect(traffic.Finish(ctx).Failed).To(BeZero())
			cluster.AwaitEqualHashes(ctx)
		})

	It("is taken back midway by putting spec.version back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "turned", 3, world.Version("3.5.35"))
		cluster.AwaitReady(ctx, 3)
		ids := cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
			Eventually(func() []string { return cluster.History.Restarted() }).Should(HaveLen(1))
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
			cluster.AwaitReady(ctx, 3)
		})
		expectVersion(ctx, cluster, "3.5.35")
		expectClusterVersion(ctx, cluster, "3.5.0")
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		cluster.AwaitEqualHashes(ctx)
	})

	It("is turned round once the downgrade is enabled", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "regretted", 3, world.Version("3.6.16"))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
		downgradeEnabled("3.5.0")(ctx, cluster)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
		cluster.AwaitReady(ctx, 3)
		expectClusterVersion(ctx, cluster, "3.6.0")
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		expectSame(ctx, cluster, was)
	})

	It("begins nothing while a schedule has not made the backups that it promises", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "unsaved", 3, world.Version("3.5.35"))
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			schedule := story.EachMinute(ctx, "rare", cluster.Name, world.ToVolume("nowhere"),
				func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Schedule = "0 0 29 2 *" })
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
			cluster.AwaitStalled(ctx, facts.ReasonMinorHeld)
			expectUntouched(ctx, cluster, was)
			schedule.Change(ctx, func(s *v1alpha1.EtcdBackupScheduleSpec) { s.Suspend = new(true) })
			cluster.AwaitReady(ctx, 3)
			expectVersion(ctx, cluster, "3.6.16")
			expectSame(ctx, cluster, was)
		})

	It("begins nothing while a version on the way has no digest and another one has", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "unpinned", 1, world.Version("3.5.35"))
			cluster.AwaitReady(ctx, 1)
			was := identityOf(ctx, cluster)
			digests := map[string]v1alpha1.Digest{"3.7.3": v1alpha1.Digest("sha256:" + strings.Repeat("0", 64))}
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Version, s.Image = "3.7.3", &v1alpha1.ImageSpec{Digests: digests}
			})
			cluster.AwaitStalled(ctx, facts.ReasonMinorHeld)
			Expect(nextStep(ctx, cluster)).To(ContainSubstring("no digest for etcd 3.6.16"))
			expectUntouched(ctx, cluster, was)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version, s.Image = "3.6.16", nil })
			cluster.AwaitReady(ctx, 1)
			expectVersion(ctx, cluster, "3.6.16")
			expectSame(ctx, cluster, was)
		})

	It("to which this release takes no step changes nothing, and says so", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "refused", 3, world.Version("3.6.16"), world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
		cluster.AwaitStalled(ctx, facts.ReasonNotSupported)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
		cluster.AwaitReady(ctx, 3)
		expectUntouched(ctx, cluster, was)
	})
})

const lossOnTheWay = "A member that loses its data on the way to another minor version"

var _ = Describe(lossOnTheWay, Label("versions", "data"), func() {
	ownNamespace()

	It("up is replaced by one of the lower minor, and all arrive", perStory, func(ctx context.Context) {
		loseOnTheWay(ctx, "3.7.3", logBeingCovered)
	})
	It("down is replaced once the downgrade is cancelled, and all arrive", perStory, func(ctx context.Context) {
		loseOnTheWay(ctx, "3.5.35", downgradeEnabled("3.5.0"))
	})
})

// loseOnTheWay takes the volume of a member of 3.6 at a moment on the way to another version.
func loseOnTheWay(ctx context.Context, to string, await func(context.Context, *world.Cluster)) {
	GinkgoHelper()
	cluster := story.Create(ctx, "bereft", 3, world.Version("3.6.16"))
	cluster.AwaitReady(ctx, 3)
	before, victim := cluster.Identities(ctx), follower(ctx, cluster)
	traffic := cluster.Write(ctx)
	traffic.During(ctx, func() {
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = to })
		await(ctx, cluster)
		loseVolume(ctx, cluster, victim)
		cluster.AwaitReady(ctx, 3)
	})
	expectReplaced(ctx, cluster, before, victim)
	expectVersion(ctx, cluster, to)
	Expect(traffic.Finish(ctx).Failed).To(BeZero())
	cluster.AwaitEqualHashes(ctx)
}

// awaitReason waits until some next step had one of these reasons, be it for a moment. The status tells a few steps of
// many that follow each other within a second.
func awaitReason(ctx context.Context, cluster *world.Cluster, reasons ...string) {
	GinkgoHelper()
	isAwaited := func(s world.Step) bool { return slices.Contains(reasons, s.Reason) }
	Eventually(ctx, func() bool {
		return slices.ContainsFunc(cluster.History.Steps(), isAwaited)
	}).WithPolling(50*time.Millisecond).Should(BeTrue(), "no step was %s:\n%s", reasons, cluster.History)
}

const killedOnTheWay = "An operator that is killed at each rule of a change of minor version"

var _ = Describe(killedOnTheWay, Label("versions", "operator"), func() {
	ownOperator()

	It("goes on from there, up to 3.7 and back to 3.5", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "resumed", 3, world.Version("3.5.35"))
		cluster.AwaitReady(ctx, 3)
		ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
		traffic := cluster.Write(ctx)
		goAndBeKilled(ctx, cluster, "3.7.3", "cover-log")
		goAndBeKilled(ctx, cluster, "3.5.35", "enable-downgrade")
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, cluster)).To(Equal(data))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		cluster.AwaitEqualHashes(ctx)
	})
})

// goAndBeKilled changes the version, kills the operator at each rule, and expects this one among them.
func goAndBeKilled(ctx context.Context, cluster *world.Cluster, version, rule string) {
	GinkgoHelper()
	stop := operator.KillAtEachRule(cluster)
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = version })
	cluster.AwaitReady(ctx, 3)
	Expect(killedAt(stop)).To(ContainElements("roll", rule))
	expectVersion(ctx, cluster, version)
}

// expectClusterVersion asks each member for the version that all agreed on.
func expectClusterVersion(ctx context.Context, c *world.Cluster, want string) {
	GinkgoHelper()
	for _, pod := range listPods(ctx, c) {
		member, err := c.Dial(ctx, &pod)
		Expect(err).NotTo(HaveOccurred())
		said, err := member.ClusterVersion(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(said).To(Equal(want), pod.Name)
	}
}
