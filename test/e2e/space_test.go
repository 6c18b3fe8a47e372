package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// How many filled keys take 60 MiB, 20 MiB and 110 MiB. A share of a file counts from 100 MiB on.
const given, little, large = 1500, 500, 2800

var _ = Describe("Room that etcd does not use", Label("space"), func() {
	ownNamespace()

	It("is given back by every member once a person asks, under load, the leader last", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "roomy", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, given)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			askToDefragment(ctx, cluster)
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("ends the alarm NOSPACE by itself where what is in use leaves enough", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "full", 3, world.Quota("64Mi"))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Fill(ctx, "gone", given/2)
		cluster.FillUp(ctx)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.Empty(ctx, "gone")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		awaitGivenBack(ctx, cluster)
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("ends the alarm NOSPACE by itself where history fills it, and keeps what watchers need", Label("core"), first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "historic", 3, world.Quota("32Mi"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{KeepHistory: &metav1.Duration{Duration: 5 * time.Second}}
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.FillUp(ctx)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		expectSaid(ctx, cluster, "compact", "as spec.maintenance.keepHistory asks")
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("is made by a larger quota where keys fill all, as far as the spec allows", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "growing", 3, world.Quota("32Mi"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{KeepHistory: &metav1.Duration{},
				AutoGrow: &v1alpha1.AutoGrowSpec{Limit: resource.MustParse("512Mi")}}
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		kept := cluster.FillUpWithKeys(ctx, "kept")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		Expect(cluster.Intact(ctx, "kept")).To(Equal(kept))
		for name := range podsOf(ctx, cluster) {
			pod, err := cluster.Pod(ctx, name)
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.Spec.Containers[0].Args).To(ContainElement(ContainSubstring("--quota-backend-bytes=536870912")))
		}
		object, err := cluster.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Spec.Etcd.QuotaBackendBytes.String()).To(Equal("32Mi"))
		expectSame(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("is given back by the only member, which answers nothing meanwhile and is not restarted for it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "single", 1)
		cluster.AwaitReady(ctx, 1)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, given)
		askToDefragment(ctx, cluster)
		awaitGivenBack(ctx, cluster)
		cluster.AwaitReady(ctx, 1)
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("is given back under load at the time that the spec names, and not before", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "timed", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, little)
		traffic := cluster.Write(ctx)
		at := time.Now().UTC().Add(5 * time.Second).Truncate(time.Minute).Add(time.Minute)
		traffic.During(ctx, func() {
			cluster.Change(ctx, defragment(&v1alpha1.DefragmentSpec{Schedule: at.Format("4 15 * * *")}))
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		expectEachDefragmented(ctx, cluster, at)
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("is given back under load once it is the share that the spec names", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "shared", 3, func(c *v1alpha1.EtcdCluster) {
			defragment(&v1alpha1.DefragmentSpec{Reclaimable: new(int32(50))})(&c.Spec)
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Fill(ctx, "gone", large)
			Expect(defragPods(ctx)).To(BeEmpty(), "all of it is in use")
			cluster.Empty(ctx, "gone")
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		expectEachDefragmented(ctx, cluster, time.Time{})
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("is given back by a member that takes longer than repair.replaceAfter, and it is neither replaced nor restarted", perStory, func(ctx context.Context) {
		const replaceAfter = 30 * time.Second
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "slow", 3, world.ReplaceAfter(replaceAfter))
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, little)
		traffic := cluster.Write(ctx)
		hold := cluster.HoldDefragmentation(ctx)
		traffic.During(ctx, func() {
			askToDefragment(ctx, cluster)
			busy := hold.Await(ctx)
			Eventually(ctx, func() (string, error) { return reasonOf(ctx, cluster, busy) }).Should(Equal("Defragmenting"))
			Consistently(ctx, func() any { return podsOf(ctx, cluster) }).WithTimeout(replaceAfter + 10*time.Second).Should(Equal(was.pods))
			Expect(defragPod(ctx, busy).Status.Phase).To(Equal(corev1.PodRunning), "it is busy all the while")
			hold.Release()
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		expectEachDefragmented(ctx, cluster, time.Time{})
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("is given back by members on slow disks, which take longer than repair.replaceAfter for it, and none is replaced or restarted", perStory,
		func(ctx context.Context) {
			const replaceAfter, perSecond = 30 * time.Second, 3 << 19
			kube.NeedLocalkube()
			cluster := story.Create(ctx, "sluggish", 3, world.ReplaceAfter(replaceAfter))
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "kept", given)
			leaveRoom(ctx, cluster, large)
			var slows []func(context.Context, int)
			for i := range 3 {
				slow := cluster.MoveToOwnDisk(ctx, cluster.Member(i), 1024)
				cluster.AwaitReady(ctx, 3)
				slows = append(slows, slow)
			}
			for _, slow := range slows {
				slow(ctx, perSecond)
			}
			was := identityOf(ctx, cluster)
			restarts := restartsOf(ctx, cluster)
			traffic := cluster.Write(ctx)
			traffic.During(ctx, func() {
				askToDefragment(ctx, cluster)
				awaitGivenBack(ctx, cluster)
				cluster.AwaitReady(ctx, 3)
			})
			expectEachDefragmented(ctx, cluster, time.Time{})
			for _, pod := range defragPods(ctx) {
				ended := pod.Status.ContainerStatuses[0].State.Terminated
				Expect(ended.FinishedAt.Sub(ended.StartedAt.Time)).To(BeNumerically(">", replaceAfter), "the disk of %s is slow", pod.Name)
			}
			Expect(restartsOf(ctx, cluster)).To(Equal(restarts))
			expectUntouched(ctx, cluster, was)
			Expect(cluster.Intact(ctx, "kept")).To(Equal(given))
			traffic.Finish(ctx)
		})

	It("is not given back while a backup reads, and is once it has", Label("s3"), perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "read", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "saved", severalParts)
		leaveRoom(ctx, cluster, little)
		proxy := kube.S3Server(s3server.Versitygw).Proxy(GinkgoTB())
		upload := proxy.Inject(s3server.StallUpload(1).On(s3server.PutObject, s3server.UploadPart))
		traffic := cluster.Write(ctx)
		backup := story.Backup(ctx, "first", cluster.Name, story.ToS3(ctx, proxy.Access))
		Eventually(ctx, upload.Reached()).Should(BeClosed())
		askToDefragment(ctx, cluster)
		expectSaid(ctx, cluster, "defragment", "has read its backup")
		// The agent waits for its store half a minute, and that began a moment ago.
		Consistently(ctx, func() []corev1.Pod { return defragPods(ctx) }).WithTimeout(10 * time.Second).Should(BeEmpty())
		upload.Release()
		backup.Await(ctx, v1alpha1.BackupVerified)
		awaitGivenBack(ctx, cluster)
		cluster.AwaitReady(ctx, 3)
		expectEachDefragmented(ctx, cluster, time.Time{})
		traffic.Finish(ctx)
	})

	It("is given back by one member while a backup is made of another one", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "beside", 3)
		cluster.AwaitReady(ctx, 3)
		story.Claim(ctx, "backups")
		leaveRoom(ctx, cluster, little)
		traffic := cluster.Write(ctx)
		hold := cluster.HoldDefragmentation(ctx)
		askToDefragment(ctx, cluster)
		busy := hold.Await(ctx)
		status := story.Backup(ctx, "first", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
		Expect(status.Member).To(SatisfyAll(Not(BeEmpty()), Not(Equal(busy))))
		Expect(defragPod(ctx, busy).Status.Phase).To(Equal(corev1.PodRunning), "it is busy all the while")
		hold.Release()
		awaitGivenBack(ctx, cluster)
		cluster.AwaitReady(ctx, 3)
		expectEachDefragmented(ctx, cluster, time.Time{})
		traffic.Finish(ctx)
	})

	It("is not given back where a quota refuses the Pod for it: that is said, a quorum serves, and nothing is needed once there is room", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "refused", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, little)
		quota := limitNamespace(ctx, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")})
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			askToDefragment(ctx, cluster)
			expectHeard(ctx, cluster, "QuotaExceeded")
			Consistently(ctx, func() int { return len(readyAddresses(ctx, cluster.Name)) }).WithTimeout(watching).
				Should(BeNumerically(">=", 2), "members to whom clients are led")
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).Should(Succeed())
			Expect(kube.Client.Delete(ctx, quota)).To(Succeed())
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("stays where it is when the annotation or the setting is taken away before a member began", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "kept", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, little)
		before, _, err := cluster.Sizes(ctx)
		Expect(err).NotTo(HaveOccurred())
		quota := limitNamespace(ctx, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}) // so that none begins
		for _, row := range []struct{ ask, takeBack func() }{
			{func() { askToDefragment(ctx, cluster) }, func() { annotate(ctx, cluster, v1alpha1.AnnotationDefragment, "null") }},
			{
				func() { cluster.Change(ctx, defragment(&v1alpha1.DefragmentSpec{Schedule: "@every 1m"})) },
				func() { cluster.Change(ctx, defragment(nil)) },
			},
		} {
			row.ask()
			cluster.AwaitStep(ctx, "QuotaExceeded")
			row.takeBack()
			cluster.AwaitReady(ctx, 3)
			Eventually(ctx, func() any { return readyAddresses(ctx, cluster.Name) }).Should(HaveLen(3))
		}
		Expect(kube.Client.Delete(ctx, quota)).To(Succeed())
		Consistently(ctx, func() []corev1.Pod { return defragPods(ctx) }).WithTimeout(watching).Should(BeEmpty())
		after, _, err := cluster.Sizes(ctx)
		Expect(err).NotTo(HaveOccurred())
		for member, size := range before {
			Expect(after[member]).To(BeNumerically(">=", size), member)
		}
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
	})
})

var _ = Describe("A member that is busy giving room back", Label("space", "operator"), func() {
	ownOperator()

	for _, row := range []struct {
		what     string
		kill     func(context.Context, *world.Cluster, *world.Hold, string)
		restarts int
	}{
		{"its operator is killed, and the status with it", killOperatorOf, 0},
		{"the container that asked it is killed", killAskerOf, 0},
		{"its own etcd is killed", killEtcdOf, 1},
	} {
		It("loses nothing while "+row.what+", and all room is given back", perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "busy", 3)
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			leaveRoom(ctx, cluster, little)
			traffic := cluster.Write(ctx)
			hold := cluster.HoldDefragmentation(ctx)
			busy := ""
			traffic.During(ctx, func() {
				askToDefragment(ctx, cluster)
				busy = hold.Await(ctx)
				row.kill(ctx, cluster, hold, busy)
				awaitGivenBack(ctx, cluster)
				cluster.AwaitReady(ctx, 3)
			})
			expectUntouched(ctx, cluster, was)
			for member := range was.pods {
				if member == busy {
					Expect(cluster.Restarts(ctx, member)).To(Equal(row.restarts), member)
				} else {
					Expect(cluster.Restarts(ctx, member)).To(BeZero(), member)
				}
			}
			traffic.Finish(ctx)
		})
	}
})

