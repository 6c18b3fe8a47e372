package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A cluster that is paused", Label("lifecycle"), func() {
	ownNamespace()

	It("is looked at and not touched, and goes on when it is not", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "paused", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = true })
		cluster.AwaitStep(ctx, "Paused")
		traffic.During(ctx, func() {
			deletePod(ctx, cluster, cluster.Member(1))
			cluster.AwaitCondition(ctx, v1alpha1.ConditionDegraded, "True", "MembersUnhealthy")
			Consistently(ctx, cluster.Pods).WithTimeout(watching).Should(HaveLen(2))
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = false })
			cluster.AwaitReady(ctx, 3)
		})
		traffic.Finish(ctx)
	})

	It("before it is born is not born", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "unstarted", 1, world.Ephemeral, func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true })
		cluster.AwaitStep(ctx, "Paused")
		Consistently(ctx, func() types.UID { return uidOf(ctx, &corev1.Service{}, key("unstarted-peers")) }).WithTimeout(watching / 3).Should(BeEmpty())
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Paused = false })
		cluster.AwaitReady(ctx, 1)
	})
})

var _ = Describe("A cluster in mode DryRun", Label("lifecycle"), func() {
	ownNamespace()

	It("publishes the next step and does not take it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "dry", 1, world.Ephemeral, func(c *v1alpha1.EtcdCluster) { c.Spec.Mode = v1alpha1.ModeDryRun })
		expectStep(ctx, cluster, "birth-record", "BeginBootstrap")
		Consistently(ctx, func() types.UID { return uidOf(ctx, &corev1.Service{}, key("dry-peers")) }).WithTimeout(watching / 3).Should(BeEmpty())
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Mode = v1alpha1.ModeEnforce })
		cluster.AwaitReady(ctx, 1)

		traffic := cluster.Write(ctx)
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Mode, s.Size = v1alpha1.ModeDryRun, 3 })
		expectStep(ctx, cluster, "grow", "PrepareMember")
		Consistently(ctx, func() int { return len(cluster.Identities(ctx)) }).WithTimeout(watching / 3).Should(Equal(1))
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Mode = v1alpha1.ModeEnforce })
		cluster.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A cluster that is deleted", Label("lifecycle"), func() {
	ownNamespace()

	It("with Retain leaves its volumes and authorities, on which it goes on when it is created again", first, perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "kept", 3, world.Version("3.5.21"))
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
		data, ids := volumes(ctx, cluster), cluster.Identities(ctx)
		cluster.Fill(ctx, "kept", 3)
		deleteCluster(ctx, cluster)
		Expect(volumes(ctx, cluster)).To(Equal(data))
		for _, name := range []string{"kept-ca", "kept-ca-peer"} {
			Expect(uidOf(ctx, &corev1.Secret{}, key(name))).NotTo(BeEmpty(), name)
		}
		Expect(uidOf(ctx, &corev1.Service{}, key("kept"))).To(BeEmpty())

		again := story.Create(ctx, "kept", 3, world.Version("3.5.35"))
		again.ClusterID = cluster.ClusterID
		again.AwaitReady(ctx, 3)
		Expect(volumes(ctx, again)).To(Equal(data))
		Expect(again.Identities(ctx)).To(Equal(ids))
		Expect(again.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		expectVersion(ctx, again, "3.5.35")
		again.Write(ctx).Finish(ctx)
	})

	It("and created again with another size resumes all its members first", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "resized", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		deleteCluster(ctx, cluster)
		again := story.Create(ctx, "resized", 1)
		again.ClusterID = cluster.ClusterID
		again.AwaitReady(ctx, 1)
		Expect(again.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		Eventually(ctx, func() int { return len(volumes(ctx, again)) }).Should(Equal(1))
		again.Write(ctx).Finish(ctx)
	})

	It("and created again over what is of two clusters, or under another TLS mode, is born over nothing and says why", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "mixed", 3)
		cluster.AwaitReady(ctx, 3)
		deleteCluster(ctx, cluster)
		data := volumes(ctx, cluster)
		again := story.Create(ctx, "mixed", 3, func(c *v1alpha1.EtcdCluster) { c.Spec.TLS = &v1alpha1.TLSSpec{Mode: v1alpha1.TLSDisabled} })
		again.AwaitStalled(ctx, "RetainedData")
		deleteCluster(ctx, again)
		relabel(ctx, "mixed-1", "11111111-1111-1111-1111-111111111111")
		again = story.Create(ctx, "mixed", 3)
		again.AwaitStalled(ctx, "RetainedData")
		Expect(volumes(ctx, again)).To(Equal(data))
		Expect(again.Pods(ctx)).To(BeEmpty())
	})

	It("with Retain, and whose volumes were deleted by hand, begins empty with its CAs once, when its annotation names the cluster that left them", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "emptied", 3)
		cluster.AwaitReady(ctx, 3)
		ca, left := uidOf(ctx, &corev1.Secret{}, key("emptied-ca")), uidOf(ctx, &v1alpha1.EtcdCluster{}, key("emptied"))
		deleteCluster(ctx, cluster)
		ask := func(value string) {
			said, err := kube.Kubectl(ctx, "-n", story.Namespace, "annotate", "--overwrite", "etcd", "emptied", v1alpha1.AnnotationBeginEmpty+"="+value)
			Expect(err).NotTo(HaveOccurred(), said)
		}
		loseVolumes := func() {
			for ordinal := range 3 {
				Expect(kube.Client.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta(story.Namespace, cluster.Member(ordinal))})).To(Succeed())
			}
			Eventually(ctx, func() map[string]types.UID { return volumes(ctx, cluster) }).Should(BeEmpty())
		}
		loseVolumes()
		again := story.Create(ctx, "emptied", 3)
		again.AwaitStalled(ctx, "RetainedData")
		ask("true")
		Consistently(ctx, func() ([]corev1.Pod, error) { return again.Pods(ctx) }).WithTimeout(watching).Should(BeEmpty())
		ask(string(left))
		again.AwaitReady(ctx, 3)
		Expect(uidOf(ctx, &corev1.Secret{}, key("emptied-ca"))).To(Equal(ca))
		again.Write(ctx).Finish(ctx)

		deleteCluster(ctx, again)
		loseVolumes()
		third := story.Create(ctx, "emptied", 3, func(c *v1alpha1.EtcdCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationBeginEmpty: string(left)}
		})
		third.AwaitStalled(ctx, "RetainedData")
		Consistently(ctx, func() ([]corev1.Pod, error) { return third.Pods(ctx) }).WithTimeout(watching).Should(BeEmpty(), "it was asked once")
	})

	It("with --cascade=orphan serves on, and is not created again over what runs until that is deleted", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "orphaned", 3)
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			object, err := cluster.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(kube.Client.Delete(ctx, object, client.PropagationPolicy("Orphan"))).To(Succeed())
			Eventually(ctx, func() types.UID { return uidOf(ctx, &v1alpha1.EtcdCluster{}, key("orphaned")) }).Should(BeEmpty())
			before := podsOf(ctx, cluster)
			again := story.Create(ctx, "orphaned", 3)
			again.AwaitStalled(ctx, "NameTaken")
			Expect(podsOf(ctx, cluster)).To(Equal(before), "they run on")
		})
		traffic.FinishAfterOutage(ctx)
		for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}} {
			deleteAll(ctx, list, cluster)
		}
		for _, name := range []string{"orphaned-client-tls", "orphaned-operator-tls", "orphaned-0-tls", "orphaned-1-tls", "orphaned-2-tls"} {
			Expect(kube.Client.Delete(ctx, &corev1.Secret{ObjectMeta: meta(story.Namespace, name)})).To(Succeed(), name)
		}
		cluster.AwaitReady(ctx, 3)
		cluster.Write(ctx).Finish(ctx)
	})

	It("with Delete takes its volumes and authorities along, and can be created again", Label("core"), perStory, func(ctx context.Context) {
		remove := func(c *v1alpha1.EtcdCluster) {
			c.Spec.Storage = &v1alpha1.StorageSpec{DeletionPolicy: v1alpha1.DeletionDelete}
		}
		cluster := story.Create(ctx, "gone", 1, remove)
		cluster.AwaitReady(ctx, 1)
		first := cluster.ClusterID
		deleteCluster(ctx, cluster)
		Eventually(ctx, func() any { return volumes(ctx, cluster) }).Should(BeEmpty())
		Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Secret{}, key("gone-ca")) }).Should(BeEmpty())

		again := story.Create(ctx, "gone", 1, remove)
		again.AwaitReady(ctx, 1)
		Expect(again.ClusterID).NotTo(Equal(first))
		again.Write(ctx).Finish(ctx)
	})

	It("takes everything along when its data was ephemeral, and can be created again", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "scratch", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		deleteCluster(ctx, cluster)
		Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Secret{}, key("scratch-ca")) }).Should(BeEmpty())
		again := story.Create(ctx, "scratch", 1, world.Ephemeral)
		again.AwaitReady(ctx, 1)
		again.Write(ctx).Finish(ctx)
	})

	It("follows the policy as it was changed last, also when it was paused", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "turned", 1, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Storage = &v1alpha1.StorageSpec{DeletionPolicy: v1alpha1.DeletionDelete}
		})
		cluster.AwaitReady(ctx, 1)
		data := volumes(ctx, cluster)
		Expect(ownersOf(ctx, cluster)).To(HaveLen(1), "the volume goes with the cluster")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
			s.Paused, s.Storage.DeletionPolicy = true, v1alpha1.DeletionRetain
		})
		Eventually(ctx, func() any { return ownersOf(ctx, cluster) }).Should(BeEmpty())
		deleteCluster(ctx, cluster)
		Consistently(ctx, func() any { return volumes(ctx, cluster) }).WithTimeout(watching / 3).Should(Equal(data))
	})
})

