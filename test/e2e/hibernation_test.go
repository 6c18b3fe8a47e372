package e2e

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A cluster with size 0", Label("lifecycle"), func() {
	ownNamespace()

	It("sleeps, while nothing of it is written, and wakes as the same cluster with every key", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		putToSleep(ctx, cluster)
		expectAsleep(ctx, cluster)
		expectUnwritten(ctx, cluster)
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		expectSame(ctx, cluster, was)
		Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		traffic.FinishAfterOutage(ctx)
	})

	It("wakes at another size and patch, without a volume that was lost meanwhile", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3, world.Version("3.5.21"))
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		before := cluster.Identities(ctx)
		putToSleep(ctx, cluster)
		lost := cluster.Member(1)
		Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(cluster.Namespace, lost)})).To(Succeed())
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size, s.Version = 5, "3.5.35" })
		cluster.AwaitReady(ctx, 5)
		after := cluster.Identities(ctx)
		Expect(after).To(HaveKeyWithValue(cluster.Member(0), before[cluster.Member(0)]))
		Expect(after).To(HaveKeyWithValue(cluster.Member(2), before[cluster.Member(2)]))
		Expect(after).NotTo(HaveKey(lost))
		Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		expectVersion(ctx, cluster, "3.5.35")
		cluster.Write(ctx).Finish(ctx)
	})

	It("is deleted and created again asleep, starts nothing, and wakes on its volumes", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		was := identityOf(ctx, cluster)
		putToSleep(ctx, cluster)
		deleteCluster(ctx, cluster)
		again := story.Create(ctx, "sleepy", 0)
		again.ClusterID = cluster.ClusterID
		again.AwaitStep(ctx, facts.ReasonAsleep)
		expectAsleep(ctx, again)
		again.Resize(ctx, 3)
		again.AwaitReady(ctx, 3)
		expectSame(ctx, again, was)
		Expect(again.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
	})

	It("in the middle of a turn of TLS wakes as a cluster, although a quota refused its Pods", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3, func(c *v1alpha1.EtcdCluster) { asksForTLS(v1alpha1.TLSPermissive)(&c.Spec) })
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		was := identityOf(ctx, cluster)
		cluster.Change(ctx, asksForTLS(v1alpha1.TLSDisabled))
		Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement("peer-url"))
		putToSleep(ctx, cluster)
		quota := limitNamespace(ctx, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")})
		asleep, err := settingsOnVolumes(ctx, cluster)
		Expect(err).NotTo(HaveOccurred())
		cluster.Resize(ctx, 3)
		cluster.AwaitStep(ctx, apply.RejectedQuota)
		Consistently(ctx, func() ([]string, error) { return settingsOnVolumes(ctx, cluster) }).WithTimeout(15*time.Second).
			Should(Equal(asleep), "no member can list one otherwise while all are down")
		Expect(kube.Client.Delete(ctx, quota)).To(Succeed())
		Eventually(ctx, func() (int, error) { return reachedBy(ctx, cluster, etcdutil.TransportPlain) }).WithTimeout(4 * time.Minute).
			Should(Equal(3))
		cluster.AwaitReady(ctx, 3)
		expectSame(ctx, cluster, was)
		Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
	})

	It("in the middle of a roll, and back midway, loses nothing that was acknowledged", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		cluster.Change(ctx, otherSettings)
		Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement("roll"))
		cluster.Resize(ctx, 0)
		Eventually(ctx, cluster.History.Rules).WithPolling(20 * time.Millisecond).Should(ContainElement("hibernate"))
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		putToSleep(ctx, cluster)
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		expectSame(ctx, cluster, was)
		expectOtherSettings(ctx, cluster)
		traffic.FinishAfterOutage(ctx)
	})

	It("whose data is to leave its Pods by the same edit sleeps once all of it is on volumes, and wakes with every key", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "sleepy", 3, world.Ephemeral)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "kept", 3)
			traffic := cluster.Write(ctx)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Size, s.Storage = 0, nil })
			putToSleep(ctx, cluster)
			expectAsleep(ctx, cluster)
			Expect(volumes(ctx, cluster)).To(HaveLen(3))
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
			traffic.FinishAfterOutage(ctx)
		})

	It("of which nothing is there is not created before it has a size", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "unborn", 0)
		cluster.AwaitStep(ctx, facts.ReasonAsleep)
		Consistently(ctx, func() ([]corev1.Pod, error) { return cluster.Pods(ctx) }).WithTimeout(watching / 3).Should(BeEmpty())
		cluster.Resize(ctx, 1)
		cluster.AwaitReady(ctx, 1)
	})
})

var _ = Describe("A cluster that sleeps", Label("nodes"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("wakes as itself after every node was restarted", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		was := identityOf(ctx, cluster)
		putToSleep(ctx, cluster)
		nodes, err := kube.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, node := range nodes {
			kube.KillNode(ctx, node)
		}
		for _, node := range nodes {
			kube.StartNode(ctx, node)
		}
		kube.AwaitNodesReady(ctx)
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		expectSame(ctx, cluster, was)
		Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
	})
})

