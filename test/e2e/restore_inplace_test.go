package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// toBackup is the backup that save makes.
func toBackup() v1alpha1.EtcdRestoreSource {
	return v1alpha1.EtcdRestoreSource{BackupRef: &v1alpha1.BackupReference{Name: "first"}}
}

func fromSurvivor(member string) v1alpha1.EtcdRestoreSource {
	return v1alpha1.EtcdRestoreSource{Survivor: &v1alpha1.SurvivorSource{Member: member}}
}

// inVolume saves a cluster of one to a claim, which the one restore Pod can mount as well.
func inVolume(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	story.Claim(ctx, "backups")
	save(ctx, cluster, world.ToVolume("backups"))
}

// wentBack says that the cluster holds what was saved and nothing later, as another etcd cluster of the same name, and
// that what it lived on before is kept and marked.
func wentBack(ctx context.Context, cluster *world.Cluster, before was, status v1alpha1.EtcdRestoreStatus) {
	GinkgoHelper()
	Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
	Expect(cluster.Filled(ctx, "lost")).To(BeZero())
	cluster.AwaitEqualHashes(ctx)
	before.expectSucceeded(ctx, cluster, status)
	Eventually(ctx, func() []string { return taskPods(ctx, cluster) }).Should(BeEmpty(), "Pods of the restore are left")
}

// was is a cluster before something was done to it.
type was struct {
	clusterID     string
	volumes, pods map[string]types.UID
	service       types.UID
	secret        types.UID
}

func asItIs(ctx context.Context, cluster *world.Cluster) was {
	GinkgoHelper()
	current, err := cluster.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	return was{
		clusterID: current.Status.ClusterID, volumes: volumes(ctx, cluster), pods: podUIDs(ctx, cluster),
		service: uidOf(ctx, &corev1.Service{}, key(cluster.Name)),
		secret:  uidOf(ctx, &corev1.Secret{}, key(cluster.Name+"-client-tls")),
	}
}

func podUIDs(ctx context.Context, cluster *world.Cluster) map[string]types.UID {
	GinkgoHelper()
	pods, err := cluster.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	uids := map[string]types.UID{}
	for i := range pods {
		uids[pods[i].Name] = pods[i].UID
	}
	return uids
}

// expectSucceeded says that another incarnation took the place of this one, and that nothing of it is lost.
func (w was) expectSucceeded(ctx context.Context, cluster *world.Cluster, status v1alpha1.EtcdRestoreStatus) {
	GinkgoHelper()
	now := asItIs(ctx, cluster)
	Expect(now.clusterID).NotTo(Or(BeEmpty(), Equal(w.clusterID)))
	Expect(now.service).To(Equal(w.service), "clients connect as ever")
	Expect(now.secret).To(Equal(w.secret), "clients keep their certificate")
	for name := range w.pods {
		Expect(now.pods).NotTo(HaveKey(name), "a member of before runs, or its name is used again")
	}
	for name, uid := range w.volumes {
		Expect(now.volumes).To(HaveKeyWithValue(name, uid), "a volume of before is gone")
		claim := pvc()
		Expect(kube.Client.Get(ctx, key(name), claim)).To(Succeed())
		Expect(claim.Annotations).To(HaveKey(v1alpha1.AnnotationSuperseded))
	}
	Expect(status.OldVolumes).To(ConsistOf(slices.Collect(maps.Keys(w.volumes))))
}

// expectUntouched says that nothing was made or stopped for as long as one would wait for it.
func (w was) expectUntouched(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	Consistently(ctx, func(g Gomega) {
		g.Expect(volumes(ctx, cluster)).To(Equal(w.volumes))
		g.Expect(podUIDs(ctx, cluster)).To(Equal(w.pods))
	}).WithTimeout(watching).Should(Succeed())
}

