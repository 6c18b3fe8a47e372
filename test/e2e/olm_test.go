package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// OLM itself is not here: a story makes the objects that it makes of the bundle.
var _ = Describe("The operator of the bundle, with what OLM makes of it,", Label("operator"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	fenced := func(ctx context.Context) *world.Story {
		GinkgoHelper()
		made, err := kube.NewFencedStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		return made
	}

	It("looks after clusters and backups of its own namespace alone", perStory, func(ctx context.Context) {
		home, other := fenced(ctx), fenced(ctx)
		bundle := kube.Bundle(home.Namespace)
		bundle.Install(ctx, home.Namespace)
		expectLookedAfter(ctx, home)
		expectLeftAlone(ctx, bundle, other)
	})

	It("looks after clusters and backups of each of several namespaces, and leaves others alone", perStory, func(ctx context.Context) {
		home, first, second, other := fenced(ctx), fenced(ctx), fenced(ctx), fenced(ctx)
		bundle := kube.Bundle(home.Namespace)
		bundle.Install(ctx, first.Namespace, second.Namespace)
		for _, place := range []*world.Story{first, second} {
			expectLookedAfter(ctx, place)
		}
		expectLeftAlone(ctx, bundle, other)
	})
})

var _ = Describe("The operator of the bundle, with what OLM makes of it for all namespaces,", Label("operator"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("goes on with clusters in each of them, and no member notices", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "kept", 3)
		cluster.AwaitReady(ctx, 3)
		was, processes := identityOf(ctx, cluster), processesOf(ctx, []*world.Cluster{cluster})
		DeferCleanup(func(ctx context.Context) { kube.Installed().Deploy(ctx) })
		kube.DeleteOperatorNamespace(ctx)
		_, err := kube.Kubectl(ctx, "create", "namespace", world.OperatorNamespace)
		Expect(err).NotTo(HaveOccurred())
		kube.Bundle(world.OperatorNamespace).Install(ctx)
		awaitLooks(ctx, cluster)
		expectUntouched(ctx, cluster, was)
		Expect(processesOf(ctx, []*world.Cluster{cluster})).To(Equal(processes), "no member is restarted")
		deletePod(ctx, cluster, cluster.Member(1))
		cluster.AwaitReady(ctx, 3)
		expectSame(ctx, cluster, was)
	})
})

// expectLookedAfter expects that a cluster there is made, backed up and healed, and takes writes.
func expectLookedAfter(ctx context.Context, place *world.Story) {
	GinkgoHelper()
	story = place
	cluster := story.Create(ctx, "looked-after", 1)
	cluster.AwaitReady(ctx, 1)
	story.Claim(ctx, "backups")
	story.Backup(ctx, "saved", cluster.Name, world.ToVolume("backups")).Await(ctx, v1alpha1.BackupVerified)
	was := identityOf(ctx, cluster)
	deletePod(ctx, cluster, cluster.Member(0))
	cluster.AwaitReady(ctx, 1)
	expectSame(ctx, cluster, was)
	cluster.Write(ctx).Finish(ctx)
}

// expectLeftAlone expects that the operator has no right there, and that nothing is made for a cluster.
func expectLeftAlone(ctx context.Context, bundle *world.Bundle, other *world.Story) {
	GinkgoHelper()
	Expect(bundle.MayNot(ctx, "get", "pods", "-n", other.Namespace)).To(BeTrue())
	foreign := other.Create(ctx, "foreign", 1)
	Consistently(ctx, foreign.Pods).WithTimeout(watching).Should(BeEmpty())
	Expect(uidOf(ctx, &corev1.Service{}, client.ObjectKey{Namespace: other.Namespace, Name: foreign.Name})).To(Equal(types.UID("")))
}
