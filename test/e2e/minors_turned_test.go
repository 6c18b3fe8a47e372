package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// longWay bounds a story of more restarts than others have, as perStory does those. Each of its long waits may take
// longWait.
const (
	longWay  = NodeTimeout(20 * time.Minute)
	longWait = 2 * world.Patience
)

var _ = Describe("A way up to 3.7 and down to an old patch of 3.5, in one edit each", Label("versions"), func() {
	ownNamespace()

	It("keeps a cluster of three serving", longWay, func(ctx context.Context) { upAndDown(ctx, 3) })
	It("keeps a cluster of five serving", longWay, func(ctx context.Context) { upAndDown(ctx, 5) })
	It("keeps a cluster without TLS serving", longWay, func(ctx context.Context) { upAndDown(ctx, 3, withoutTLS) })

	for _, size := range []int{1, 3} {
		It("leads through a cluster to which nothing is written: "+members(int32(size)), longWay,
			func(ctx context.Context) {
				cluster := story.Create(ctx, fmt.Sprintf("quiet-both-ways-%d", size), int32(size),
					world.Version("3.5.21"))
				cluster.AwaitReady(ctx, size)
				was := identityOf(ctx, cluster)
				goUpAndDown(ctx, cluster, size, was)
				cluster.AwaitEqualHashes(ctx)
			})
	}

	It("loses nothing of a cluster of one, which does not serve while it is restarted", longWay,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "alone-both-ways", 1, world.Version("3.5.21"))
			cluster.AwaitReady(ctx, 1)
			was, traffic := identityOf(ctx, cluster), cluster.Write(ctx)
			goUpAndDown(ctx, cluster, 1, was)
			traffic.Flow(ctx)
			traffic.FinishAfterOutage(ctx)
		})
})

// upAndDown takes a cluster both ways while a client writes.
func upAndDown(ctx context.Context, size int, options ...world.Option) {
	GinkgoHelper()
	cluster := story.Create(ctx, "both-ways", int32(size), append(options, world.Version("3.5.21"))...)
	cluster.AwaitReady(ctx, size)
	was, traffic := identityOf(ctx, cluster), cluster.Write(ctx)
	traffic.During(ctx, func() { goUpAndDown(ctx, cluster, size, was) })
	Expect(traffic.Finish(ctx).Failed).To(BeZero())
	cluster.AwaitEqualHashes(ctx)
}

// goUpAndDown restarts each member once for each stop: 3.5.35, 3.6.16 and 3.7.3, then 3.6.16 and 3.5.21. The members
// stay who they are.
func goUpAndDown(ctx context.Context, cluster *world.Cluster, size int, was identity) {
	GinkgoHelper()
	goTo(ctx, cluster, size, "3.7.3")
	expectSame(ctx, cluster, was)
	Expect(cluster.History.Restarted()).To(HaveLen(3*size), "once for each stop:\n%s", cluster.History)
	goTo(ctx, cluster, size, "3.5.21")
	expectSame(ctx, cluster, was)
	Expect(cluster.History.Restarted()).To(HaveLen(5*size), "once for each stop:\n%s", cluster.History)
}

// goTo asks for a version and waits until the cluster is there.
func goTo(ctx context.Context, cluster *world.Cluster, size int, version string) {
	GinkgoHelper()
	By("to " + version)
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = version })
	arrive(ctx, cluster, size, version)
}

// arrive waits until all that was asked for is so, and expects every member and the cluster to be of this version. That
// it is the same etcd cluster as ever is part of being Ready.
func arrive(ctx context.Context, cluster *world.Cluster, size int, version string) {
	GinkgoHelper()
	Eventually(ctx, func() error { return cluster.CheckReady(ctx, size) }).WithTimeout(longWait).Should(Succeed())
	expectVersion(ctx, cluster, version)
	expectClusterVersion(ctx, cluster, minorOf(version))
	object, err := cluster.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(object.Status.ClusterID).To(Equal(cluster.ClusterID.String()))
}

