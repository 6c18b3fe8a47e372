package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var _ = Describe("A real Prometheus with the alerts and dashboards of config/monitoring", Label("report"), func() {
	ownNamespace()

	It("sees QuorumAtRisk and Space fire and end, and answers every query", first, perStory, func(ctx context.Context) {
		prometheus := story.StartPrometheus(ctx)
		cluster := story.Create(ctx, "seen", 3, world.Quota("16Mi"), world.ReplaceAfter(0))
		cluster.AwaitReady(ctx, 3)
		schedule := story.EachMinute(ctx, "minutely", cluster.Name, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access),
			func(s *v1alpha1.EtcdBackupScheduleSpec) { s.TestRestore = &v1alpha1.TestRestore{Schedule: "* * * * *"} })
		firing := func() ([]string, error) { return prometheus.Firing(ctx, cluster) }

		cut := cluster.CutClients(ctx, follower(ctx, cluster))
		Eventually(ctx, firing).Should(ContainElement("QuorumAtRisk"))
		cut.Heal(ctx)
		Eventually(ctx, firing).ShouldNot(ContainElement("QuorumAtRisk"))
		Eventually(ctx, func() error { return schedule.Check(ctx, v1alpha1.ScheduleProven, "True Restored") }).WithTimeout(severalRuns).Should(Succeed())

		cluster.FillUp(ctx)
		Eventually(ctx, firing).Should(ContainElement("Space"))
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd.QuotaBackendBytes = quantity("64Mi") })
		cluster.AwaitReady(ctx, 3)
		Eventually(ctx, firing).ShouldNot(ContainElement("Space"))
		expectAnswers(ctx, prometheus, cluster)
		prometheus.Draw(ctx, cluster)
	})
})

var _ = Describe("An alarm of etcd", Label("report"), func() {
	ownNamespace()

	It("is in the status within 5 s, although the cluster was settled", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "full", 3, world.Quota("16Mi"), keepingHistory)
		cluster.AwaitReady(ctx, 3)
		cluster.FillUp(ctx)
		raised := time.Now()
		Eventually(ctx, func() (string, error) {
			object, err := cluster.Get(ctx)
			if err != nil {
				return "", err
			}
			available := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionAvailable)
			return string(available.Status) + " " + available.Reason, nil
		}).WithTimeout(5 * time.Second).WithPolling(50 * time.Millisecond).Should(Equal("False NOSPACE"))
		AddReportEntry("seen", fmt.Sprintf("%.1f s after the first write was refused", time.Since(raised).Seconds()))
		cluster.AwaitStalled(ctx, facts.ReasonAlarm)
	})
})

// expectAnswers asks every query of the dashboards, and expects data for all that this story makes. It replaces no member,
// the operator has no bug that panics, and localkube's kubelets tell nothing of its volumes, which are directories.
func expectAnswers(ctx context.Context, p *world.Prometheus, c *world.Cluster) {
	GinkgoHelper()
	empty := []string{"etcdsteward_kept_volumes", "etcdsteward_member_replaced", "reconcile_panics", "kubelet_volume_stats"}
	chosen := strings.NewReplacer("$__rate_interval", "1m", "$namespace", c.Namespace, "$name", c.Name)
	asked := 0
	for _, file := range []string{"operator.json", "cluster.json"} {
		for _, panel := range world.Dashboard(file) {
			for _, target := range panel.Targets {
				asked++
				series, err := p.AskSince(ctx, chosen.Replace(target.Expr))
				Expect(err).NotTo(HaveOccurred(), "%s: %s", file, panel.Title)
				if !slices.ContainsFunc(empty, func(metric string) bool { return strings.Contains(target.Expr, metric) }) {
					Expect(series).NotTo(BeEmpty(), "%s: %s: %s", file, panel.Title, target.Expr)
				}
			}
		}
	}
	Expect(asked).To(BeNumerically(">", 40))
}
