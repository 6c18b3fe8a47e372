package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var _ = Describe("A backup of another minor version", Label("versions", "restore"), func() {
	ownNamespace()

	It("of 3.5.21, from a volume, begins a cluster of one for 3.7.3, which walks there", longWay,
		func(ctx context.Context) {
			story.Claim(ctx, "backups")
			walkFromBackup(ctx, 1, world.ToVolume("backups"))
		})

	It("that is newer than spec.version is refused, and begins when spec.version is put right", perStory,
		func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 1, world.Version("3.7.3"))
			saved.AwaitReady(ctx, 1)
			story.Claim(ctx, "backups")
			save(ctx, saved, world.ToVolume("backups"))
			again := story.Create(ctx, "again", 1, fromBackup("first"), world.Version("3.6.16"))
			again.AwaitStalled(ctx, facts.ReasonUnusable)
			Expect(nextStep(ctx, again)).To(ContainSubstring("3.7"), "it says which version would do")
			Expect(again.Pods(ctx)).To(BeEmpty())
			again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.7.3" })
			arrive(ctx, again, 1, "3.7.3")
			Expect(again.History.Restarted()).To(BeEmpty(), "it was born with 3.7.3:\n%s", again.History)
			holdsBackup(ctx, again, saved)
			Expect(again.Write(ctx).Finish(ctx).Failed).To(BeZero())
		})

	It("that was taken while a downgrade was enabled begins a cluster of 3.6, where the downgrade is cancelled",
		longWay, func(ctx context.Context) {
			saved := story.Create(ctx, "saved", 3, world.Version("3.6.16"))
			saved.AwaitReady(ctx, 3)
			release := holdAtDowngrade(ctx, saved)
			story.Claim(ctx, "backups")
			status := save(ctx, saved, world.ToVolume("backups"))
			Expect(status.EtcdVersion).To(Equal("3.6.16"))
			expectHeldAtDowngrade(ctx, saved)

			again := story.Create(ctx, "again", 1, fromBackup("first"), world.Version("3.6.16"))
			arrive(ctx, again, 1, "3.6.16")
			expectNoDowngrade(ctx, again)
			holdsBackup(ctx, again, saved)
			again.Resize(ctx, 3) // etcd lets no member join while a downgrade is enabled
			arrive(ctx, again, 3, "3.6.16")
			Expect(again.Write(ctx).Finish(ctx).Failed).To(BeZero())

			release(ctx)
			arrive(ctx, saved, 3, "3.5.35")
			Expect(saved.Filled(ctx, "lost")).To(Equal(lostKeys))
		})
})

var _ = Describe("A backup of another minor version in S3", Label("versions", "restore", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("of 3.5.21 begins a cluster of three for 3.7.3, which walks there", longWay, func(ctx context.Context) {
		walkFromBackup(ctx, 3, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
	})
})

// walkFromBackup begins a cluster for 3.7.3 with a backup of 3.5.21. It is bootstrapped with a patch of 3.5 that may be
// left.
func walkFromBackup(ctx context.Context, size int, store v1alpha1.BackupStore) {
	GinkgoHelper()
	saved := story.Create(ctx, "saved", 1, world.Version("3.5.21"))
	saved.AwaitReady(ctx, 1)
	save(ctx, saved, store)
	again := story.Create(ctx, "again", int32(size), fromBackup("first"), world.Version("3.7.3"))
	Eventually(ctx, func() string { return imageOf(ctx, again, again.Member(0)) }).
		WithPolling(50*time.Millisecond).Should(HaveSuffix(":v3.5.35"), "the first Pod's image")
	arrive(ctx, again, size, "3.7.3")
	Expect(again.History.Restarted()).To(HaveLen(2*size), "once each for 3.6 and 3.7:\n%s", again.History)
	holdsBackup(ctx, again, saved)
	object, err := again.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(object.Status.RestoredFrom).To(HaveField("EtcdVersion", "3.5.21"))
	Expect(object.Status.UpgradePath).To(BeEmpty())
	Expect(again.Write(ctx).Finish(ctx).Failed).To(BeZero())
}

// imageOf is the image of a member's Pod; "" while there is none.
func imageOf(ctx context.Context, cluster *world.Cluster, member string) string {
	pod, err := cluster.Pod(ctx, member)
	if err != nil {
		return ""
	}
	return pod.Spec.Containers[0].Image
}

// holdAtDowngrade has a cluster of three go down from 3.6 to 3.5, and stops it where the downgrade is enabled and
// no member went there: a disruption budget that is not ours lets no member be evicted.
func holdAtDowngrade(ctx context.Context, cluster *world.Cluster) (release func(context.Context)) {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta(story.Namespace, "of-somebody-else"),
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelInstance: cluster.Name}}}}
	Expect(kube.Client.Create(ctx, budget)).To(Succeed())
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.5.35" })
	cluster.AwaitStep(ctx, "SeveralBudgets")
	expectHeldAtDowngrade(ctx, cluster)
	return func(ctx context.Context) {
		GinkgoHelper()
		Expect(kube.Client.Delete(ctx, budget)).To(Succeed())
	}
}