var _ = Describe("An operator that is killed after each change", Label("space", "operator"), func() {
	ownOperator()

	It("still has every member give room back, under load", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "asked", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, little)
		traffic := cluster.Write(ctx)
		stop := operator.KillAtEachChange(cluster)
		traffic.During(ctx, func() {
			askToDefragment(ctx, cluster)
			awaitGivenBack(ctx, cluster)
			cluster.AwaitReady(ctx, 3)
		})
		Expect(killedAt(stop)).To(ContainElements("LabelRole", "StartDefrag", "MoveLeader"))
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("still ends the alarm NOSPACE where history fills it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "historic", 3, world.Quota("32Mi"), func(c *v1alpha1.EtcdCluster) {
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{KeepHistory: &metav1.Duration{Duration: 5 * time.Second}}
		})
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		const keys = 100
		cluster.Fill(ctx, "kept", keys)
		stop := operator.KillAtEachChange(cluster)
		cluster.FillUp(ctx)
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NOSPACE")
		cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
		cluster.AwaitReady(ctx, 3)
		Expect(killedAt(stop)).To(ContainElements("Compact", "StartDefrag", "DisarmAlarms"))
		Expect(cluster.Intact(ctx, "kept")).To(Equal(keys))
		expectNoRestarts(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		cluster.Write(ctx).Finish(ctx)
	})

	It("still replaces a copy that differs, and writes come back", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "corrupt", 3, comparing("by the hour", world.DefaultVersion))
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, corruptible, 50)
		traffic := cluster.Write(ctx)
		before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
		owned := volumes(ctx, cluster)
		stop := operator.KillAtEachChange(cluster)
		traffic.During(ctx, func() {
			cluster.Corrupt(ctx, victim, '1')
			Eventually(ctx, func() map[string]etcdutil.ID { return cluster.Identities(ctx) }).ShouldNot(HaveKey(victim))
			cluster.AwaitReady(ctx, 3)
		})
		Expect(killedAt(stop)).To(ContainElements("MarkVolume", "RemoveMember", "DisarmAlarms", "Promote"))
		expectReplaced(ctx, cluster, before, victim)
		Expect(expectKeptCopy(ctx, cluster, victim)).To(Equal(owned[victim]))
		traffic.FinishAfterOutage(ctx)
		Expect(cluster.Intact(ctx, corruptible)).To(Equal(50))
	})
})

