package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("An operator that is killed while it takes over what a deleted cluster left", Label("operator"), func() {
	ownOperator()

	It("between any two of its writes, goes on from there, and every member resumes on its volume", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "kept", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		cluster.Fill(ctx, "kept", 3)
		cluster.Write(ctx).Finish(ctx)
		deleteCluster(ctx, cluster)
		operator.Kill()
		left := leftBehind(cluster)
		withheld := story.Withhold(ctx, left...)
		again := story.Create(ctx, "kept", 3)
		again.ClusterID = cluster.ClusterID
		// With some taken over and one more refused it is between two writes.
		for i, next := range left {
			since := mark(ctx)
			operator.Start()
			Eventually(ctx, func() []string { return takenOver(ctx, again, left) }).Should(HaveLen(i), "taken over")
			Eventually(ctx, func() ([]string, error) { return refusedWrites(ctx, since) }).Should(ContainElement(next.GetName()), "tried and refused")
			operator.Kill()
			Expect(takenOver(ctx, again, left)).To(HaveLen(i))
			withheld.Release(ctx, next.GetName())
		}
		stop := operator.KillAtEachRule(again)
		operator.Start()
		again.AwaitReady(ctx, 3)
		Expect(killedAt(stop)).NotTo(BeEmpty())
		expectSame(ctx, again, was)
		Expect(again.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		again.Write(ctx).Finish(ctx)
	})
})

var _ = Describe("A cluster that is deleted and restored by a backup tool, under a new UID,", Label("operator"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("resumes on its volumes, as nothing but a cluster of that name", perStory, func(ctx context.Context) {
		cluster, was, saved := createAndSave(ctx)
		deleteCluster(ctx, cluster)
		kube.Restore(ctx, saved)
		expectResumed(ctx, cluster, was)
	})

	It("beside everything that was made for it, says what is in the way, and resumes when that is deleted", perStory, func(ctx context.Context) {
		cluster, was, saved := createAndSave(ctx, world.Parts...)
		deleteCluster(ctx, cluster)
		since := mark(ctx)
		kube.Restore(ctx, saved)
		cluster.AwaitStalled(ctx, "NameTaken")
		Consistently(ctx, func() ([]world.Request, error) { return kube.OperatorWrites(ctx, since, story.Namespace) }).WithTimeout(watching).
			Should(HaveEach(HaveField("Object.Resource", "etcdclusters")), "nothing that it did not make is touched")
		for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}} {
			deleteAll(ctx, list, cluster)
		}
		for _, name := range leafSecrets(cluster) {
			Expect(kube.Client.Delete(ctx, &corev1.Secret{ObjectMeta: meta(story.Namespace, name)})).To(Succeed(), name)
		}
		expectResumed(ctx, cluster, was)
	})
})

var _ = Describe("A cluster whose volumes a backup tool put back as new disks", Label("restore", "data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("starts nothing on them, and begins anew with the one that an EtcdRestore names", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "saved", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", savedKeys)
		cluster.AwaitEqualHashes(ctx)
		members := []string{cluster.Member(0), cluster.Member(1), cluster.Member(2)}
		copies := cluster.CopyVolumes(ctx, members...)
		saved := cluster.Save(ctx, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		claims, object := saved[:len(saved)-1], saved[len(saved)-1:]
		cluster.Fill(ctx, "lost", lostKeys) // after the copies were made
		deleteCluster(ctx, cluster)
		for _, member := range members {
			Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, member)})).To(Succeed())
		}
		Eventually(ctx, func() map[string]types.UID { return volumes(ctx, cluster) }).Should(BeEmpty())

		cluster.PutBack(ctx, claims, copies)
		kube.Restore(ctx, object)
		cluster.AwaitStalled(ctx, facts.ReasonQuorumLost)
		evidence := cluster.Evidence(ctx)
		for _, m := range evidence.Members {
			Expect(m.State).To(Equal(string(plan.MemberPutBack)), m.Name)
		}
		Expect(evidence.Message).To(ContainSubstring("is read as it is"))
		Consistently(ctx, func() ([]corev1.Pod, error) { return cluster.Pods(ctx) }).WithTimeout(watching).Should(BeEmpty())

		restore := cluster.RestoreTo(ctx, "rebuilt", fromSurvivor(members[1]))
		restore.Approve(ctx)
		restore.Complete(ctx)
		cluster.AwaitReady(ctx, 3)
		Expect([]int{cluster.Filled(ctx, "kept"), cluster.Filled(ctx, "lost")}).To(Equal([]int{savedKeys, 0}))
		cluster.Write(ctx).Finish(ctx)
	})
})

