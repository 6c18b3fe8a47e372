package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A roll", Label("roll"), func() {
	ownNamespace()

	It("waits for a window of maintenance, a repair does not, and a person opens one at once", perStory, func(ctx context.Context) {
		opens := time.Now().UTC().Add(12 * time.Hour)
		cluster := story.Create(ctx, "windowed", 3, func(c *v1alpha1.EtcdCluster) {
			c.Spec.Maintenance = &v1alpha1.MaintenanceSpec{Window: &v1alpha1.WindowSpec{
				Schedule: fmt.Sprintf("%d %d * * *", opens.Minute(), opens.Hour()), Duration: metav1.Duration{Duration: 10 * time.Minute}}}
		})
		cluster.AwaitReady(ctx, 3)
		before, ids := podsOf(ctx, cluster), cluster.Identities(ctx)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.PriorityClassName = "system-cluster-critical" })
			cluster.AwaitStep(ctx, facts.ReasonWindow)
			victim := cluster.Member(2)
			loseVolume(ctx, cluster, victim)
			Eventually(ctx, func() (map[string]any, error) { return namesOf(ctx, cluster), cluster.CheckServing(ctx, 3) }).
				ShouldNot(HaveKey(victim))
			expectReplaced(ctx, cluster, ids, victim)
			cluster.AwaitStep(ctx, facts.ReasonWindow)
			Expect(cluster.History.Restarted()).To(BeEmpty(), "before the window:\n%s", cluster.History)
			for name, uid := range podsOf(ctx, cluster) {
				if was, isOld := before[name]; isOld {
					Expect(uid).To(Equal(was), "%s was restarted", name)
				}
			}
			expectWindow(ctx, cluster, opens, false)
		})
		before = podsOf(ctx, cluster)
		traffic.During(ctx, func() {
			annotate(ctx, cluster, v1alpha1.AnnotationMaintenance, rightNow())
			cluster.AwaitReady(ctx, 3)
		})
		for _, pod := range listPods(ctx, cluster) {
			Expect(pod.Spec.PriorityClassName).To(Equal("system-cluster-critical"), pod.Name)
			Expect(pod.UID).NotTo(Equal(before[pod.Name]), "%s was restarted", pod.Name)
		}
		expectWindow(ctx, cluster, opens, true)
		annotate(ctx, cluster, v1alpha1.AnnotationMaintenance, "null")
		cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Pod.PriorityClassName = "" })
		cluster.AwaitStep(ctx, facts.ReasonWindow)
		expectWindow(ctx, cluster, opens, false)
		traffic.Finish(ctx)
	})
})

// namesOf are the members by name.
func namesOf(ctx context.Context, c *world.Cluster) map[string]any {
	GinkgoHelper()
	names := map[string]any{}
	for name := range podsOf(ctx, c) {
		names[name] = true
	}
	return names
}

// expectWindow expects the status to say when the next window opens, and whether one is open.
func expectWindow(ctx context.Context, c *world.Cluster, opens time.Time, isOpen bool) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object, err := c.Get(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.Status.Maintenance).NotTo(BeNil())
		g.Expect(object.Status.Maintenance.NextWindow.Time).To(BeTemporally("==", opens.Truncate(time.Minute)))
		g.Expect(object.Status.Maintenance.OpenUntil != nil).To(Equal(isOpen))
	}).Should(Succeed())
}