var _ = Describe("A cluster that sleeps while the operator is away", Label("operator"), func() {
	ownOperator()

	It("wakes with new certificates where all ended meanwhile, and asleep none is issued", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "sleepy", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		was, member := identityOf(ctx, cluster), cluster.Member(1)
		putToSleep(ctx, cluster)
		operator.Kill() // it keeps what it read of Secrets for minutes
		endCertificates(ctx, cluster)
		ended := storedCertificate(ctx, member)
		Expect(ended.NotAfter).To(BeTemporally("<", time.Now()))
		operator.Start()
		Consistently(ctx, func() *x509.Certificate { return storedCertificate(ctx, member) }).WithTimeout(watching / 3).Should(Equal(ended))
		expectAsleep(ctx, cluster)
		cluster.Resize(ctx, 3)
		cluster.AwaitReady(ctx, 3)
		Expect(storedCertificate(ctx, member).NotAfter).To(BeTemporally(">", time.Now().Add(24*time.Hour)))
		expectSame(ctx, cluster, was)
		Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		cluster.Write(ctx).Finish(ctx)
	})
})

var _ = Describe("A cluster that sleeps while the operator is exchanged", Label("operator"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is started by a release that does not know size 0, sleeps again under this one, and wakes as itself", NodeTimeout(15*time.Minute),
		func(ctx context.Context) {
			before, now := kube.BuildCommit(ctx, world.PreviousCommit), kube.Installed()
			DeferCleanup(func(ctx context.Context) { now.Deploy(ctx) })
			cluster := story.Create(ctx, "sleepy", 3)
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, "kept", 3)
			was := identityOf(ctx, cluster)
			putToSleep(ctx, cluster)
			before.Deploy(ctx)
			Eventually(ctx, func() error { return cluster.CheckServing(ctx, 3) }).WithTimeout(world.Patience).Should(Succeed())
			now.Deploy(ctx)
			Eventually(ctx, func() ([]corev1.Pod, error) { return cluster.Pods(ctx) }).WithTimeout(world.Patience).Should(BeEmpty())
			cluster.AwaitStep(ctx, facts.ReasonAsleep)
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
			expectSame(ctx, cluster, was)
			Expect(cluster.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		})
})

// endCertificates puts certificates that ended, of the same CAs, in the place of all that a cluster of three has.
func endCertificates(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	held := map[string][]resources.Certificate{}
	for _, name := range []string{resources.ClientSecret(c.Name), resources.OperatorSecret(c.Name)} {
		held[name] = resources.Certificates(object, name)
	}
	for i := range 3 {
		held[resources.MemberSecret(c.Member(i))] = resources.MemberCertificates(object, c.Member(i), "")
	}
	for name, certificates := range held {
		secret := &corev1.Secret{}
		Expect(kube.Client.Get(ctx, key(name), secret)).To(Succeed())
		for _, certificate := range certificates {
			certificate.Leaf.Validity = time.Hour
			pair, err := authority(ctx, certificate.CA).Issue(certificate.Leaf, time.Now().Add(-12*time.Hour)) // the CA is older by its allowance
			Expect(err).NotTo(HaveOccurred())
			secret.Data[certificate.CertKey], secret.Data[certificate.KeyKey] = pair.Cert, pair.Key
		}
		Expect(kube.Client.Update(ctx, secret)).To(Succeed())
	}
}

// putToSleep asks for no member, and waits until none runs and nothing is left to do.
func putToSleep(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	c.Resize(ctx, 0)
	c.AwaitStep(ctx, facts.ReasonAsleep)
	Eventually(ctx, func() ([]corev1.Pod, error) { return c.Pods(ctx) }).Should(BeEmpty())
}

// expectAsleep expects a cluster at rest, of which nothing is called wrong.
func expectAsleep(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	c.AwaitCondition(ctx, v1alpha1.ConditionAvailable, "False", facts.ReasonAsleep)
	c.AwaitCondition(ctx, v1alpha1.ConditionDegraded, "False", facts.ReasonAsleep)
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(object.Status.Size).To(BeZero())
	Expect(object.Status.Members).To(HaveLen(3), "by their volumes")
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).To(BeEmpty())
}

// expectUnwritten expects the operator to write nothing for a while.
func expectUnwritten(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	since := mark(ctx)
	Consistently(ctx, func() ([]world.Request, error) { return kube.OperatorWrites(ctx, since, c.Namespace) }).WithTimeout(watching).
		Should(BeEmpty(), "decisions:\n%s", c.History)
}

// settingsOnVolumes are what the next Pods of the first three members are made from.
func settingsOnVolumes(ctx context.Context, c *world.Cluster) (out []string, err error) {
	for i := range 3 {
		claim := &corev1.PersistentVolumeClaim{}
		err = errors.Join(err, kube.Client.Get(ctx, key(c.Member(i)), claim))
		out = append(out, claim.Annotations[v1alpha1.AnnotationInputs])
	}
	return out, err
}