func expectHeldAtDowngrade(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	views := answering(ctx, cluster)
	Expect(versionsIn(views)).To(ConsistOf("3.6.16", "3.6.16", "3.6.16"))
	for _, view := range views {
		Expect(view.Status.Downgrade).To(Equal("3.5.0"), view.Pod)
	}
}

// midway is a cluster that loses its quorum between two versions, when members of both serve.
type midway struct{ from, to string }

// The last one goes down.
var midways = []midway{{"3.5.35", "3.6.16"}, {"3.6.16", "3.7.3"}, {"3.7.3", "3.6.16"}}

var _ = Describe("A quorum that is lost on the way to another minor version", Label("versions", "restore", "data"),
	func() {
		ownNamespace()

		for _, m := range midways {
			for _, survivor := range []string{m.from, m.to} {
				It(fmt.Sprintf("from %s to %s is rebuilt from the survivor of %s, and arrives", m.from, m.to, survivor),
					longWay, func(ctx context.Context) { m.rebuildFrom(ctx, survivor) })
			}
		}
	})

// rebuildFrom keeps one member of this version and rebuilds the cluster from it. spec.version is not edited.
func (m midway) rebuildFrom(ctx context.Context, version string) {
	GinkgoHelper()
	cluster := filled(ctx, world.Version(m.from))
	m.reach(ctx, cluster)
	cluster.Fill(ctx, "later", lostKeys)
	cluster.AwaitEqualHashes(ctx)
	survivor := loseAllButOne(ctx, cluster, version, func(name string) string { return "source.survivor " + name })
	before := cluster.ClusterID
	restore := cluster.RestoreTo(ctx, "rebuilt", fromSurvivor(survivor))
	restore.Approve(ctx)
	restore.Complete(ctx)
	arrive(ctx, cluster, 3, m.to)
	Expect(cluster.ClusterID).NotTo(Equal(before), "a restore makes another one")
	Expect(cluster.Filled(ctx, "kept")).To(Equal(savedKeys))
	Expect(cluster.Filled(ctx, "later")).To(Equal(lostKeys), "what was written midway")
	expectNoDowngrade(ctx, cluster)
	Expect(cluster.Write(ctx).Finish(ctx).Failed).To(BeZero())
}

// reach changes the version, and pauses the operator once the first member runs it. A second one may be on its way by
// then, or away.
func (m midway) reach(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	before := len(cluster.History.Restarted())
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = m.to })
	Eventually(ctx, func() []string { return cluster.History.Restarted()[before:] }).WithTimeout(longWait).
		Should(HaveLen(1), "decisions:\n%s", cluster.History)
	Eventually(ctx, func() []string { return versionsIn(answering(ctx, cluster)) }).
		Should(ContainElement(m.to), "decisions:\n%s", cluster.History)
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = true })
	cluster.AwaitStep(ctx, facts.ReasonPaused)
	cluster.AwaitEqualHashes(ctx) // the member that was just started serves
	Expect(versionsIn(answering(ctx, cluster))).To(ContainElements(m.from, m.to), "no longer midway:\n%s",
		cluster.History)
}

