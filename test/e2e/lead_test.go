package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

var _ = Describe("A member that a person names to lead", Label("nodes"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("gets leadership once it serves, and a request of long ago moves nothing", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "led", 3)
		cluster.AwaitReady(ctx, 3)
		was, heir := identityOf(ctx, cluster), follower(ctx, cluster)
		toLead := func(member string, at time.Time) {
			annotate(ctx, cluster, v1alpha1.AnnotationMoveLeader, fmt.Sprintf("%q", member+"@"+at.UTC().Format(time.RFC3339)))
		}
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			toLead(heir, time.Now().Add(-facts.LeadFor-time.Minute))
			Consistently(ctx, func() string { return cluster.Leader(ctx) }).WithTimeout(5 * time.Second).ShouldNot(Equal(heir))
			cluster.Freeze(ctx, heir)
			Eventually(ctx, func() error { return cluster.CheckReady(ctx, 3) }).ShouldNot(Succeed(), "the member is silent")
			toLead(heir, time.Now())
			Eventually(ctx, func() (string, error) {
				object, err := cluster.Get(ctx)
				if err != nil {
					return "", err
				}
				return apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady).Message, nil
			}).Should(ContainSubstring("names " + heir + ", which does not serve"))
			cluster.Thaw(ctx, heir)
			Eventually(ctx, func() string { return cluster.Leader(ctx) }).Should(Equal(heir))
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})