var _ = Describe("Another member whose etcd is killed after a change", Label("space", "operator"), func() {
	ownOperator()

	It("is waited for, and every member gives room back with no key lost", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "struck", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		leaveRoom(ctx, cluster, little)
		traffic := cluster.Write(ctx)
		kills := 0
		stop := operator.AtEachChange(cluster, func() {
			if kills++; kills <= 4 { // each makes changes of its own
				cluster.KillEtcd(ctx, memberNotAsked(ctx, cluster, kills))
			}
		})
		askToDefragment(ctx, cluster)
		awaitGivenBack(ctx, cluster)
		Expect(killedAt(stop)).To(ContainElements("LabelRole", "StartDefrag"))
		cluster.AwaitReady(ctx, 3)
		expectUntouched(ctx, cluster, was)
		traffic.FinishAfterOutage(ctx)
		cluster.AwaitEqualHashes(ctx)
	})
})

// memberNotAsked is another member each time, and none that is defragmented now.
func memberNotAsked(ctx context.Context, c *world.Cluster, turn int) string {
	GinkgoHelper()
	asked := map[string]bool{}
	for _, pod := range defragPods(ctx) {
		asked[pod.Labels[v1alpha1.LabelMember]] = pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning
	}
	member := c.Member(turn % 3)
	if asked[member] {
		member = c.Member((turn + 1) % 3)
	}
	return member
}

