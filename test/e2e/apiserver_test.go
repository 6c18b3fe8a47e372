package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// byHandRounds have the members of the floor stopped about as often as those of the cluster.
const byHandRounds = 6

var _ = Describe("A Kubernetes control plane whose only etcd is such a cluster,", Label("versions", "control-plane", "s3"),
	Serial, func() {
		BeforeEach(func() { kube.NeedLocalkube() })
		ownNamespace()

		for _, row := range []struct {
			world.APIServerVersion
			streams bool // reads lists as streams, where etcd can
			beside  bool // has a CoreDNS beside it that reads from the same etcd
		}{
			{world.APIServerVersion{Kubernetes: "1.36"}, false, false},
			{world.APIServerVersion{Kubernetes: "1.37", FeatureGates: "EtcdRangeStream=true"}, true, true},
		} {
			It("with a kube-apiserver of "+row.Kubernetes+" lives through minors up and back, a roll, a replacement, a drain and "+
				"a restore, and 200 watches miss nothing", NodeTimeout(15*time.Minute), func(ctx context.Context) {
				cluster := story.Create(ctx, "only", 3, world.Version("3.5.35"))
				cluster.AwaitReady(ctx, 3)
				server := cluster.StartAPIServer(ctx, row.APIServerVersion)
				Expect(server.Streamed(ctx)).To(BeZero(), "etcd 3.5 has no such lists")
				var beside *world.CoreDNS
				if row.beside {
					beside = cluster.StartCoreDNS(ctx)
				}
				up := goesUp(ctx, cluster, server)

				server.Kill() // one that is started on 3.7 tries what that can
				server.Start(ctx)
				Expect(server.Streamed(ctx) > 0).To(Equal(row.streams), "lists are read as streams")
				back := server.Write(ctx, "a roll, a replacement, a drain, and etcd from 3.7 to 3.5")
				for _, change := range []func(context.Context, *world.Cluster){isRolled, isReplaced, isDrained} {
					change(ctx, cluster)
					back.Flow(ctx)
				}
				goes(ctx, cluster, "3.5.35", "3.5.0")
				back.Flow(ctx)
				back.Rest(ctx)
				if row.beside {
					beside.Finish()
				}

				after := goesBackUnder(ctx, cluster, server, back)
				server.Kill() // it writes by itself, too
				cluster.AwaitEqualHashes(ctx)
				byHand := restartedByHand(ctx, row.APIServerVersion)
				AddReportEntry("what writers were told, and no writer of the etcd without an operator",
					fmt.Sprint(world.OnlyTold(byHand, up, back, after)))
			})
		}
	})

// goes takes a cluster to another version, by one edit.
func goes(ctx context.Context, cluster *world.Cluster, version, clusterVersion string) {
	GinkgoHelper()
	By("going to " + version)
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = version })
	cluster.AwaitReady(ctx, 3)
	expectVersion(ctx, cluster, version)
	expectClusterVersion(ctx, cluster, clusterVersion)
}

func goesUp(ctx context.Context, cluster *world.Cluster, server *world.APIServer) *world.APITraffic {
	GinkgoHelper()
	was := identityOf(ctx, cluster)
	traffic := server.Write(ctx, "etcd from 3.5 to 3.6 to 3.7")
	goes(ctx, cluster, "3.6.16", "3.6.0")
	traffic.Flow(ctx)
	goes(ctx, cluster, "3.7.3", "3.7.0")
	traffic.Flow(ctx)
	traffic.Finish(ctx)
	expectSame(ctx, cluster, was)
	return traffic
}

func isRolled(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	By("restarting each member on demand")
	was := identityOf(ctx, cluster)
	annotate(ctx, cluster, v1alpha1.AnnotationRestartedAt, rightNow())
	cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionFalse, "MembersOutdated")
	cluster.AwaitReady(ctx, 3)
	expectSame(ctx, cluster, was)
	for name, uid := range podsOf(ctx, cluster) {
		Expect(uid).NotTo(Equal(was.pods[name]), "%s was not restarted", name)
	}
}

func isReplaced(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	By("replacing a member")
	before, victim := cluster.Identities(ctx), follower(ctx, cluster)
	annotate(ctx, cluster, v1alpha1.AnnotationReplace, fmt.Sprintf("%q", victim))
	Eventually(ctx, func() any { return cluster.Identities(ctx) }).WithTimeout(world.Patience).ShouldNot(HaveKey(victim))
	cluster.AwaitReady(ctx, 3)
	expectReplaced(ctx, cluster, before, victim)
	Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(HaveLen(3))
}

func isDrained(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	leader := cluster.Leader(ctx)
	node := cluster.NodeOf(ctx, leader)
	By("draining the node of the leader, " + node)
	was := identityOf(ctx, cluster)
	awaitAllowed(ctx, cluster.Name, 1)
	out, err := cluster.Drain(ctx, node)
	Expect(err).NotTo(HaveOccurred(), out)
	Expect(podsOf(ctx, cluster)).NotTo(HaveKeyWithValue(leader, was.pods[leader]), "it was drained:\n%s", out)
	cluster.Uncordon(ctx, node)
	cluster.AwaitReady(ctx, 3)
	expectSame(ctx, cluster, was)
}

// goesBackUnder restores a cluster in place under an API server that goes on, to what a client had written that rests. No
// one writes from the backup on, so that all that is lost is what the story knows of.
func goesBackUnder(ctx context.Context, cluster *world.Cluster, server *world.APIServer,
	rests *world.APITraffic) *world.APITraffic {
	GinkgoHelper()
	By("restoring it in place")
	streamed := server.Streamed(ctx)
	server.MakeMarker(ctx, "kept")
	store := story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access)
	story.Backup(ctx, "first", cluster.Name, store).Await(ctx, v1alpha1.BackupVerified)
	server.MakeMarker(ctx, "lost")
	server.MakeEvent(ctx) // by a lease that the backup has not
	restore := cluster.RestoreTo(ctx, "back", toBackup())
	restore.Approve(ctx)
	approved := time.Now()
	restore.Complete(ctx)
	restored := time.Since(approved)
	rests.AwaitExpired(ctx)
	expired := time.Since(approved)
	after := server.Write(ctx, "after a restore in place")
	AddReportEntry("a restore in place", fmt.Sprintf("complete %s after the approval, each watch ended after %s, a client wrote after %s; %s",
		restored.Round(time.Second), expired.Round(time.Second), time.Since(approved).Round(time.Second), server.MakeEvent(ctx)))
	cluster.AwaitReady(ctx, 3)
	rests.ExpectStored(ctx)
	Expect(server.Markers(ctx)).To(ConsistOf("kept"))
	Expect(server.Streamed(ctx)).To(Equal(streamed), "etcd 3.5 has no lists as streams")
	after.Finish(ctx)
	return after
}

// restartedByHand is what the same client of the same API server is told by an etcd without an operator.
func restartedByHand(ctx context.Context, version world.APIServerVersion) *world.APITraffic {
	GinkgoHelper()
	By("restarting members of an etcd without an operator")
	etcd := kube.StartPlainEtcd(ctx)
	server := etcd.StartAPIServer(ctx, version)
	traffic := server.Write(ctx, "an etcd without an operator, whose members are restarted one by one")
	for range byHandRounds {
		etcd.RestartEach(ctx)
		traffic.Flow(ctx)
	}
	traffic.Finish(ctx)
	return traffic
}
