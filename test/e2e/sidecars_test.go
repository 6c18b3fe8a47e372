package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// etcdImage has a program that ends by itself, and one that refuses its flags.
const etcdImage = resources.DefaultRepository + ":v" + world.DefaultVersion

// shipper is a sidecar that runs, mounts all that one may, and says which of its changes it is.
func shipper(edition string) v1alpha1.Sidecar {
	return v1alpha1.Sidecar{
		Name: "shipper", Image: pauseImage, Env: []v1alpha1.SidecarEnv{{Name: "EDITION", Value: edition}},
		Mounts: []v1alpha1.SidecarMount{
			{MountPath: "/tmp", EmptyDir: &v1alpha1.SidecarEmptyDir{}},
			{MountPath: "/conf", ConfigMap: &v1alpha1.SidecarObjectRef{Name: "is-not-there"}},
			{MountPath: "/etcd", ClientCertificate: &v1alpha1.SidecarClientCertificate{}},
		},
	}
}

// ending is a sidecar that runs for seconds, and then stops with an error, again and again.
func ending() v1alpha1.Sidecar {
	return v1alpha1.Sidecar{Name: "ending", Image: etcdImage,
		Command: []string{"etcdctl", "--endpoints=http://127.0.0.1:1", "--dial-timeout=4s", "--command-timeout=4s", "get", "x"}}
}

// pauseImage is there wherever Pods are.
const pauseImage = "registry.k8s.io/pause:3.10"

func withSidecars(sidecars ...v1alpha1.Sidecar) func(*v1alpha1.EtcdClusterSpec) {
	return func(s *v1alpha1.EtcdClusterSpec) { s.Pod.Sidecars = sidecars }
}

var _ = Describe("A sidecar", Label("platforms"), func() {
	ownNamespace()

	It("is added, changed and taken away, one member at a time, under a client that writes", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "beside", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		for i, sidecars := range [][]v1alpha1.Sidecar{{shipper("1")}, {shipper("2"), {Name: "second", Image: pauseImage}}, nil} {
			before := podsOf(ctx, cluster)
			traffic.During(ctx, func() {
				cluster.Change(ctx, withSidecars(sidecars...))
				cluster.AwaitReady(ctx, 3)
			})
			expectSidecars(ctx, cluster, sidecars, before)
			Expect(len(cluster.History.Restarted())).To(BeNumerically("<=", 3*(i+1)), "one restart each:\n%s", cluster.History)
		}
		expectSame(ctx, cluster, was)
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})

	It("whose image cannot be pulled stops the roll at the first member, is named, and putting it back heals it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "unpulled", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, withSidecars(v1alpha1.Sidecar{Name: "shipper", Image: "registry.invalid/no/shipper:1"}))
			Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(world.Patience).Should(SatisfyAll(
				HavePrefix("SidecarNotReady: "), ContainSubstring("container shipper of its Pod starts first and cannot")))
			Expect(cluster.History.Restarted()).To(HaveLen(1), "it stops at the first:\n%s", cluster.History)
			cluster.Change(ctx, withSidecars())
			cluster.AwaitReady(ctx, 3)
		})
		Expect(len(cluster.History.Restarted())).To(BeNumerically("<=", 2), "no other member was touched:\n%s", cluster.History)
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})

	It("that stops at once keeps etcd of the first member from starting, and what is right heals it", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "atonce", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, withSidecars(v1alpha1.Sidecar{Name: "shipper", Image: etcdImage, Command: []string{"etcd"}, Args: []string{"--no-such-flag"}}))
			Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(world.Patience).Should(SatisfyAll(
				HavePrefix("SidecarNotReady: "), ContainSubstring("shipper"), ContainSubstring("no-such-flag")))
			Expect(cluster.History.Restarted()).To(HaveLen(1), "it stops at the first:\n%s", cluster.History)
			cluster.Change(ctx, withSidecars(shipper("1")))
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})
})