// killOperatorOf has an operator find the busy member that knows of it by its Pod alone.
func killOperatorOf(ctx context.Context, cluster *world.Cluster, hold *world.Hold, busy string) {
	GinkgoHelper()
	operator.Kill()
	wipeStatus(ctx, cluster)
	operator.Start()
	cluster.AwaitStep(ctx, "Defragment")
	Expect(defragPod(ctx, busy).Status.Phase).To(Equal(corev1.PodRunning))
	hold.Release()
}

// killAskerOf kills the process that waits for the member's answer. etcd goes on.
func killAskerOf(ctx context.Context, cluster *world.Cluster, hold *world.Hold, busy string) {
	GinkgoHelper()
	asker := defragPod(ctx, busy)
	reason := func() (string, error) { return reasonOf(ctx, cluster, busy) }
	Eventually(ctx, reason).Should(Equal("Defragmenting"))
	kube.KillSteps(ctx, world.Victim{Pod: asker, Command: "/agent defragment"})
	Consistently(ctx, reason).WithTimeout(5 * time.Second).Should(Equal("Defragmenting"))
	hold.Release()
	Eventually(ctx, func(g Gomega) {
		sizes, _, err := cluster.Sizes(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sizes[busy]).To(BeNumerically("<", 8<<20))
	}).Should(Succeed())
	Expect(defragPod(ctx, busy).UID).To(Equal(asker.UID), "it was asked once")
}