// loseVolumes takes the data of several members away at once: the operator looks away meanwhile, or it would have
// removed the first of them before the next is lost.
func loseVolumes(ctx context.Context, cluster *world.Cluster, members ...string) {
	GinkgoHelper()
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = true })
	cluster.AwaitStep(ctx, facts.ReasonPaused)
	for _, member := range members {
		Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(cluster.Namespace, member)})).To(
			Succeed())
	}
	for _, member := range members { // one may have been evicted just now
		pod := &corev1.Pod{ObjectMeta: meta(cluster.Namespace, member)}
		Expect(client.IgnoreNotFound(kube.Client.Delete(ctx, pod))).To(Succeed())
	}
	for _, member := range members {
		Eventually(ctx, func() map[string]types.UID { return volumes(ctx, cluster) }).ShouldNot(HaveKey(member))
	}
	cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = false })
}

// expectLost waits until the evidence says which members are lost, and names each way back.
func expectLost(ctx context.Context, cluster *world.Cluster, lost []string, says ...string) v1alpha1.EvidenceStatus {
	GinkgoHelper()
	cluster.AwaitStalled(ctx, facts.ReasonQuorumLost)
	var evidence v1alpha1.EvidenceStatus
	Eventually(ctx, func(g Gomega) {
		evidence = cluster.Evidence(ctx)
		g.Expect(evidence.Quorum).To(Equal(string(plan.QuorumLost)))
		var named []string
		for _, m := range evidence.Members {
			if m.State == string(plan.MemberLost) {
				named = append(named, m.Name)
			}
		}
		g.Expect(named).To(ContainElements(lost))
		for _, text := range says {
			g.Expect(evidence.Message).To(ContainSubstring(text))
		}
	}).Should(Succeed())
	return evidence
}

