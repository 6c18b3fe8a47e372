package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// Flux is not played: its kustomize-controller v1.10.1 takes Go 1.27 to build, and this tree is built with 1.26.
var _ = Describe("A cluster in an application of its name that Argo CD's engine syncs and prunes", Label("platforms"), func() {
	ownNamespace()

	It("loses nothing while its manifest is there, goes when that is taken out, and goes on with its data when it is put back", perStory, func(ctx context.Context) {
		const isSynced, isPruned = "Synced EtcdCluster demo", "Pruned EtcdCluster demo"
		manifest := story.Manifest("demo", 3)
		app := story.Application(manifest.Name)
		app.Put(manifest)
		Expect(app.Sync(ctx)).To(ConsistOf(isSynced))
		cluster := story.Cluster(manifest.Name)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, "kept", 3)
		was, cas := identityOf(ctx, cluster), casOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			for range 3 {
				Expect(app.Sync(ctx)).To(ConsistOf(isSynced))
			}
			expectUntouched(ctx, cluster, was)
			deletePod(ctx, cluster, cluster.Member(1))
			Expect(app.Sync(ctx)).To(ConsistOf(isSynced), "while a member is on its way back")
			cluster.AwaitReady(ctx, 3)
			Expect(app.Sync(ctx)).To(ConsistOf(isSynced))
			expectSame(ctx, cluster, was)
		})
		traffic.Finish(ctx)

		// Something that is the application's by its label shows that the engine prunes at all.
		stray := &corev1.ConfigMap{ObjectMeta: meta(story.Namespace, "stray")}
		stray.Labels = map[string]string{v1alpha1.LabelInstance: app.Name}
		Expect(kube.Client.Create(ctx, stray)).To(Succeed())
		Expect(app.Sync(ctx)).To(ConsistOf(isSynced, "Pruned ConfigMap stray"))
		Eventually(ctx, func() types.UID { return uidOf(ctx, &corev1.ConfigMap{}, key("stray")) }).Should(BeEmpty())

		app.Take(manifest.Name)
		Expect(app.Sync(ctx)).To(ConsistOf(isPruned))
		awaitGone(ctx, cluster)
		Expect(app.Sync(ctx)).To(BeEmpty(), "what is kept is not the application's")
		Expect(volumes(ctx, cluster)).To(Equal(was.volumes))
		Expect(casOf(ctx, cluster)).To(Equal(cas))

		app.Put(manifest)
		Expect(app.Sync(ctx)).To(ConsistOf(isSynced))
		again := story.Cluster(manifest.Name)
		again.ClusterID = cluster.ClusterID
		again.AwaitReady(ctx, 3)
		expectSame(ctx, again, was)
		Expect(casOf(ctx, again)).To(Equal(cas))
		Expect(again.Filled(ctx, "kept")).To(Equal(3), "keys that were there before")
		again.Write(ctx).Finish(ctx)
		Expect(app.Sync(ctx)).To(ConsistOf(isSynced))
	})

	It("keeps what its schedule made when the schedule's manifest is taken out", perStory, func(ctx context.Context) {
		story.Claim(ctx, "backups")
		app := story.Application("demo")
		app.Put(story.Manifest(app.Name, 1))
		app.Put(&v1alpha1.EtcdBackupSchedule{
			ObjectMeta: meta(story.Namespace, "minutely"),
			Spec: v1alpha1.EtcdBackupScheduleSpec{ClusterRef: v1alpha1.ClusterReference{Name: app.Name}, Schedule: "* * * * *",
				Store: world.ToVolume("backups")},
		})
		Expect(app.Sync(ctx)).To(ConsistOf("Synced EtcdCluster demo", "Synced EtcdBackupSchedule minutely"))
		story.Cluster(app.Name).AwaitReady(ctx, 1)
		made := &v1alpha1.EtcdBackupList{}
		Eventually(ctx, func() ([]v1alpha1.EtcdBackup, error) {
			err := kube.Client.List(ctx, made, client.InNamespace(story.Namespace))
			return made.Items, err
		}).ShouldNot(BeEmpty())
		Expect(app.Sync(ctx)).To(ConsistOf("Synced EtcdCluster demo", "Synced EtcdBackupSchedule minutely"))
		app.Take("minutely")
		Expect(app.Sync(ctx)).To(ConsistOf("Synced EtcdCluster demo", "Pruned EtcdBackupSchedule minutely"))
		Eventually(ctx, func() types.UID { return uidOf(ctx, &v1alpha1.EtcdBackupSchedule{}, key("minutely")) }).Should(BeEmpty())
		Expect(app.Sync(ctx)).To(ConsistOf("Synced EtcdCluster demo"))
		for _, backup := range made.Items {
			Expect(uidOf(ctx, &v1alpha1.EtcdBackup{}, key(backup.Name))).To(Equal(backup.UID), backup.Name)
		}
	})
})

// casOf are the UIDs of the Secrets that hold a cluster's CAs.
func casOf(ctx context.Context, c *world.Cluster) map[string]types.UID {
	GinkgoHelper()
	uids := map[string]types.UID{}
	for _, name := range []string{resources.CASecret(c.Name), resources.PeerCASecret(c.Name)} {
		uids[name] = uidOf(ctx, &corev1.Secret{}, key(name))
		Expect(uids[name]).NotTo(BeEmpty(), name)
	}
	return uids
}