// killEtcdOf kills the member itself, which comes back with the file that it had. It would be asked again ten minutes later. A
// person who deletes its Pod has it asked at once.
func killEtcdOf(ctx context.Context, cluster *world.Cluster, hold *world.Hold, busy string) {
	GinkgoHelper()
	cluster.KillEtcd(ctx, busy)
	hold.Release()
	Eventually(ctx, func() corev1.PodPhase { return defragPod(ctx, busy).Status.Phase }).Should(Equal(corev1.PodFailed))
	expectSaid(ctx, cluster, "defragment", busy+" could not be defragmented")
	Expect(kube.Client.Delete(ctx, defragPod(ctx, busy))).To(Succeed())
}

// leaveRoom has every member's file keep room for so many keys that are gone.
func leaveRoom(ctx context.Context, c *world.Cluster, keys int) {
	GinkgoHelper()
	c.Fill(ctx, "gone", keys)
	c.Empty(ctx, "gone")
}

// defragment sets when the spec has members defragmented; nil takes that away.
func defragment(when *v1alpha1.DefragmentSpec) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Maintenance = &v1alpha1.MaintenanceSpec{Defragment: when} }
}

// askToDefragment writes what a person writes.
func askToDefragment(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	annotate(ctx, c, v1alpha1.AnnotationDefragment, rightNow())
}

// rightNow is the time as a person writes it, as JSON.
func rightNow() string { return time.Now().UTC().Format(`"` + time.RFC3339 + `"`) }

// annotate writes an annotation as JSON; null takes it away.
func annotate(ctx context.Context, c *world.Cluster, annotation, value string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, annotation, value)
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// defragPods are the Pods of the story that have members defragmented, or had.
func defragPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(kube.Client.List(ctx, list, client.InNamespace(story.Namespace),
		client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentDefrag})).To(Succeed())
	return list.Items
}

// restartsOf is how often each member's etcd was started again inside its Pod.
func restartsOf(ctx context.Context, c *world.Cluster) map[string]int {
	GinkgoHelper()
	restarts := map[string]int{}
	for member := range podsOf(ctx, c) {
		n, err := c.Restarts(ctx, member)
		Expect(err).NotTo(HaveOccurred())
		restarts[member] = n
	}
	return restarts
}

// defragPod is that of one member.
func defragPod(ctx context.Context, member string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{}
	Expect(kube.Client.Get(ctx, key(resources.DefragPod(member)), pod)).To(Succeed())
	return pod
}

// expectEachDefragmented expects one Pod for each member, made then or later, that ended well.
func expectEachDefragmented(ctx context.Context, c *world.Cluster, since time.Time) {
	GinkgoHelper()
	for member := range podsOf(ctx, c) {
		Eventually(ctx, func() corev1.PodPhase { return defragPod(ctx, member).Status.Phase }).Should(Equal(corev1.PodSucceeded), member)
		Expect(defragPod(ctx, member).CreationTimestamp.Time).To(BeTemporally(">=", since), member)
	}
}

// reasonOf is why a member is not healthy, as the status has it.
func reasonOf(ctx context.Context, c *world.Cluster, member string) (string, error) {
	object, err := c.Get(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range object.Status.Members {
		if m.Name == member {
			return m.Reason, nil
		}
	}
	return "", fmt.Errorf("the status has no member %s", member)
}

// awaitGivenBack waits until every member's file is less than twice of what is in use.
func awaitGivenBack(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		sizes, inUse, err := c.Sizes(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for name, size := range sizes {
			g.Expect(size).To(BeNumerically("<", max(2*inUse[name], 8<<20)), "the database of %s", name)
		}
	}).WithTimeout(world.Patience).Should(Succeed(), "the decisions are\n%s", c.History)
}
