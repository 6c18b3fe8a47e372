package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("The operator that Helm installs", Label("operator"), Serial, func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("takes over what kustomize installed, is upgraded with its definitions, rolled back, uninstalled and installed again, "+
		"and no member notices", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "kept", 3)
		cluster.AwaitReady(ctx, 3)
		was, processes := identityOf(ctx, cluster), processesOf(ctx, []*world.Cluster{cluster})
		DeferCleanup(func(ctx context.Context) { kube.Installed().Deploy(ctx) }) // once the release is gone
		release := kube.Release(world.OperatorNamespace)
		former := world.FormerChart("Leader", "Former")
		traffic := cluster.Write(ctx)
		for _, step := range []struct {
			done     string
			take     func()
			column   string
			replicas int32
		}{
			{"taken over", func() {
				release.TakeOver(ctx, former, "--set", "replicas=1")
			}, "Former", 1},
			{"upgraded", func() { release.Upgrade(ctx, world.Chart, "--set", "replicas=2") }, "Leader", 2},
			{"rolled back", func() { release.Rollback(ctx) }, "Former", 1},
			{"upgraded again", func() { release.Upgrade(ctx, world.Chart, "--set", "replicas=2") }, "Leader", 2},
			{"uninstalled", func() { release.Uninstall(ctx) }, "Leader", 0},
			{"installed again", func() { release.Install(ctx, world.Chart) }, "Leader", 2},
		} {
			By(step.done)
			traffic.During(ctx, func() {
				step.take()
				if step.replicas > 0 {
					awaitLooks(ctx, cluster)
				} else {
					Consistently(ctx, func() error { return cluster.CheckServing(ctx, 3) }).WithTimeout(watching).Should(Succeed())
				}
			})
			Expect(columnsOf(ctx, "etcdclusters.etcdsteward.dev")).To(ContainElement(step.column), step.done)
			Expect(replicasOf(ctx)).To(Equal(step.replicas), step.done)
			expectUntouched(ctx, cluster, was)
			Expect(processesOf(ctx, []*world.Cluster{cluster})).To(Equal(processes), "%s: no member is restarted", step.done)
		}
		traffic.During(ctx, func() {
			deletePod(ctx, cluster, cluster.Member(1))
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})
})

var _ = Describe("An operator that Helm installs for some namespaces", Label("operator"), func() {
	// fenced is a namespace that the operator of all namespaces may not write to.
	fenced := func(ctx context.Context) *world.Story {
		GinkgoHelper()
		made, err := kube.NewFencedStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		return made
	}
	BeforeEach(func() { kube.NeedLocalkube() })

	It("which is its own, heals and grows a cluster there and has no right outside", perStory, func(ctx context.Context) {
		story = fenced(ctx)
		release := kube.Release(story.Namespace)
		release.Install(ctx, world.Chart, "--set", "crds.install=false", "--set", "watchNamespaces={"+story.Namespace+"}")
		release.ExpectNoRightOutside(ctx)
		cluster := story.Create(ctx, "alone", 1)
		cluster.AwaitReady(ctx, 1)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Resize(ctx, 3)
			cluster.AwaitReady(ctx, 3)
		})
		was := identityOf(ctx, cluster)
		traffic.During(ctx, func() {
			deletePod(ctx, cluster, cluster.Member(1))
			cluster.AwaitReady(ctx, 3)
		})
		expectSame(ctx, cluster, was)
		traffic.Finish(ctx)
	})

	It("looks after clusters and backups in each of them, and leaves others alone", perStory, func(ctx context.Context) {
		home, first, second, other := fenced(ctx), fenced(ctx), fenced(ctx), fenced(ctx)
		release := kube.Release(home.Namespace)
		release.Install(ctx, world.Chart, "--set", "crds.install=false",
			"--set", "watchNamespaces={"+first.Namespace+","+second.Namespace+"}")
		release.ExpectNoRightOutside(ctx, other)
		foreign := other.Create(ctx, "foreign", 1)
		for _, place := range []*world.Story{first, second} {
			expectLookedAfter(ctx, place)
		}
		Expect(foreign.Pods(ctx)).To(BeEmpty())
		Expect(uidOf(ctx, &corev1.Service{}, client.ObjectKey{Namespace: other.Namespace, Name: foreign.Name})).To(Equal(types.UID("")))
	})
})

// columnsOf are the columns that kubectl shows of a kind.
func columnsOf(ctx context.Context, definition string) []string {
	GinkgoHelper()
	said, err := kube.Kubectl(ctx, "get", "crd", definition, "-o",
		`jsonpath={range .spec.versions[0].additionalPrinterColumns[*]}{.name}{"\n"}{end}`)
	Expect(err).NotTo(HaveOccurred(), said)
	return strings.Split(strings.TrimSpace(said), "\n")
}

// replicasOf is how many replicas of the operator are asked for; none where it is not installed.
func replicasOf(ctx context.Context) int32 {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	err := kube.Client.Get(ctx, client.ObjectKey{Namespace: world.OperatorNamespace, Name: world.OperatorName}, deployment)
	if apierrors.IsNotFound(err) {
		return 0
	}
	Expect(err).NotTo(HaveOccurred())
	return *deployment.Spec.Replicas
}
