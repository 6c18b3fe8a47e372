package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// failuresAfterSwitchOver are what keeps restored members from serving, once the old ones are stopped: how it comes about, what the
// cluster says then, and how it ends.
var failuresAfterSwitchOver = []struct {
	how, reason string
	cause       func(context.Context, *world.Cluster) (end func(context.Context))
}{
	{"taken by no node", facts.ReasonUnschedulable, taintAllNodes},
	{"without their volumes", facts.ReasonRestoreLost, deleteRestoredVolumes},
}

// Taints are seen by all stories.
var _ = Describe("A restore in place that leaves the restored members", Label("restore", "s3"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, row := range failuresAfterSwitchOver {
		It(row.how+" tells the way back, and one approved step goes back to every write", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 3)
			cluster.AwaitReady(ctx, 3)
			save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
			restore := cluster.RestoreTo(ctx, "back", toBackup())
			before, traffic := asItIs(ctx, cluster), cluster.Write(ctx)
			restore.Approve(ctx)
			awaitStage(ctx, restore, "Stopping")
			end := row.cause(ctx, cluster)

			home := cluster.ByCommand(ctx, wayBack(ctx, cluster, restore, row.reason))
			Expect(podsOfRestored(ctx, cluster, before)).NotTo(ContainElement(corev1.PodRunning), "a restored member runs")
			home.Await(ctx, v1alpha1.RestorePrepared, metav1.ConditionTrue, "")
			end(ctx)
			status := home.Await(ctx, v1alpha1.RestoreComplete, metav1.ConditionTrue, "")
			traffic.Flow(ctx)
			cluster.AwaitReady(ctx, 3)
			before.expectBack(ctx, cluster, status)
			Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
			Expect(cluster.Filled(ctx, "lost")).To(Equal(lostKeys))
			traffic.FinishAfterOutage(ctx)
		})
	}
})

func awaitStage(ctx context.Context, restore *world.InPlace, stage string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) {
		object, err := restore.Get(ctx)
		return object.Status.Stage, err
	}).WithPolling(20 * time.Millisecond).WithTimeout(world.Patience).Should(Equal(stage))
}

func taintAllNodes(ctx context.Context, _ *world.Cluster) func(context.Context) {
	GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(kube.Client.List(ctx, nodes)).To(Succeed())
	var backs []func(context.Context)
	for i := range nodes.Items {
		backs = append(backs, kube.Taint(ctx, nodes.Items[i].Name,
			corev1.Taint{Key: "e2e.etcdsteward.dev/after", Effect: corev1.TaintEffectNoSchedule}))
	}
	return func(ctx context.Context) {
		for _, back := range backs {
			back(ctx)
		}
	}
}

// deleteRestoredVolumes deletes those of two members. They are never put back.
func deleteRestoredVolumes(ctx context.Context, cluster *world.Cluster) func(context.Context) {
	GinkgoHelper()
	for _, member := range []string{cluster.Member(3), cluster.Member(4)} {
		Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(cluster.Namespace, member)})).To(
			Succeed())
	}
	return func(context.Context) {}
}

// wayBack waits until the cluster names a command, and says that the restore that failed names it too.
func wayBack(ctx context.Context, cluster *world.Cluster, failed *world.InPlace, reason string) (command string) {
	GinkgoHelper()
	const held, end = "with all that these members held: ", " (it approves"
	Eventually(ctx, func(g Gomega) {
		object, err := cluster.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.Status.NextStep.Reason).To(Equal(reason))
		g.Expect(object.Status.NextStep.Message).To(And(ContainSubstring(held), ContainSubstring(end)))
		_, command, _ = strings.Cut(object.Status.NextStep.Message, held)
		command, _, _ = strings.Cut(command, end)
		restore, err := failed.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		complete := apimeta.FindStatusCondition(restore.Status.Conditions, v1alpha1.RestoreComplete)
		g.Expect(complete.Message).To(ContainSubstring(command))
	}).WithTimeout(world.Patience).Should(Succeed())
	return command
}

// podsOfRestored are the phases of the Pods that the cluster did not have before.
func podsOfRestored(ctx context.Context, cluster *world.Cluster, before was) (phases []corev1.PodPhase) {
	GinkgoHelper()
	pods, err := cluster.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range pods {
		if _, isOld := before.pods[pods[i].Name]; !isOld {
			phases = append(phases, pods[i].Status.Phase)
		}
	}
	return phases
}

// expectBack says that the members of before serve on the volumes of before, as the same etcd cluster, and that what the
// cluster went back from is kept, and marked.
func (w was) expectBack(ctx context.Context, cluster *world.Cluster, status v1alpha1.EtcdRestoreStatus) {
	GinkgoHelper()
	now := asItIs(ctx, cluster)
	Expect(now.clusterID).To(Equal(w.clusterID))
	Expect(now.secret).To(Equal(w.secret), "clients keep their certificate")
	Expect(now.pods).To(HaveLen(len(w.pods)))
	claims := &corev1.PersistentVolumeClaimList{}
	Expect(kube.Client.List(ctx, claims, client.InNamespace(cluster.Namespace), client.MatchingLabels{
		v1alpha1.LabelCluster: cluster.Name})).To(Succeed())
	var given []string
	for i := range claims.Items {
		claim := &claims.Items[i]
		if _, isOld := w.volumes[claim.Name]; isOld {
			Expect(now.pods).To(HaveKey(claim.Name))
			Expect(claim.UID).To(Equal(w.volumes[claim.Name]))
			Expect(claim.Annotations).NotTo(HaveKey(v1alpha1.AnnotationSuperseded))
			continue
		}
		given = append(given, claim.Name)
		Expect(claim.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationSuperseded, status.ToIncarnation))
	}
	Expect(status.OldVolumes).To(ConsistOf(given))
}