var _ = Describe("A cluster that is deleted after its version moved", Label("operator"), func() {
	ownNamespace()

	It("and created again as it once was, resumes with the version that wrote its data", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "moved", 1, world.Version("3.5.35"))
		cluster.AwaitReady(ctx, 1)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" })
		cluster.AwaitReady(ctx, 1)
		expectVersion(ctx, cluster, "3.6.16")
		cluster.Fill(ctx, "kept", 3)
		cluster.Write(ctx).Finish(ctx)
		ids, data := cluster.Identities(ctx), volumes(ctx, cluster)
		deleteCluster(ctx, cluster)
		again := story.Create(ctx, "moved", 1, world.Version("3.5.35"))
		again.ClusterID = cluster.ClusterID
		again.AwaitReady(ctx, 1)
		expectVersion(ctx, again, "3.5.35")
		Expect(again.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		traffic := again.Write(ctx)
		again.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = "3.7.3" })
		again.AwaitReady(ctx, 1)
		expectVersion(ctx, again, "3.7.3")
		Expect(again.Identities(ctx)).To(Equal(ids))
		Expect(volumes(ctx, again)).To(Equal(data))
		traffic.FinishAfterOutage(ctx)
	})
})

// leftBehind is what a cluster of three with TLS leaves when it is deleted with Retain.
func leftBehind(c *world.Cluster) []client.Object {
	var left []client.Object
	for ordinal := range 3 {
		left = append(left, &corev1.PersistentVolumeClaim{ObjectMeta: meta(c.Namespace, c.Member(ordinal))})
	}
	for _, name := range []string{resources.CASecret(c.Name), resources.PeerCASecret(c.Name)} {
		left = append(left, &corev1.Secret{ObjectMeta: meta(c.Namespace, name)})
	}
	return left
}

// takenOver are the names of those objects that are this very cluster's.
func takenOver(ctx context.Context, c *world.Cluster, objects []client.Object) []string {
	GinkgoHelper()
	owner, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, object := range objects {
		Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		if object.GetLabels()[v1alpha1.LabelClusterUID] == string(owner.UID) {
			names = append(names, object.GetName())
		}
	}
	return names
}

// refusedWrites are the names of objects that the operator wanted to write to and was not let.
func refusedWrites(ctx context.Context, since world.AuditMark) ([]string, error) {
	writes, err := kube.OperatorWrites(ctx, since, story.Namespace)
	var names []string
	for _, write := range writes {
		if write.Response.Code >= 400 {
			names = append(names, write.Object.Name)
		}
	}
	return names, err
}

// createAndSave makes a cluster with keys in it, and lets a backup tool save it and what was made for it of these kinds.
func createAndSave(ctx context.Context, kinds ...schema.GroupVersionKind) (*world.Cluster, identity, world.Saved) {
	GinkgoHelper()
	cluster := story.Create(ctx, "saved", 3, dressed)
	cluster.AwaitReady(ctx, 3)
	cluster.Fill(ctx, "kept", 3)
	cluster.Write(ctx).Finish(ctx)
	return cluster, identityOf(ctx, cluster), cluster.Save(ctx, kinds...)
}

// expectResumed expects a cluster of createAndSave to go on where it was, as another object.
func expectResumed(ctx context.Context, c *world.Cluster, was identity) {
	GinkgoHelper()
	c.AwaitReady(ctx, 3)
	expectSame(ctx, c, was)
	owner, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	for name := range was.volumes {
		claim := pvc()
		Expect(kube.Client.Get(ctx, key(name), claim)).To(Succeed())
		Expect(types.UID(claim.Labels[v1alpha1.LabelClusterUID])).To(Equal(owner.UID), "whose volume %s is", name)
	}
	Expect(c.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
	c.Write(ctx).Finish(ctx)
}

// leafSecrets are the Secrets of a cluster of three that can be made anew at any time.
func leafSecrets(c *world.Cluster) []string {
	names := []string{resources.ClientSecret(c.Name), resources.OperatorSecret(c.Name)}
	for ordinal := range 3 {
		names = append(names, resources.MemberSecret(c.Member(ordinal)))
	}
	return names
}
