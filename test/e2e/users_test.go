package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// someUser is one that nothing here runs as by default.
const someUser = 10001

// asUser has the Pods of a cluster run as a user, and the group of that number.
func asUser(id int64) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) {
		s.Pod.SecurityContext = &v1alpha1.PodSecurityContext{RunAsUser: &id}
	}
}

// expectUser expects each Pod to run as a user, and files of volumes to be given to a group.
func expectUser(pods []corev1.Pod, user, group int64) {
	GinkgoHelper()
	Expect(pods).NotTo(BeEmpty())
	for _, pod := range pods {
		Expect(pod.Spec.SecurityContext.RunAsUser).To(HaveValue(Equal(user)), pod.Name)
		Expect(pod.Spec.SecurityContext.FSGroup).To(HaveValue(Equal(group)), pod.Name)
	}
}

var _ = Describe("The user that members run as", Label("platforms"), func() {
	ownNamespace()

	It("changes by a roll, and changes back: each one reads what the one before wrote", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "users", 3, story.OnLocalVolumes(ctx))
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
		expectUser(listPods(ctx, cluster), 65532, 65532)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, asUser(someUser))
			cluster.AwaitReady(ctx, 3)
			expectUser(listPods(ctx, cluster), someUser, someUser)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
			cluster.AwaitReady(ctx, 3)
			expectUser(listPods(ctx, cluster), 65532, 65532)
		})
		expectSame(ctx, cluster, was)
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		cluster.AwaitEqualHashes(ctx)
	})

	It("ends the roll at the first member where Kubernetes leaves files as they are, and that one starts again once it is put back", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "users", 3)
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), specOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, asUser(someUser))
			Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(world.Patience).Should(SatisfyAll(
				HavePrefix("MemberCrashing: "), ContainSubstring("permission denied")))
			first := theOneStopped(ctx, cluster, was)
			Consistently(ctx, func() error { return onlyStopped(ctx, cluster, was, first) }).WithTimeout(watching).Should(Succeed())
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = before })
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("is the one that backs a cluster up and restores it, from the first start on", perStory, func(ctx context.Context) {
		another := func(c *v1alpha1.EtcdCluster) { asUser(someUser)(&c.Spec) }
		cluster := story.Create(ctx, "demo", 1, another)
		cluster.AwaitReady(ctx, 1)
		expectUser(listPods(ctx, cluster), someUser, someUser)
		story.Claim(ctx, "backups")
		save(ctx, cluster, world.ToVolume("backups"))
		expectUser(backupPods(ctx), someUser, someUser)
		restored := story.Create(ctx, "restored", 1, another, fromBackup("first"))
		restored.AwaitReady(ctx, 1)
		expectUser(listPods(ctx, restored), someUser, someUser)
		holdsBackup(ctx, restored, cluster)
		goBack(ctx, cluster)
	})
})

var _ = Describe("A platform that hands out user and group IDs", Label("platforms"), func() {
	BeforeEach(func(ctx context.Context) {
		kube.NeedLocalkube()
		var err error
		story, err = kube.NewStoryWithOwnOperator(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("gives members and tasks its own, and admits the operator's Pod of config/openshift", perStory, func(ctx context.Context) {
		operators := kube.Overlay(ctx, "openshift")
		operators.Spec.ServiceAccountName = "" // it is in the operator's namespace
		enforce(ctx, "restricted")
		story.HandOutIDs(ctx, operators)
		Expect(story.Admits(ctx, operators)).To(HaveField("Spec.SecurityContext.RunAsUser", HaveValue(BeEquivalentTo(world.FirstID))))
		elsewhere := kube.Overlay(ctx, "default")
		elsewhere.Spec.ServiceAccountName = ""
		_, err := story.Admits(ctx, elsewhere)
		Expect(err).To(MatchError(ContainSubstring("must be in the range")), "the policy refuses IDs that are fixed")

		fixed := story.StartOperator(ctx, "--platform-ids=auto")
		cluster := story.Create(ctx, "demo", 3)
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(saidWithin).Should(
			ContainSubstring("must be in the range"), "nothing here tells that IDs are handed out")
		fixed.Kill()
		story.StartOperator(ctx, "--platform-ids=true")
		cluster.AwaitReady(ctx, 3)
		expectUser(listPods(ctx, cluster), world.FirstID, world.FirstID)
		pods := podsOf(ctx, cluster)

		store := story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access)
		save(ctx, cluster, store)
		expectUser(backupPods(ctx), world.FirstID, world.FirstID)
		restored := story.Create(ctx, "restored", 3, fromBackup("first"))
		restored.AwaitReady(ctx, 3)
		expectUser(listPods(ctx, restored), world.FirstID, world.FirstID)
		holdsBackup(ctx, restored, cluster)
		Expect(podsOf(ctx, cluster)).To(Equal(pods))
		goBack(ctx, cluster)
	})
})