var _ = Describe("A cluster that is restored in place", Label("restore"), func() {
	ownNamespace()

	It("goes back to what was saved, with a client that writes, a watcher that notices and a lease that holds",
		Label("core"), first, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			lease := cluster.Hold(ctx, "held")
			inVolume(ctx, cluster)
			traffic, watcher, before := cluster.Write(ctx), cluster.Follow(ctx), asItIs(ctx, cluster)
			restore := cluster.RestoreTo(ctx, "back", toBackup())
			restore.Await(ctx, v1alpha1.RestoreApproved, metav1.ConditionFalse, report.RestoreReasonMissing)
			restore.Approve(ctx)
			status := restore.Complete(ctx)
			watcher.AwaitNotice(ctx)
			traffic.Flow(ctx) // to the same name, with the same certificate
			cluster.AwaitReady(ctx, 1)
			wentBack(ctx, cluster, before, status)
			cluster.Holds(ctx, lease, "held")
			Expect(cluster.History.Rules()).To(ContainElements("restore-prepare", "restore-fence"))

			restore.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.OldVolumes = v1alpha1.OldVolumesDelete })
			Eventually(ctx, func() map[string]types.UID { return volumes(ctx, cluster) }).Should(HaveLen(1))
			cluster.Resize(ctx, 3) // what is restored is a cluster like any other
			cluster.AwaitReady(ctx, 3)
		})

	It("is not touched without an approval, nor with one of other evidence, and not twice by one", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			inVolume(ctx, cluster)
			before := asItIs(ctx, cluster)
			restore := cluster.RestoreTo(ctx, "back", toBackup())
			status := restore.Await(ctx, v1alpha1.RestoreApproved, metav1.ConditionFalse, report.RestoreReasonMissing)
			Expect(status.Conditions[0].Message).To(And(ContainSubstring("Everything after revision"),
				ContainSubstring(`"approval":"`+cluster.Evidence(ctx).Digest)))
			before.expectUntouched(ctx, cluster)
			restore.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = strings.Repeat("0", 16) })
			restore.Await(ctx, v1alpha1.RestoreApproved, metav1.ConditionFalse, report.RestoreReasonStale)
			before.expectUntouched(ctx, cluster)
			restore.Approve(ctx)
			status = restore.Complete(ctx)
			cluster.AwaitReady(ctx, 1)
			wentBack(ctx, cluster, before, status)

			after, digest := asItIs(ctx, cluster), ""
			restore.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { digest = s.Approval })
			// as when a manifest with its approval is applied once more
			again := cluster.RestoreTo(ctx, "again", toBackup())
			again.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = digest })
			again.Await(ctx, v1alpha1.RestoreApproved, metav1.ConditionFalse, report.RestoreReasonStale)
			after.expectUntouched(ctx, cluster)
		})

	It("goes back to the same backup twice, and a watcher of what was restored first notices it", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			inVolume(ctx, cluster)
			for _, name := range []string{"once", "twice"} {
				cluster.Fill(ctx, "lost", savedKeys) // so that more was served than what is restored begins with
				watcher := cluster.Follow(ctx)
				restore := cluster.RestoreTo(ctx, name, toBackup())
				restore.Approve(ctx)
				restore.Complete(ctx)
				watcher.AwaitNotice(ctx)
				cluster.AwaitReady(ctx, 1)
				Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
				Expect(cluster.Filled(ctx, "lost")).To(BeZero())
			}

			before := asItIs(ctx, cluster)
			few := cluster.RestoreTo(ctx, "few", toBackup(),
				func(s *v1alpha1.EtcdRestoreSpec) { s.BumpRevision = new(int64(1)) })
			few.Approve(ctx)
			status := few.Await(ctx, v1alpha1.RestoreFailed, metav1.ConditionTrue, facts.ReasonRestoreHeld)
			Expect(fmt.Sprint(status.Conditions)).To(ContainSubstring("with at least 3000000000"))
			before.expectUntouched(ctx, cluster)
		})

	It("by two EtcdRestores at once follows the older one, and the other one's approval is stale", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			inVolume(ctx, cluster)
			before := asItIs(ctx, cluster)
			older := cluster.RestoreTo(ctx, "a-later-name", toBackup())
			Eventually(ctx, func() (time.Duration, error) {
				object, err := older.Get(ctx)
				return time.Since(object.CreationTimestamp.Time), err
			}).Should(BeNumerically(">", time.Second), "creation times have seconds")
			younger := cluster.RestoreTo(ctx, "a-first-name", toBackup())
			digest := cluster.Evidence(ctx).Digest
			older.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = digest })
			younger.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = digest })
			status := older.Complete(ctx)
			cluster.AwaitReady(ctx, 1)
			wentBack(ctx, cluster, before, status)
			younger.Await(ctx, v1alpha1.RestoreApproved, metav1.ConditionFalse, report.RestoreReasonStale)
		})

	for _, row := range []struct {
		how     string
		callOff func(context.Context, *world.InPlace)
	}{
		{"deleting the EtcdRestore", func(ctx context.Context, r *world.InPlace) {
			Expect(kube.Client.Delete(ctx, &v1alpha1.EtcdRestore{ObjectMeta: meta(r.Namespace, r.Name)})).To(Succeed())
		}},
		{"taking the approval back", func(ctx context.Context, r *world.InPlace) {
			r.Change(ctx, func(s *v1alpha1.EtcdRestoreSpec) { s.Approval = "" })
		}},
	} {
		It("is called off by "+row.how+" while its data is restored, and goes on as it was", perStory,
			func(ctx context.Context) {
				cluster := story.Create(ctx, "demo", 1)
				cluster.AwaitReady(ctx, 1)
				inVolume(ctx, cluster)
				before, traffic := asItIs(ctx, cluster), cluster.Write(ctx)
				restore := cluster.RestoreTo(ctx, "back", toBackup())
				traffic.During(ctx, func() {
					holdRestorePods(ctx)
					restore.Approve(ctx)
					restore.Await(ctx, v1alpha1.RestorePrepared, metav1.ConditionFalse, report.RestoreReasonRestoring)
					Eventually(ctx, func() map[string]types.UID { return volumes(ctx, cluster) }).Should(HaveLen(2))
					row.callOff(ctx, restore)
					Eventually(ctx, func() map[string]types.UID { return volumes(ctx, cluster) }).Should(
						Equal(before.volumes))
					cluster.AwaitReady(ctx, 1)
				})
				before.expectUntouched(ctx, cluster)
				traffic.Finish(ctx)
			})
	}

	It("goes on when its restore Pod is deleted", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 1)
		cluster.AwaitReady(ctx, 1)
		inVolume(ctx, cluster)
		before := asItIs(ctx, cluster)
		restore := cluster.RestoreTo(ctx, "back", toBackup())
		restore.Approve(ctx)
		pod := &corev1.Pod{}
		Eventually(ctx, func() error { return kube.Client.Get(ctx, key("demo-1-restore"), pod) }).WithPolling(
			50 * time.Millisecond).Should(Succeed())
		Expect(client.IgnoreNotFound(kube.Client.Delete(ctx, pod))).To(Succeed())
		status := restore.Complete(ctx)
		cluster.AwaitReady(ctx, 1)
		wentBack(ctx, cluster, before, status)
	})
})

