package e2e

import (
	"context"
	"slices"
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

// ofThree is a restore of three members that is ready to begin.
type ofThree struct {
	begin  func(context.Context) *world.Cluster
	during func(context.Context, func()) // with a client that writes, where it can
	finish func(context.Context)         // expects what was saved, and no more
}

func newOfThree(ctx context.Context, store v1alpha1.BackupStore) ofThree {
	GinkgoHelper()
	saved := story.Create(ctx, "saved", 1)
	saved.AwaitReady(ctx, 1)
	save(ctx, saved, store)
	var again *world.Cluster
	return ofThree{
		begin: func(ctx context.Context) *world.Cluster {
			again = story.Create(ctx, "again", 3, fromBackup("first"))
			return again
		},
		during: func(_ context.Context, kill func()) { kill() },
		finish: func(ctx context.Context) {
			GinkgoHelper()
			again.AwaitReady(ctx, 3)
			saved.AwaitReady(ctx, 1) // its node may have been away
			holdsBackup(ctx, again, saved)
		},
	}
}

func inPlaceOfThree(ctx context.Context, store v1alpha1.BackupStore) ofThree {
	GinkgoHelper()
	cluster := story.Create(ctx, "demo", 3)
	cluster.AwaitReady(ctx, 3)
	save(ctx, cluster, store)
	traffic, before := cluster.Write(ctx), asItIs(ctx, cluster)
	restore := cluster.RestoreTo(ctx, "back", toBackup())
	return ofThree{
		begin:  func(ctx context.Context) *world.Cluster { restore.Approve(ctx); return cluster },
		during: traffic.During,
		finish: func(ctx context.Context) {
			GinkgoHelper()
			status := restore.Complete(ctx)
			cluster.AwaitReady(ctx, 3)
			traffic.Flow(ctx)
			wentBack(ctx, cluster, before, status)
		},
	}
}

// restoresOfThree say what is restored, as stories do.
var restoresOfThree = []struct {
	what    string
	prepare func(context.Context, v1alpha1.BackupStore) ofThree
}{
	{"a new cluster of three from a backup", newOfThree},
	{"a restore in place of three members", inPlaceOfThree},
}

// holdSnapshots gives the half of every snapshot: a manifest is smaller. await waits until so many more were asked for.
func holdSnapshots(proxy *s3server.Proxy) (await func(context.Context, int), release func()) {
	asked := func() (n int) {
		for _, r := range proxy.Requests() {
			if r.Operation == s3server.GetObject && strings.HasSuffix(r.Key, "/snapshot.db") {
				n++
			}
		}
		return n
	}
	before, fault := asked(), proxy.Inject(s3server.StallAnswer(64<<10).On(s3server.GetObject))
	await = func(ctx context.Context, n int) {
		GinkgoHelper()
		Eventually(ctx, asked).Should(BeNumerically(">=", before+n))
	}
	return await, func() { proxy.Heal(); fault.Release() }
}

// restorePods are three Pods that restore a cluster's members, in their order.
func restorePods(ctx context.Context, cluster *world.Cluster) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(kube.Client.List(ctx, &list, client.InNamespace(story.Namespace), client.MatchingLabels{
		v1alpha1.LabelCluster: cluster.Name, v1alpha1.LabelComponent: v1alpha1.ComponentRestore,
	})).To(Succeed())
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	Expect(list.Items).To(HaveLen(3))
	return list.Items
}

var _ = Describe("With kill -9 in each Pod of it, in another step of each,", Label("restore", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, row := range restoresOfThree {
		It(row.what+" goes on, and starts or stops no member before everything is restored", perStory, func(ctx context.Context) {
			proxy := kube.S3Server(s3server.Versitygw).Proxy(GinkgoTB())
			restore := row.prepare(ctx, story.ToS3(ctx, proxy.Access))
			slow := slowSteps(ctx)
			await, release := holdSnapshots(proxy)
			cluster, looks := restore.begin(ctx), &corev1.Pod{}
			Eventually(ctx, func() error { return kube.Client.Get(ctx, key(cluster.Name+"-preflight"), looks) }).WithPolling(50 * time.Millisecond).Should(Succeed())
			kube.KillSteps(ctx, world.Victim{Pod: looks, Command: "/agent preflight"})
			await(ctx, 3)
			pods, members := restorePods(ctx, cluster), podUIDs(ctx, cluster)
			restore.during(ctx, func() {
				kube.KillSteps(ctx, world.Victim{Pod: &pods[0], Command: "/agent fetch-for-restore"})
				release()
				kube.KillSteps(ctx, world.Victim{Pod: &pods[1], Command: "etcdutl snapshot restore"}, world.Victim{Pod: &pods[2], Command: "/agent activate"})
				Expect(podUIDs(ctx, cluster)).To(Equal(members), "nobody starts or stops before everything is restored")
			})
			Expect(kube.Client.Delete(ctx, slow)).To(Succeed())
			restore.finish(ctx)
		})
	}
})

var _ = Describe("With a node that dies under it,", Label("restore", "nodes", "s3"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, row := range restoresOfThree {
		It(row.what+" waits while a volume is restored there, and goes on when the node is back", perStory, func(ctx context.Context) {
			proxy := kube.S3Server(s3server.Versitygw).Proxy(GinkgoTB())
			restore := row.prepare(ctx, story.ToS3(ctx, proxy.Access))
			await, release := holdSnapshots(proxy)
			cluster := restore.begin(ctx)
			await(ctx, 3)
			node, members := awayFromOperator(ctx, restorePods(ctx, cluster)), podUIDs(ctx, cluster)
			restore.during(ctx, func() {
				kube.KillNode(ctx, node)
				release()
				kube.AwaitNodeSilent(ctx, node)
				Expect(podUIDs(ctx, cluster)).To(Equal(members), "nobody starts or stops before everything is restored")
				kube.StartNode(ctx, node)
			})
			restore.finish(ctx)
		})
	}

	It("a restore in place of three members that has moved is served by the other two, and the third comes with the node", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 3)
		cluster.AwaitReady(ctx, 3)
		save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
		traffic, before := cluster.Write(ctx), asItIs(ctx, cluster)
		restore, node := cluster.RestoreTo(ctx, "back", toBackup()), cluster.NodeOf(ctx, cluster.AwayFromOperator(ctx))
		restore.Approve(ctx)
		Eventually(ctx, func() (string, error) {
			object, err := restore.Get(ctx)
			return object.Status.Stage, err
		}).WithPolling(50 * time.Millisecond).Should(Equal("Stopping"))
		kube.KillNode(ctx, node)
		status := restore.Complete(ctx)
		traffic.Flow(ctx)
		kube.StartNode(ctx, node)
		cluster.AwaitReady(ctx, 3)
		wentBack(ctx, cluster, before, status)
	})
})

// awayFromOperator is a node of one of these Pods where the operator that is in charge is not.
func awayFromOperator(ctx context.Context, pods []corev1.Pod) string {
	GinkgoHelper()
	operator, err := kube.OperatorLeader(ctx)
	Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Spec.NodeName != operator.Spec.NodeName })
	Expect(i).NotTo(Equal(-1), "all are on the node of the operator")
	return pods[i].Spec.NodeName
}
