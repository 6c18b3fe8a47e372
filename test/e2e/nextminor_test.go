package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

var _ = Describe("The pre-release of the next minor of etcd", Label("versions"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("is warned of and runs on demand: a cluster goes there from 3.6 and back, under clients that write", longWay,
		func(ctx context.Context) {
			kube.AddEtcd(ctx, needs.Next)
			cluster := story.Create(ctx, "ahead", 3, world.Version("3.6.16"))
			cluster.AwaitReady(ctx, 3)
			was, traffic := identityOf(ctx, cluster), cluster.Write(ctx)
			traffic.During(ctx, func() {
				goTo(ctx, cluster, 3, needs.Next)
				cluster.AwaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "SpecWarning")
				expectSame(ctx, cluster, was)
				goTo(ctx, cluster, 3, "3.6.16")
			})
			expectSame(ctx, cluster, was)
			Expect(cluster.History.Restarted()).To(HaveLen(4*3), "once for each stop:\n%s", cluster.History)
			Expect(traffic.Finish(ctx).Failed).To(BeZero())
			cluster.AwaitEqualHashes(ctx)
		})

	It("takes no flag that the minor drops: no member is touched until that is taken out", perStory,
		func(ctx context.Context) {
			kube.AddEtcd(ctx, needs.Next)
			cluster := story.Create(ctx, "flagged", 1, world.Version("3.7.3"), func(c *v1alpha1.EtcdCluster) {
				c.Spec.Etcd = &v1alpha1.EtcdSpec{ExtraArgs: map[string]v1alpha1.ArgValue{"max-snapshots": "9"}}
			})
			cluster.AwaitReady(ctx, 1)
			was := identityOf(ctx, cluster)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Version = needs.Next })
			cluster.AwaitStalled(ctx, facts.ReasonSpecRefused)
			expectUntouched(ctx, cluster, was)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd.ExtraArgs = nil })
			cluster.AwaitReady(ctx, 1)
			expectVersion(ctx, cluster, needs.Next)
			expectSame(ctx, cluster, was)
		})
})