// holdRestorePods has the namespace's quota let the Pod that looks at a backup by, and no restore Pod: those ask for
// more memory.
func holdRestorePods(ctx context.Context) {
	GinkgoHelper()
	quota := &corev1.ResourceQuota{ObjectMeta: meta(story.Namespace, "hold"),
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			// the member's 512Mi, the preflight's 128Mi, and no more
			corev1.ResourceRequestsMemory: resource.MustParse("700Mi"),
		}}}
	Expect(kube.Client.Create(ctx, quota)).To(Succeed())
	Eventually(ctx, func() (corev1.ResourceList, error) {
		err := kube.Client.Get(ctx, key("hold"), quota)
		return quota.Status.Hard, err
	}).ShouldNot(BeEmpty())
}

var _ = Describe("A cluster of three that is restored in place", Label("restore", "s3"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("goes back to what was saved, and clients come back by themselves", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 3)
		cluster.AwaitReady(ctx, 3)
		lease := cluster.Hold(ctx, "held")
		goesBack(ctx, cluster)
		cluster.Holds(ctx, lease, "held")
	})
})

// goesBack saves a cluster of three to S3, and restores it in place while a client writes and a watcher looks on.
func goesBack(ctx context.Context, cluster *world.Cluster) {
	GinkgoHelper()
	save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
	traffic, watcher, before := cluster.Write(ctx), cluster.Follow(ctx), asItIs(ctx, cluster)
	restore := cluster.RestoreTo(ctx, "back", toBackup())
	restore.Approve(ctx)
	status := restore.Complete(ctx)
	watcher.AwaitNotice(ctx)
	traffic.Flow(ctx)
	cluster.AwaitReady(ctx, 3)
	wentBack(ctx, cluster, before, status)
}

var _ = Describe("A restore in place whose operator is killed", Label("restore", "operator"), func() {
	ownOperator()

	It("at each rule goes on, and stops nothing before everything is restored", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "demo", 1)
		cluster.AwaitReady(ctx, 1)
		inVolume(ctx, cluster)
		before := asItIs(ctx, cluster)
		restore := cluster.RestoreTo(ctx, "back", toBackup())
		stop := operator.KillAtEachRule(cluster)
		restore.Approve(ctx)
		status := restore.Complete(ctx)
		cluster.AwaitReady(ctx, 1)
		Expect(killedAt(stop)).To(ContainElements("restore-begin", "restore-prepare", "restore-fence"))
		wentBack(ctx, cluster, before, status)
	})
})

