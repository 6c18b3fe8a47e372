package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/forecast"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	planned "github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// weighty are the events of what people wait for. Kubernetes may tell others of one member once for several times.
var weighty = []string{planned.EventAdded, planned.EventPromoted, planned.EventRemoved, planned.EventPodEvicted,
	planned.EventPodStarted, planned.EventVolumeKept, planned.EventVolumeExpanded, planned.EventPodResized,
	planned.EventLeaderMoved}

var _ = Describe("What is foretold of an edited spec", Label("specs"), func() {
	ownNamespace()

	edits := map[string]struct {
		version string
		change  func(context.Context, *v1alpha1.EtcdClusterSpec)
		voters  int
		first   string // of the events
	}{
		"a larger size": {"3.6.16", func(_ context.Context, s *v1alpha1.EtcdClusterSpec) { s.Size = 5 }, 5, planned.EventAdded},
		"the next minor version": {"3.5.35", func(_ context.Context, s *v1alpha1.EtcdClusterSpec) { s.Version = "3.6.16" }, 3,
			planned.EventPodEvicted},
		"other settings": {"3.6.16", func(_ context.Context, s *v1alpha1.EtcdClusterSpec) { otherSettings(s) }, 3,
			planned.EventPodEvicted},
		"another StorageClass": {"3.6.16", func(ctx context.Context, s *v1alpha1.EtcdClusterSpec) {
			s.Storage = &v1alpha1.StorageSpec{StorageClassName: &makeClass(ctx, "next").Name}
		}, 3, planned.EventAdded},
	}
	for _, what := range slices.Sorted(maps.Keys(edits)) { // every process must see them in one order
		edit := edits[what]
		It("is what the operator then does, step by step, for "+what, perStory, func(ctx context.Context) {
			cluster := story.Create(ctx, "foretold", 3, world.Version(edit.version))
			cluster.AwaitReady(ctx, 3)
			object, err := cluster.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(foretold(ctx, object)).To(BeEmpty(), "a cluster that is settled has nothing ahead")
			edit.change(ctx, &object.Spec)
			stored := object.DeepCopy()
			Expect(kube.Client.Update(ctx, stored, client.DryRunAll)).To(Succeed())
			steps := foretold(ctx, stored)
			Expect(steps).To(ContainElement(HavePrefix(edit.first)))
			began := time.Now().Add(-time.Second)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { *s = object.Spec })
			cluster.AwaitReady(ctx, edit.voters)
			Eventually(ctx, func() ([]string, error) { return happened(ctx, cluster, began) }).Should(Equal(steps),
				"the decisions are\n%s", cluster.History)
		})
	}
})

// foretold are the weighty steps that end with a cluster that is as the spec asks.
func foretold(ctx context.Context, object *v1alpha1.EtcdCluster) []string {
	GinkgoHelper()
	f, err := forecast.Of(ctx, kube.Client, object, time.Now)
	Expect(err).NotTo(HaveOccurred())
	Expect(f.Cut).To(BeEmpty())
	Expect(f.End.Verdict).To(Equal(plan.Settled), f.End.Message)
	var steps []string
	for _, c := range f.Changes() {
		if says := planned.WordsOf(c); slices.Contains(weighty, says.Event) {
			steps = append(steps, fmt.Sprintf("%s: %s", says.Event, says.Done()))
		}
	}
	return steps
}

// happened are the weighty steps since then, by the events.
func happened(ctx context.Context, c *world.Cluster, began time.Time) ([]string, error) {
	events, err := eventsOf(ctx, c)
	slices.SortFunc(events, func(a, b eventsv1.Event) int {
		return cmp.Or(a.EventTime.Compare(b.EventTime.Time), cmp.Compare(a.Name, b.Name))
	})
	var steps []string
	for _, event := range events {
		if slices.Contains(weighty, event.Reason) && event.EventTime.After(began) {
			did, _, _ := strings.Cut(event.Note, ": ")
			steps = append(steps, fmt.Sprintf("%s: %s", event.Reason, strings.TrimSuffix(did, ".")))
		}
	}
	return steps, err
}