// Alone on the machine: what counts is that a client behind the Service is held back no longer than others.
var _ = Describe("A sidecar", Label("platforms"), Serial, func() {
	ownNamespace()

	It("that crashes costs no member and no write, and clients of the Service reach the member beside it", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		cluster := story.Create(ctx, "ending", 3, func(c *v1alpha1.EtcdCluster) { c.Spec.Pod.Sidecars = []v1alpha1.Sidecar{ending()} })
		Eventually(ctx, func() (string, error) { return nextStep(ctx, cluster) }).WithTimeout(world.Patience).Should(SatisfyAll(
			HavePrefix("SidecarNotReady: Sidecar ending of "), ContainSubstring("it stopped with exit code")))
		Eventually(ctx, func() (bool, error) { return allUnready(ctx, cluster) }).WithTimeout(world.Patience).Should(BeTrue(), "each sidecar crashes")
		Eventually(ctx, func() []string { return readyAddresses(ctx, cluster.Name) }).Should(HaveLen(3), "the Service leads to all of them")
		ids := cluster.Identities(ctx)
		behind, knowing := cluster.WriteThroughService(ctx), cluster.Write(ctx)
		knowing.During(ctx, func() {
			Consistently(ctx, func() []string { return readyAddresses(ctx, cluster.Name) }).WithTimeout(30 * time.Second).Should(HaveLen(3))
			Expect(cluster.Identities(ctx)).To(Equal(ids), "no member was replaced")
			cluster.Change(ctx, withSidecars())
			cluster.AwaitReady(ctx, 3)
		})
		Expect(cluster.Identities(ctx)).To(Equal(ids))
		Eventually(ctx, func() (bool, error) {
			service := &corev1.Service{}
			err := kube.Client.Get(ctx, key(cluster.Name), service)
			return service.Spec.PublishNotReadyAddresses, err
		}).WithTimeout(world.Patience).Should(BeFalse(), "the Service asks for ready Pods again")
		Expect(knowing.Finish(ctx).Failed).To(BeZero())
		Expect(behind.Finish(ctx).Failed).To(BeZero())
	})
})

// In a mesh each Pod has more containers than the operator made.
var _ = Describe("A sidecar", Label("platforms"), func() {
	ownNamespace()

	It("and a proxy that a webhook puts into each Pod are told apart, and tasks have no sidecar", perStory, func(ctx context.Context) {
		cluster := story.Create(ctx, "meshed", 3)
		cluster.AwaitReady(ctx, 3)
		pod, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		story.InjectProxy(ctx, pod)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			cluster.Change(ctx, withSidecars(shipper("1")))
			cluster.AwaitReady(ctx, 3)
		})
		settled := podsOf(ctx, cluster)
		expectSidecars(ctx, cluster, []v1alpha1.Sidecar{shipper("1")}, nil)
		for _, pod := range listPods(ctx, cluster) {
			Expect(pod.Spec.Containers).To(HaveLen(2), "%s has no proxy, so that nothing was tried", pod.Name)
		}
		story.Claim(ctx, "backups")
		save(ctx, cluster, world.ToVolume("backups"))
		for _, pod := range backupPods(ctx) {
			for _, container := range pod.Spec.InitContainers {
				Expect(container.Name).NotTo(Equal("shipper"))
			}
		}
		Expect(podsOf(ctx, cluster)).To(Equal(settled), "no member is restarted again")
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
	})
})

// expectSidecars looks into each member's Pod, which must be another one than before, and at the counts.
func expectSidecars(ctx context.Context, cluster *world.Cluster, want []v1alpha1.Sidecar, before map[string]types.UID) {
	GinkgoHelper()
	for _, pod := range listPods(ctx, cluster) {
		Expect(pod.UID).NotTo(Equal(before[pod.Name]), "%s was restarted", pod.Name)
		Expect(pod.Spec.InitContainers).To(HaveLen(len(want)), pod.Name)
		for i, sidecar := range want {
			Expect(pod.Spec.InitContainers[i].Name).To(Equal(sidecar.Name))
			Expect(pod.Spec.InitContainers[i].Env).To(HaveLen(len(sidecar.Env)))
			for j, variable := range sidecar.Env {
				Expect(pod.Spec.InitContainers[i].Env[j].Value).To(Equal(variable.Value))
			}
		}
	}
	var counts *v1alpha1.SidecarsStatus
	if len(want) > 0 {
		counts = &v1alpha1.SidecarsStatus{Matched: 3, Updated: 3, Ready: 3}
	}
	Eventually(ctx, func() (*v1alpha1.SidecarsStatus, error) {
		current, err := cluster.Get(ctx)
		if err != nil {
			return nil, err
		}
		return current.Status.Sidecars, nil
	}).Should(Equal(counts))
}

// allUnready reports that Kubernetes calls no member's Pod ready at this moment.
func allUnready(ctx context.Context, cluster *world.Cluster) (bool, error) {
	pods, err := cluster.Pods(ctx)
	for i := range pods {
		if world.IsReady(&pods[i]) {
			return false, err
		}
	}
	return len(pods) == 3, err
}