var _ = Describe("A quorum that is lost", Label("restore", "data"), func() {
	ownNamespace()

	It(
		"with two of three volumes is said with all evidence, never made up for, and comes back from the member that is left", first, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 3)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "kept", savedKeys)
			cluster.AwaitEqualHashes(ctx) // so that whoever is left has heard of all
			survivor := follower(ctx, cluster)
			lost := slices.DeleteFunc([]string{cluster.Member(0), cluster.Member(1), cluster.Member(2)},
				func(m string) bool { return m == survivor })
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost, "source.survivor "+survivor, "No EtcdBackup", "source.empty")
			before := asItIs(ctx, cluster)
			before.expectUntouched(ctx, cluster)

			for _, wrong := range append(lost, cluster.Member(7)) { // who lost the data, and who never was a member
				misled := cluster.RestoreTo(ctx, "from-"+wrong, fromSurvivor(wrong))
				misled.Approve(ctx)
				misled.Await(ctx, v1alpha1.RestoreFailed, metav1.ConditionTrue, facts.ReasonRestoreHeld)
				Expect(kube.Client.Delete(ctx,
					&v1alpha1.EtcdRestore{ObjectMeta: meta(story.Namespace, misled.Name)})).To(
					Succeed())
			}
			before.expectUntouched(ctx, cluster)

			restore := cluster.RestoreTo(ctx, "rebuilt", fromSurvivor(survivor))
			restore.Approve(ctx)
			status := restore.Complete(ctx)
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Filled(ctx, "kept")).To(Equal(savedKeys))
			Expect(status.OldVolumes).To(ContainElement(survivor))
			Expect(podUIDs(ctx, cluster)).NotTo(HaveKey(survivor))
			cluster.Write(ctx).Finish(ctx)
		})

	It("with two of three volumes comes back from the member that is left although that one was restarted", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 3)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "kept", savedKeys)
			cluster.AwaitEqualHashes(ctx)
			survivor := cluster.Member(0)
			lost := []string{cluster.Member(1), cluster.Member(2)}
			loseVolumes(ctx, cluster, lost...)
			expectLost(ctx, cluster, lost)
			deletePod(ctx, cluster, survivor)
			expectLost(ctx, cluster, lost, "one that stopped answering ("+survivor)
			restore := cluster.RestoreTo(ctx, "rebuilt", fromSurvivor(survivor))
			restore.Approve(ctx)
			restore.Complete(ctx)
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Filled(ctx, "kept")).To(Equal(savedKeys))
			cluster.Write(ctx).Finish(ctx)
		})

	It("with all of the data comes back from the backup, and what was said to be lost is what is lost", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			inVolume(ctx, cluster)
			loseVolumes(ctx, cluster, cluster.Member(0))
			evidence := expectLost(ctx, cluster, []string{cluster.Member(0)}, "the EtcdBackup first")
			Expect(evidence.Backup).NotTo(BeNil())
			Expect(evidence.Message).To(ContainSubstring(fmt.Sprintf("everything after its revision %d would be lost",
				evidence.Backup.Revision)))
			restore := cluster.RestoreTo(ctx, "back", toBackup())
			restore.Approve(ctx)
			restore.Complete(ctx)
			cluster.AwaitReady(ctx, 1)
			Expect(cluster.Filled(ctx, "saved")).To(Equal(savedKeys))
			Expect(cluster.Filled(ctx, "lost")).To(BeZero())
			cluster.Write(ctx).Finish(ctx)
		})

	It("with all of the data and no backup begins empty, and only when that was approved", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "demo", 1)
			cluster.AwaitReady(ctx, 1)
			early := cluster.RestoreTo(ctx, "early", v1alpha1.EtcdRestoreSource{Empty: &v1alpha1.EmptySource{}})
			early.Approve(ctx) // while the cluster serves
			early.Await(ctx, v1alpha1.RestoreFailed, metav1.ConditionTrue, facts.ReasonRestoreHeld)
			cluster.Fill(ctx, "kept", savedKeys)
			loseVolumes(ctx, cluster, cluster.Member(0))
			expectLost(ctx, cluster, []string{cluster.Member(0)}, "source.empty everything")
			early.Await(ctx, v1alpha1.RestoreApproved, metav1.ConditionFalse, report.RestoreReasonStale)
			expectNobodyServes(ctx, cluster)
			early.Approve(ctx)
			early.Complete(ctx)
			cluster.AwaitReady(ctx, 1)
			Expect(cluster.Filled(ctx, "kept")).To(BeZero())
			cluster.Write(ctx).Finish(ctx)
		})
})