var _ = Describe("A cluster that is deleted takes a kept volume along", Label("lifecycle"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("only if its policy is Delete, however often the policy was changed", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "evidence", 3)
		cluster.AwaitReady(ctx, 3)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		cluster.DamageDatabase(ctx, victim)
		expectSaid(ctx, cluster, "replace", "its data cannot be read")
		cluster.AwaitReady(ctx, 3)
		expectReplaced(ctx, cluster, before, victim)
		expectKept(ctx, cluster, victim, "Disk")
		uid := uidOf(ctx, pvc(), key(victim))
		for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionRetain} {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Storage = &v1alpha1.StorageSpec{DeletionPolicy: policy}
			})
			Eventually(ctx, func() (v1alpha1.DeletionPolicy, error) {
				object, err := cluster.Get(ctx)
				return object.Status.DeletionPolicy, err
			}).Should(Equal(policy))
			claim := pvc()
			Expect(kube.Client.Get(ctx, key(victim), claim)).To(Succeed())
			Expect(len(claim.OwnerReferences) > 0).To(Equal(policy == v1alpha1.DeletionDelete), "the status says %s", policy)
		}
		deleteCluster(ctx, cluster)
		Consistently(ctx, func() types.UID { return uidOf(ctx, pvc(), key(victim)) }).WithTimeout(watching / 3).Should(Equal(uid))
	})
})

