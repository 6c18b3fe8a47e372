// Package e2e tells the stories of a user of etcd-steward, on a real Kubernetes, with a client that writes all the while.
// Each story has a namespace of its own, and many run at once: `make test-all`, or those of a label with GROUP=….
//
// The operator of most stories is the one that is installed in etcd-steward-system from the image, as users install it.
// Stories that kill operators, or run two, bring their own, as processes of this machine with the installed operator's
// rights (`make image` builds the manager); a fence at the API server keeps the installed one from writing to their
// namespaces (world.Fence).
//
// The client that writes runs in the test process and dials Pods by their addresses, which have to be reachable from
// here. On a localkube they are.
package e2e

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/test/e2e/stories/durations"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var (
	kube  *world.World
	story *world.Story // a namespace of this story's own, served by the installed operator
)

func TestStories(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(world.Patience)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(500 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "etcd-steward")
}

// Once for all processes: the operator is there, and the fence.
var _ = SynchronizedBeforeSuite(func(ctx context.Context) {
	w, err := world.Connect()
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func(g Gomega) {
		operator := &appsv1.Deployment{}
		g.Expect(w.Client.Get(ctx, client.ObjectKey{Namespace: world.OperatorNamespace, Name: world.OperatorName}, operator)).To(Succeed())
		g.Expect(operator.Status.ReadyReplicas).To(BeEquivalentTo(2))
	}).Should(Succeed(), "the operator is not installed and ready")
	Expect(w.Fence(ctx)).To(Succeed())
}, func(context.Context) {
	w, err := world.Connect()
	Expect(err).NotTo(HaveOccurred())
	kube = w
})

var _ = SynchronizedAfterSuite(func() {}, func(ctx context.Context) {
	if kube != nil {
		Expect(kube.Unfence(ctx)).To(Succeed())
	}
})

// What `make stories` shows as the last durations.
var _ = ReportAfterSuite("durations", func(report Report) {
	Expect(durations.Write("../reports", report)).To(Succeed())
})

// ownNamespace gives each story of a container a namespace of its own.
func ownNamespace() {
	GinkgoHelper()
	BeforeEach(func(ctx context.Context) {
		var err error
		story, err = kube.NewStory(ctx)
		Expect(err).NotTo(HaveOccurred())
	})
}

// first is for the longest stories, so that none of them is left for the end, when nothing runs beside it.
const first = SpecPriority(1)

// perStory bounds a story that hangs; it is no measure of speed.
const perStory = NodeTimeout(10 * time.Minute)