// minorOf is what etcd says of a cluster, or of a downgrade, whose minor is that of this version.
func minorOf(version string) string {
	return strings.Join(strings.SplitN(version, ".", 3)[:2], ".") + ".0"
}

const unheardOnTheWay = "An only member that ran the next minor version, and that no client could connect to,"

var _ = Describe(unheardOnTheWay, Label("versions"), func() {
	ownNamespace()

	It("is too new for the spec put back, and goes on where that asks for it", longWay, func(ctx context.Context) {
		cluster := story.Create(ctx, "unheard", 1, world.Version("3.5.35"))
		cluster.AwaitReady(ctx, 1)
		before, traffic := specOf(ctx, cluster), cluster.Write(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Version, s.Etcd = "3.6.16", &v1alpha1.EtcdSpec{ExtraArgs: ciphersOfNoCertificate}
		})
		Eventually(ctx, func(g Gomega) { // alone, it raises the cluster version at once
			pod, err := cluster.Pod(ctx, "unheard-0")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pod.Spec.Containers[0].Image).To(HaveSuffix(":v3.6.16"))
			g.Expect(world.IsReady(pod)).To(BeTrue())
		}).WithTimeout(longWait).Should(Succeed())
		expectHeard(ctx, cluster, facts.ReasonMembershipUnknown)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
		Eventually(ctx, func() bool { return cluster.History.HasReason(facts.ReasonCrashing) }).WithTimeout(longWait).
			Should(BeTrue(), "decisions:\n%s", cluster.History)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
		arrive(ctx, cluster, 1, "3.6.16")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
		arrive(ctx, cluster, 1, "3.5.35")
		traffic.FinishAfterOutage(ctx)
	})
})

const quietOnTheWay = "A cluster to which nothing is written, before, on and after its way from 3.5 to 3.7"

var _ = Describe(quietOnTheWay, Label("versions", "growth"), func() {
	ownNamespace()

	// Covering the log leaves a snapshot at more than 5,000 entries, and a new member gets its data as one. etcd 3.7
	// does not serve with it before one more entry follows.
	It("that grew from 1 to 3 on 3.5 grows to 5 on 3.7", longWay, func(ctx context.Context) {
		growQuietly(ctx, 1, 3, 5)
	})
	It("that has one member grows to 3 on 3.7", longWay, func(ctx context.Context) { growQuietly(ctx, 1, 1, 3) })
})

// growQuietly changes the size from bootstrapped to before on 3.5.21, goes to 3.7.3, and changes the size to after.
func growQuietly(ctx context.Context, bootstrapped, before, after int) {
	GinkgoHelper()
	cluster := story.Create(ctx, "quiet", int32(bootstrapped), world.Version("3.5.21"))
	cluster.AwaitReady(ctx, bootstrapped)
	cluster.Resize(ctx, int32(before))
	cluster.AwaitReady(ctx, before)
	was := identityOf(ctx, cluster)
	goTo(ctx, cluster, before, "3.7.3")
	expectSame(ctx, cluster, was)
	cluster.Resize(ctx, int32(after))
	arrive(ctx, cluster, after, "3.7.3")
	expectWithin(was.ids, cluster.Identities(ctx))
	cluster.AwaitEqualHashes(ctx)
	Expect(cluster.Write(ctx).Finish(ctx).Failed).To(BeZero()) // only now
}

var _ = Describe("A cluster with ephemeral data", Label("versions"), func() {
	ownNamespace()

	for _, size := range []int{1, 3} {
		It("goes from an old patch of 3.5 to 3.7 in one edit, a successor joins before each member goes: "+
			members(int32(size)), longWay, func(ctx context.Context) {
			cluster := story.Create(ctx, fmt.Sprintf("fleeting-%d", size), int32(size), world.Version("3.5.21"),
				world.Ephemeral)
			cluster.AwaitReady(ctx, size)
			before, traffic := cluster.Identities(ctx), cluster.Write(ctx)
			traffic.During(ctx, func() { goTo(ctx, cluster, size, "3.7.3") })
			after := cluster.Identities(ctx)
			Expect(after).To(HaveLen(size))
			for name := range after {
				Expect(before).NotTo(HaveKey(name), "every member is a new one")
			}
			Expect(traffic.Finish(ctx).Failed).To(BeZero())
			cluster.AwaitEqualHashes(ctx)
		})
	}
})

