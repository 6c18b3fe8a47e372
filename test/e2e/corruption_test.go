package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// corruptible is part of the keys whose values stories change behind etcd's back.
const corruptible = "corruptible"

var _ = Describe("A copy of the data that differs from the others", Label("data"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	for _, version := range []string{world.DefaultVersion, "3.7.3"} {
		It("is the only one that goes when it is the leader's and a roll is asked for, with etcd "+version, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "corrupt", 3, world.Version(version))
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, corruptible, 50)
			traffic := cluster.Write(ctx)
			traffic.Flow(ctx)
			before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
			owned := volumes(ctx, cluster)
			cluster.Corrupt(ctx, victim, '1')
			cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) {
				spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"max-txn-ops": "256"}}
			})
			expectSaid(ctx, cluster, "corruption", "member "+victim+": its data differs from that of a majority")
			cluster.AwaitReady(ctx, 3)
			expectReplaced(ctx, cluster, before, victim)
			for name, uid := range volumes(ctx, cluster) {
				if name != victim && owned[name] != "" {
					Expect(uid).To(Equal(owned[name]), "the good copy of %s is where it was", name)
				}
			}
			Expect(expectKeptCopy(ctx, cluster, victim)).To(Equal(owned[victim]))
			traffic.Finish(ctx)
			cluster.AwaitEqualHashes(ctx)
		})
	}

	It("is not handed on by a leader while members join: none of them votes before it is the leader's that goes", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "corrupt", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, corruptible, 50)
		traffic := cluster.Write(ctx)
		traffic.Flow(ctx)
		before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
		owned := volumes(ctx, cluster)
		cluster.Corrupt(ctx, victim, '1')
		cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = 5 })
		expectSaid(ctx, cluster, "corruption", "member "+victim+": its data differs from that of a majority")
		cluster.AwaitReady(ctx, 5)
		expectNoVoteBefore(cluster, "corruption")
		after := cluster.Identities(ctx)
		Expect(after).NotTo(HaveKey(victim), "the wrong copy is gone")
		for name, id := range before {
			if name != victim {
				Expect(after).To(HaveKeyWithValue(name, id), "a good copy stays")
				Expect(volumes(ctx, cluster)).To(HaveKeyWithValue(name, owned[name]))
			}
		}
		Expect(expectKeptCopy(ctx, cluster, victim)).To(Equal(owned[victim]))
		traffic.Finish(ctx)
		cluster.AwaitEqualHashes(ctx)
		Expect(cluster.Intact(ctx, corruptible)).To(Equal(50))
	})

	It("is replaced when it is a follower's that restarts, and its volume is kept", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "corrupt", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, corruptible, 50)
		traffic := cluster.Write(ctx)
		traffic.Flow(ctx)
		before, victim := cluster.Identities(ctx), follower(ctx, cluster)
		cluster.Corrupt(ctx, victim, '1')
		led := cluster.FollowClients(ctx)
		traffic.During(ctx, func() {
			cluster.KillEtcd(ctx, victim)
			expectSaid(ctx, cluster, "corruption", "member "+victim+": its data differs from that of a majority")
			cluster.AwaitReady(ctx, 3)
		})
		Expect(led()).NotTo(ContainElement(victim), "clients were led there again")
		expectReplaced(ctx, cluster, before, victim)
		traffic.Finish(ctx)
	})

	for _, version := range []string{"3.5.35", world.DefaultVersion, "3.7.3"} {
		It("is replaced, and never wins, when it was changed while all members were down, with etcd "+version, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "corrupt", 3, world.Version(version))
			cluster.AwaitReady(ctx, 3)
			cluster.Fill(ctx, corruptible, 50)
			cluster.AwaitEqualHashes(ctx)
			before := cluster.Identities(ctx)
			victim := cluster.Leader(ctx)
			database := cluster.Database(ctx, victim)
			deleteCluster(ctx, cluster)
			cluster.CorruptFile(database, '1')
			again := story.Create(ctx, "corrupt", 3, world.Version(version))
			again.ClusterID = cluster.ClusterID
			led := again.FollowClients(ctx)
			expectSaid(ctx, again, "corruption", "member "+victim+": its data differs from that of a majority")
			again.AwaitReady(ctx, 3)
			Expect(led()).NotTo(ContainElement(victim), "clients were led there")
			expectReplaced(ctx, again, before, victim)
			expectKeptCopy(ctx, again, victim)
			again.AwaitEqualHashes(ctx)
			Expect(again.Intact(ctx, corruptible)).To(Equal(50))
		})
	}

	It("is replaced when all members are killed at once", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "corrupt", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, corruptible, 50)
		before := cluster.Identities(ctx)
		victim := follower(ctx, cluster)
		cluster.Corrupt(ctx, victim, '1')
		cluster.KillEveryEtcd(ctx, cluster.Member(0), cluster.Member(1), cluster.Member(2))
		expectSaid(ctx, cluster, "corruption", "member "+victim+": its data differs from that of a majority")
		cluster.AwaitReady(ctx, 3)
		expectReplaced(ctx, cluster, before, victim)
		expectKeptCopy(ctx, cluster, victim)
		Expect(cluster.Intact(ctx, corruptible)).To(Equal(50))
	})

	// The leader's own copy is the hard case: it compares, and by the hour 3.6 and 3.7 name a good follower.
	for _, how := range []string{"by the hour", "at a compaction"} {
		for _, version := range []string{"3.5.35", world.DefaultVersion, "3.7.3"} {
			It("is found "+how+" while etcd runs, and writes come back by themselves, with etcd "+version, perStory, func(ctx context.Context) {
				cluster := story.Create(ctx, "corrupt", 3, world.Version(version), comparing(how, version))
				cluster.AwaitReady(ctx, 3)
				cluster.Fill(ctx, corruptible, 50)
				traffic := cluster.Write(ctx)
				before, victim := cluster.Identities(ctx), cluster.Leader(ctx)
				owned := volumes(ctx, cluster)
				traffic.During(ctx, func() {
					cluster.Corrupt(ctx, victim, '1')
					expectSaid(ctx, cluster, "alarms", "every voter says that it holds the same data")
					cluster.AwaitReady(ctx, 3)
				})
				expectReplaced(ctx, cluster, before, victim)
				Expect(expectKeptCopy(ctx, cluster, victim)).To(Equal(owned[victim]))
				cluster.AwaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, "ReadSucceeded")
				traffic.FinishAfterOutage(ctx)
				Expect(cluster.Intact(ctx, corruptible)).To(Equal(50))
			})
		}
	}

	It("is left to a person when all three differ: the hashes are shown, and nothing is restarted or removed", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "torn", 3)
		cluster.AwaitReady(ctx, 3)
		cluster.Fill(ctx, corruptible, 50)
		cluster.Write(ctx).Finish(ctx)
		before, owned := cluster.Identities(ctx), volumes(ctx, cluster)
		leader, victim := cluster.Leader(ctx), follower(ctx, cluster)
		cluster.Corrupt(ctx, leader, '1')
		cluster.Corrupt(ctx, victim, '2')
		cluster.KillEtcd(ctx, victim)
		cluster.AwaitStalled(ctx, "DataDiffers")
		cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"max-txn-ops": "256"}}
		})
		Consistently(ctx, func(g Gomega) {
			g.Expect(cluster.Identities(ctx)).To(Equal(before))
			g.Expect(volumes(ctx, cluster)).To(Equal(owned))
		}).WithTimeout(watching).Should(Succeed())
	})
})

