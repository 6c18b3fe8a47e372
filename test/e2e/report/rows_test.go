package report

import (
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// scenarios are the rows of the report, in their order. docs/report.md names them.
var scenarios = []scenario{
	three("operator", "All replicas of the operator killed with -9, and a member's Pod deleted before they are back", killOperators),
	three("pod", "A follower's Pod deleted", deleteFollower),
	three("evicted", "The leader evicted", evictLeader),
	three("killed", "etcd of the leader killed with -9", killLeader),
	three("all-killed", "etcd of all three members killed with -9 at once", killAll),
	three("frozen", "The leader frozen for 10 s", freezeLeader),
	three("cut", "The leader's node cut off from the network for 10 s", cutLeader),
	three("power", "The leader's node without power for 10 s", killNodeOfLeader),
	three("wiped", "A follower's data deleted under it, and its etcd killed with -9", wipeFollower),
	three("restart", "Rolling restart: another setting of etcd", restartAll),
	three("upgrade", "Upgrade from etcd 3.6 to 3.7", upgrade),
	three("replace", "Rolling replacement: each member replaced by a new one on a new volume", replaceAll),
	{id: "replace-killed", size: 3, operator: true, steps: []step{
		{"Rolling replacement, the operator killed with -9 at each change that it makes", replaceAllWhileKilled, 3}}},
	{id: "resize", size: 1, steps: []step{
		{"From 1 member to 3", resize(3), 3}, {"From 3 members to 7", resize(7), 7},
		{"From 7 members to 3", resize(3), 3}, {"From 3 members to 1", resize(1), 1}}},
}

func three(id, row string, do func(context.Context, *subject)) scenario {
	return scenario{id: id, size: 3, steps: []step{{row, do, 3}}}
}

// A fault that lasts does so for this long.
const lasting = 10 * time.Second

// hold lets a fault last.
func hold(ctx context.Context) {
	timer := time.NewTimer(lasting)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func resize(size int32) func(context.Context, *subject) {
	return func(ctx context.Context, on *subject) { on.Resize(ctx, size) }
}

func killOperators(ctx context.Context, on *subject) {
	before := holder(ctx)
	pods, err := kube.OperatorPods(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).To(HaveLen(2))
	victim := follower(ctx, on)
	on.begin()
	kube.KillOperators(ctx, pods)
	deletePod(ctx, on, victim)
	Eventually(ctx, func() string { return holder(ctx) }).ShouldNot(Equal(before), "a process that was killed holds the Lease")
	awaitOperator(ctx)
}

// holder is the process of the operator that is in charge.
func holder(ctx context.Context) string {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: world.OperatorNamespace, Name: world.LeaseName}
	Expect(kube.Client.Get(ctx, key, lease)).To(Succeed())
	Expect(lease.Spec.HolderIdentity).NotTo(BeNil())
	return *lease.Spec.HolderIdentity
}

func deleteFollower(ctx context.Context, on *subject) {
	victim := follower(ctx, on)
	on.begin()
	deletePod(ctx, on, victim)
}

func evictLeader(ctx context.Context, on *subject) {
	pod, err := on.Pod(ctx, on.Leader(ctx))
	Expect(err).NotTo(HaveOccurred())
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	// A probe that comes late closes the budget for a moment.
	Eventually(ctx, func() error {
		on.begin()
		return kube.Client.SubResource("eviction").Create(ctx, pod, eviction)
	}).Should(Succeed())
	awaitGone(ctx, on, pod)
}

func killLeader(ctx context.Context, on *subject) {
	leader := on.Leader(ctx)
	on.begin()
	on.KillEtcd(ctx, leader)
}

func killAll(ctx context.Context, on *subject) {
	members := slices.Sorted(maps.Keys(on.Identities(ctx)))
	on.begin()
	on.KillEveryEtcd(ctx, members...)
}

func freezeLeader(ctx context.Context, on *subject) {
	leader := on.Leader(ctx)
	on.begin()
	on.Freeze(ctx, leader)
	hold(ctx)
	on.Thaw(ctx, leader)
	expectOtherLeader(ctx, on, leader)
}

func cutLeader(ctx context.Context, on *subject) {
	leader, node := leaderAwayFromOperator(ctx, on)
	on.begin()
	heal := kube.Cut(ctx, node)
	hold(ctx)
	heal(ctx)
	expectOtherLeader(ctx, on, leader)
}

func killNodeOfLeader(ctx context.Context, on *subject) {
	leader, node := leaderAwayFromOperator(ctx, on)
	on.begin()
	kube.KillNode(ctx, node)
	hold(ctx)
	kube.StartNode(ctx, node)
	expectOtherLeader(ctx, on, leader)
}

// expectOtherLeader proves that the leader was away.
func expectOtherLeader(ctx context.Context, on *subject, was string) {
	GinkgoHelper()
	Expect(on.Leader(ctx)).NotTo(Equal(was), "the leader was away, and led on")
}

// leaderAwayFromOperator has a member lead on whose node the operator in charge is not: that would be two faults at once.
func leaderAwayFromOperator(ctx context.Context, on *subject) (leader, node string) {
	leader = on.AwayFromOperator(ctx)
	on.MoveLeader(ctx, leader)
	return leader, on.NodeOf(ctx, leader)
}

func wipeFollower(ctx context.Context, on *subject) {
	victim := follower(ctx, on)
	on.begin()
	on.WipeDirectory(ctx, victim)
	on.KillEtcd(ctx, victim)
	Eventually(ctx, func() any { return on.Identities(ctx) }).ShouldNot(HaveKey(victim), "it lost its data, and is replaced")
}

func restartAll(ctx context.Context, on *subject) {
	was := podsOf(ctx, on)
	on.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(20000))} })
	awaitOthers(ctx, on, was)
}