// deleteCluster deletes as `kubectl delete etcd` does, and waits until the object and its Pods are gone.
func deleteCluster(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(object.Finalizers).To(BeEmpty(), "nothing hangs when the operator is gone")
	Expect(kube.Client.Delete(ctx, object, client.PropagationPolicy("Background"))).To(Succeed())
	awaitGone(ctx, c)
}

// awaitGone waits until a cluster's object, and what goes with it, are gone.
func awaitGone(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func() types.UID { return uidOf(ctx, &v1alpha1.EtcdCluster{}, key(c.Name)) }).Should(BeEmpty())
	Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.Service{}, key(c.Name+"-peers")) }).Should(BeEmpty())
	Eventually(ctx, func() ([]corev1.Pod, error) { return c.Pods(ctx) }).Should(BeEmpty())
}

// deleteAll deletes every object of a kind that was made for the cluster.
func deleteAll(ctx context.Context, list client.ObjectList, c *world.Cluster) {
	GinkgoHelper()
	Expect(kube.Client.List(ctx, list, client.InNamespace(c.Namespace))).To(Succeed())
	Expect(apimeta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		if v1alpha1.ClusterOf(object.GetLabels()) != c.Name {
			return nil
		}
		return client.IgnoreNotFound(kube.Client.Delete(ctx, object))
	})).To(Succeed())
}

// relabel says of a volume that it belongs to the cluster of this UID.
func relabel(ctx context.Context, volume, uid string) {
	GinkgoHelper()
	claim := pvc()
	Expect(kube.Client.Get(ctx, key(volume), claim)).To(Succeed())
	before := claim.DeepCopy()
	claim.Labels[v1alpha1.LabelClusterUID] = uid
	Expect(kube.Client.Patch(ctx, claim, client.MergeFrom(before))).To(Succeed())
}

// ownersOf are the owners of the members' volumes.
func ownersOf(ctx context.Context, c *world.Cluster) []string {
	GinkgoHelper()
	var owners []string
	for name := range volumes(ctx, c) {
		claim := pvc()
		Expect(kube.Client.Get(ctx, key(name), claim)).To(Succeed())
		for _, owner := range claim.OwnerReferences {
			owners = append(owners, owner.Kind+"/"+owner.Name)
		}
	}
	return owners
}

// expectStep waits until this rule speaks for this reason, whatever the verdict, while nothing is done.
func expectStep(ctx context.Context, c *world.Cluster, rule, reason string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) {
		object, err := c.Get(ctx)
		if err != nil || object.Status.NextStep == nil || object.Status.ObservedGeneration != object.Generation {
			return "", err
		}
		return object.Status.NextStep.Rule + " " + object.Status.NextStep.Reason, nil
	}).Should(Equal(rule + " " + reason))
}