// turn is a change of mind: from one version to another, and at a moment on that way to the next ones, one after the
// other.
type turn struct {
	moment   string
	from, to string
	await    func(context.Context, *world.Cluster)
	next     []string
}

var turns = []turn{
	{"once one member was restarted with a patch on the way", "3.5.21", "3.7.3", oneRestarted,
		[]string{"3.5.21", "3.6.16"}},
	{"once one member was restarted with 3.7", "3.6.16", "3.7.3", oneRestarted, []string{"3.6.16"}},
	// etcd looks every few seconds, so that the cluster version is mostly not moved yet.
	{"once all members answer with 3.6", "3.5.35", "3.6.16", allAnswerWith("3.6.16"), []string{"3.5.35"}},
	{"once etcd moved the cluster version to 3.6", "3.5.35", "3.7.3", logBeingCovered, []string{"3.5.35"}},
	{"while the log is covered, to a lower minor", "3.6.16", "3.7.3", logBeingCovered, []string{"3.5.35"}},
	// What 3.5 writes then has to be covered again.
	{"once the log is covered, to 3.5 and up again", "3.6.16", "3.7.3", logCovered, []string{"3.5.35", "3.7.3"}},
	{"once a downgrade from 3.7 is enabled", "3.7.3", "3.6.16", downgradeEnabled("3.6.0"), []string{"3.7.3"}},
	{"once one member went down from 3.7", "3.7.3", "3.6.16", oneRestarted, []string{"3.7.3"}},
	// 3.6 must not follow that patch: all go by way of another one.
	{"once one member went down to an old patch", "3.6.16", "3.5.21", oneRestarted, []string{"3.6.16"}},
	{"once all members went down from 3.7, and goes down further", "3.7.3", "3.6.16", settled, []string{"3.5.21"}},
}

var _ = Describe("A change of minor version that is asked for otherwise on the way", Label("versions"), func() {
	ownNamespace()

	for _, t := range turns {
		name := fmt.Sprintf("%s, from %s to %s, then %s", t.moment, t.from, t.to, strings.Join(t.next, " and "))
		It("comes to its end: "+name, longWay, func(ctx context.Context) { t.play(ctx) })
	}
})

func (t turn) play(ctx context.Context) {
	GinkgoHelper()
	cluster := story.Create(ctx, "minded", 3, world.Version(t.from))
	cluster.AwaitReady(ctx, 3)
	was, traffic := identityOf(ctx, cluster), cluster.Write(ctx)
	traffic.During(ctx, func() {
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = t.to })
		t.await(ctx, cluster)
		for _, version := range t.next {
			goTo(ctx, cluster, 3, version)
		}
	})
	Expect(traffic.Finish(ctx).Failed).To(BeZero())
	expectSame(ctx, cluster, was)
	expectNoDowngrade(ctx, cluster)
	cluster.AwaitEqualHashes(ctx)
}

func settled(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	cluster.AwaitReady(ctx, 3)
}

func oneRestarted(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func() []string { return cluster.History.Restarted() }).Should(HaveLen(1), "decisions:\n%s",
		cluster.History)
}

func logBeingCovered(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	awaitReason(ctx, cluster, "AppendEntries")
}

// logCovered waits for the first sign of the roll, which begins when the log is covered.
func logCovered(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	awaitReason(ctx, cluster, "AppendEntries")
	awaitReason(ctx, cluster, facts.ReasonRoll, "EvictPod", "MoveLeader")
}

// allAnswerWith waits until each of three members runs this version.
func allAnswerWith(version string) func(context.Context, *world.Cluster) {
	return func(ctx context.Context, cluster *world.Cluster) {
		GinkgoHelper()
		Eventually(ctx, func() []string { return versionsIn(answering(ctx, cluster)) }).
			Should(ConsistOf(version, version, version))
	}
}