func upgrade(ctx context.Context, on *subject) {
	was := podsOf(ctx, on)
	on.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = nextMinor })
	awaitOthers(ctx, on, was)
}

// nextMinor is where world.DefaultVersion is upgraded to.
const nextMinor = "3.7.3"

// replaceAll asks for another access mode, which no volume takes on: every member moves to a new volume.
func replaceAll(ctx context.Context, on *subject) {
	was := on.Identities(ctx)
	on.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
		s.Storage = &v1alpha1.StorageSpec{AccessMode: corev1.ReadWriteOncePod}
	})
	Eventually(ctx, func(g Gomega) {
		ids := on.Identities(ctx)
		g.Expect(ids).To(HaveLen(len(was)))
		for name := range was {
			g.Expect(ids).NotTo(HaveKey(name))
		}
	}).Should(Succeed(), "decisions:\n%s", on.History)
}

func replaceAllWhileKilled(ctx context.Context, on *subject) {
	stop := on.operator.KillAtEachChange(on.Cluster)
	replaceAll(ctx, on)
	Expect(len(stop())).To(BeNumerically(">=", 3*len(on.Identities(ctx))), "each member is added, promoted and removed")
}

// follower is a member that does not lead.
func follower(ctx context.Context, on *subject) string {
	GinkgoHelper()
	leader := on.Leader(ctx)
	for _, name := range slices.Sorted(maps.Keys(on.Identities(ctx))) {
		if name != leader {
			return name
		}
	}
	Fail("no member follows")
	return ""
}

func deletePod(ctx context.Context, on *subject, name string) {
	GinkgoHelper()
	pod, err := on.Pod(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Delete(ctx, pod)).To(Succeed())
	awaitGone(ctx, on, pod)
}

func awaitGone(ctx context.Context, on *subject, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() any { return podsOf(ctx, on) }).ShouldNot(HaveKeyWithValue(pod.Name, pod.UID))
}

// awaitOthers waits until no member runs in the Pod that it had.
func awaitOthers(ctx context.Context, on *subject, was map[string]types.UID) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		for name, uid := range podsOf(ctx, on) {
			g.Expect(was[name]).NotTo(Equal(uid), name)
		}
	}).Should(Succeed(), "decisions:\n%s", on.History)
}

func podsOf(ctx context.Context, on *subject) map[string]types.UID {
	GinkgoHelper()
	pods, err := on.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	uids := map[string]types.UID{}
	for i := range pods {
		uids[pods[i].Name] = pods[i].UID
	}
	return uids
}
