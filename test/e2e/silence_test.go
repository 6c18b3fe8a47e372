package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// Alone: beside other stories a probe may come late, which the operator writes. test/bench watches for ten minutes.
var _ = Describe("A settled cluster under load", Label("silence"), Serial, func() {
	ownNamespace()

	// The operator looks at a settled cluster every 20 s; the span holds looks, and etcd's count of who asked proves it.
	const span = 45 * time.Second
	It("makes the operator write nothing at all for "+span.String(), perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "silent", 3)
		begin, err := kube.Mark(ctx)
		Expect(err).NotTo(HaveOccurred())
		cluster.AwaitReady(ctx, 3)
		traffic := cluster.Write(ctx)
		// What the client's first puts changed, such as the rounded size of the database, is written within a look.
		awaitQuiet(ctx, begin, 22*time.Second)

		quiet, err := kube.Mark(ctx)
		Expect(err).NotTo(HaveOccurred())
		before := asked(ctx, cluster)
		traffic.During(ctx, func() {
			Consistently(ctx, func() ([]world.Request, error) { return kube.OperatorWrites(ctx, quiet, story.Namespace) }).
				WithTimeout(span).WithPolling(2 * time.Second).Should(BeEmpty())
		})
		Eventually(ctx, func() float64 { return asked(ctx, cluster) }).Should(BeNumerically(">=", before+2), "it looked at this cluster meanwhile")
		Expect(kube.OperatorWrites(ctx, quiet, story.Namespace)).To(BeEmpty(), "with the last look")
		traffic.Finish(ctx)
		all, err := kube.OperatorWrites(ctx, begin, story.Namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(all).NotTo(BeEmpty(), "the log shows the operator's writes")
	})
})

// asked is how often members were asked who the members are. During the silence the operator alone does that, in a look.
// What it asks between looks is another question.
func asked(ctx context.Context, c *world.Cluster) float64 {
	GinkgoHelper()
	list := map[string]string{"grpc_method": "MemberList", "grpc_code": "OK"}
	var sum float64
	for _, pod := range listPods(ctx, c) {
		metrics, err := c.MemberMetrics(ctx, pod.Name)
		Expect(err).NotTo(HaveOccurred())
		times, _ := world.Value(metrics, "grpc_server_handled_total", list)
		sum += times
	}
	return sum
}

// awaitQuiet waits until the operator has written nothing in the story's namespace for this long.
func awaitQuiet(ctx context.Context, since world.AuditMark, calm time.Duration) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		writes, err := kube.OperatorWrites(ctx, since, story.Namespace)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(writes).NotTo(BeEmpty())
		g.Expect(time.Since(writes[len(writes)-1].Received)).To(BeNumerically(">", calm))
	}).WithPolling(time.Second).Should(Succeed())
}