// downgradeEnabled waits until etcd itself says that a downgrade to this version is enabled.
func downgradeEnabled(version string) func(context.Context, *world.Cluster) {
	return func(ctx context.Context, cluster *world.Cluster) {
		GinkgoHelper()
		isTo := func(view world.View) bool { return view.Status.Downgrade == version }
		Eventually(ctx, func() bool { return slices.ContainsFunc(answering(ctx, cluster), isTo) }).
			Should(BeTrue(), "no member says so:\n%s", cluster.History)
	}
}

// expectNoDowngrade asks each member whether a downgrade is enabled. Those of 3.5 know of none.
func expectNoDowngrade(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	for _, view := range answering(ctx, cluster) {
		Expect(view.Status.Downgrade).To(BeEmpty(), view.Pod)
	}
}

// answering is what the members say that answer now.
func answering(ctx context.Context, cluster *world.Cluster) []world.View {
	GinkgoHelper()
	var views []world.View
	for _, pod := range listPods(ctx, cluster) {
		if view, err := cluster.Look(ctx, &pod); err == nil {
			views = append(views, view)
		}
	}
	return views
}

// versionsIn are the versions that members answer with.
func versionsIn(views []world.View) []string {
	var versions []string
	for _, view := range views {
		versions = append(versions, view.Status.Version)
	}
	return versions
}

// withoutImage is a way on which the image of one stop is not there.
type withoutImage struct {
	from, to string
	stop     string   // where it is met
	behind   string   // what members run then
	toCome   []string // the versions that they have yet to run
}

var withoutImages = []withoutImage{
	{"3.5.21", "3.7.3", "3.5.35", "3.5.21", []string{"3.5.35", "3.6.16", "3.7.3"}},
	{"3.5.21", "3.7.3", "3.6.16", "3.5.35", []string{"3.6.16", "3.7.3"}},
	{"3.5.21", "3.7.3", "3.7.3", "3.6.16", []string{"3.7.3"}},
	{"3.7.3", "3.5.35", "3.6.16", "3.7.3", []string{"3.6.16", "3.5.35"}},
	{"3.7.3", "3.5.35", "3.5.35", "3.6.16", []string{"3.5.35"}},
}

var _ = Describe("An image that cannot be pulled", Label("versions", "specs"), func() {
	ownNamespace()

	for _, w := range withoutImages {
		It(fmt.Sprintf("on the way from %s to %s ends the roll at the first member that is to run %s; put right, all "+
			"arrive", w.from, w.to, w.stop), longWay, func(ctx context.Context) { w.play(ctx) })
	}
})

// play names a repository that lacks the image of the stop, and no other: see test/localkube.
func (w withoutImage) play(ctx context.Context) {
	GinkgoHelper()
	cluster := story.Create(ctx, "imageless", 3, world.Version(w.from))
	cluster.AwaitReady(ctx, 3)
	was, traffic := identityOf(ctx, cluster), cluster.Write(ctx)
	traffic.During(ctx, func() {
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Version, s.Image = w.to, from("without-"+w.stop+".test/etcd")
		})
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(longWait).
			Should(HavePrefix(facts.ReasonImagePull), "decisions:\n%s", cluster.History)
		Eventually(ctx, func() ([]string, error) {
			object, err := cluster.Get(ctx)
			return object.Status.UpgradePath, err
		}).Should(Equal(w.toCome), "status.upgradePath")
		Consistently(ctx, func() []string { return versionsIn(answering(ctx, cluster)) }).WithTimeout(watching).
			Should(ConsistOf(w.behind, w.behind), "no other member goes there")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Image = nil })
		arrive(ctx, cluster, 3, w.to)
	})
	Expect(traffic.Finish(ctx).Failed).To(BeZero())
	expectSame(ctx, cluster, was)
	cluster.AwaitEqualHashes(ctx)
}