// comparing has etcd compare copies every few seconds: all that they hold, or what was left at a compaction.
func comparing(how, version string) world.Option {
	etcd, flag := &v1alpha1.EtcdSpec{}, "corrupt-check-time"
	if how == "at a compaction" {
		etcd.AutoCompaction, flag = &v1alpha1.AutoCompactionSpec{Retention: "5s"}, "compact-hash-check-time"
	}
	if version == "3.5.35" {
		flag = "experimental-" + flag
	}
	etcd.ExtraArgs = map[string]v1alpha1.ArgValue{flag: "3s"}
	return func(c *v1alpha1.EtcdCluster) { c.Spec.Etcd = etcd }
}

// expectNoVoteBefore expects that no learner was given its vote before this rule spoke.
func expectNoVoteBefore(c *world.Cluster, rule string) {
	GinkgoHelper()
	for _, step := range c.History.Steps() {
		if step.Rule == rule {
			return
		}
		isVote := step.Rule == "promote" && step.Verdict == "Act"
		Expect(isVote).To(BeFalse(), "a learner was given its vote first:\n%s", c.History)
	}
}

// expectKeptCopy expects that the volume of a member with another copy is kept, and returns its UID.
func expectKeptCopy(ctx context.Context, c *world.Cluster, member string) types.UID {
	GinkgoHelper()
	kept := &corev1.PersistentVolumeClaim{ObjectMeta: meta(c.Namespace, member)}
	Expect(kube.Client.Get(ctx, client.ObjectKeyFromObject(kept), kept)).To(Succeed(), "the corrupt copy is kept")
	Expect(kept.Labels).To(HaveKeyWithValue(v1alpha1.LabelKept, "Corruption"))
	return kept.UID
}