// loseAllButOne takes Pods and volumes away of all but one member of this version, and waits until the evidence says so
// and names that way back.
func loseAllButOne(ctx context.Context, cluster *world.Cluster, version string, way func(string) string) string {
	GinkgoHelper()
	views := answering(ctx, cluster)
	at := slices.IndexFunc(views, func(v world.View) bool { return v.Status.Version == version })
	Expect(at).To(BeNumerically(">=", 0), "no member runs %s:\n%s", version, cluster.History)
	survivor := views[at].Pod
	var lost []string
	for name := range cluster.Identities(ctx) {
		if name != survivor {
			lost = append(lost, name)
		}
	}
	Expect(lost).To(HaveLen(2))
	slices.Sort(lost)
	loseVolumes(ctx, cluster, lost...)
	expectLost(ctx, cluster, lost, way(survivor))
	return survivor
}

var _ = Describe("A quorum that is lost on the way to another minor version, with a backup in S3,",
	Label("versions", "restore", "s3", "data"), func() {
		BeforeEach(func() { kube.NeedLocalkube() })
		ownNamespace()

		for _, m := range midways {
			for _, wrote := range []string{m.from, m.to} {
				if wrote > m.to {
					continue // it is refused: see the story below
				}
				It(fmt.Sprintf("from %s to %s is rebuilt from the backup of %s, and arrives", m.from, m.to, wrote),
					longWay, func(ctx context.Context) {
						cluster := m.loseWithBackup(ctx, wrote)
						lost, restore := cluster.ClusterID, cluster.RestoreTo(ctx, "back", toBackup())
						restore.Approve(ctx)
						restore.Complete(ctx)
						arrive(ctx, cluster, 3, m.to)
						expectAsSaved(ctx, cluster, lost)
					})
			}
		}

		It("from 3.7.3 to 3.6.16 is not rebuilt from a backup of 3.7.3 before spec.version is put back", longWay,
			func(ctx context.Context) {
				m := midways[2]
				cluster := m.loseWithBackup(ctx, m.from)
				lost, restore := cluster.ClusterID, cluster.RestoreTo(ctx, "back", toBackup())
				restore.Approve(ctx)
				Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).
					Should(ContainSubstring("etcd "+m.from+" wrote it"), "it says what does not fit")
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = m.from })
				restore.Complete(ctx)
				arrive(ctx, cluster, 3, m.from)
				expectAsSaved(ctx, cluster, lost)
			})
	})

// loseWithBackup is a cluster that was saved while it ran this version, and lost its quorum midway later.
func (m midway) loseWithBackup(ctx context.Context, wrote string) *world.Cluster {
	GinkgoHelper()
	cluster := story.Create(ctx, "demo", 3, world.Version(wrote))
	cluster.AwaitReady(ctx, 3)
	save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
	if wrote != m.from {
		goTo(ctx, cluster, 3, m.from)
	}
	m.reach(ctx, cluster)
	loseAllButOne(ctx, cluster, m.from, func(string) string { return "the EtcdBackup first" })
	return cluster
}

// expectAsSaved expects what was saved and nothing that came later, in another etcd cluster than the one that was lost.
func expectAsSaved(ctx context.Context, cluster *world.Cluster, lost etcdutil.ID) {
	GinkgoHelper()
	Expect(cluster.ClusterID).NotTo(Equal(lost), "a restore makes another one")
	Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
	Expect(cluster.Filled(ctx, "lost")).To(BeZero())
	expectNoDowngrade(ctx, cluster)
	Expect(cluster.Write(ctx).Finish(ctx).Failed).To(BeZero())
}
