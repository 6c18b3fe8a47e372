package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("An API server whose answers are dated a day ahead", Label("operator", "data"), func() {
	ownOperator()

	It("costs neither the volume that is kept of a replaced member nor a member that is silent for a moment", perStory,
		func(ctx context.Context) {
			dates := operator.BetweenAnswers(ctx)
			cluster := story.Create(ctx, "dated", 3)
			cluster.AwaitReady(ctx, 3)
			lost := follower(ctx, cluster)
			wipeAndReplace(ctx, cluster, lost)
			expectKept(ctx, cluster, lost, "Disk")
			kept, ids := uidOf(ctx, pvc(), key(lost)), cluster.Identities(ctx)

			silent := follower(ctx, cluster)
			cluster.Freeze(ctx, silent)
			dates.Ahead(ctx, 25*time.Hour)
			Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(world.Patience).Should(
				MatchRegexp(silent + ".* the clock of the operator's node is 2[45]h[0-9ms]+ behind"))
			Consistently(ctx, func() any { return uidOf(ctx, pvc(), key(lost)) }).WithTimeout(watching).Should(Equal(kept))
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			cluster.Thaw(ctx, silent)
			cluster.AwaitReady(ctx, 3)
			Expect(cluster.Identities(ctx)).To(Equal(ids))
			Expect(uidOf(ctx, pvc(), key(lost))).To(Equal(kept))
			cluster.Write(ctx).Finish(ctx)
		})
})
