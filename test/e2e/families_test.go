package e2e

import (
	"context"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

var _ = Describe("Where there is IPv6", Label("families"), func() {
	ownNamespace()

	for _, network := range []struct {
		name, localkube string
		fits            func([]corev1.IPFamily) bool
	}{
		{"alone", "IPv6", world.OnlyIPv6},
		{"and IPv4", "IPv4,IPv6", world.Both},
	} {
		It(network.name+", a cluster is created, grows, rolls, is backed up and restored while clients write", perStory, func(ctx context.Context) {
			kube.NeedFamilies(ctx, network.fits, network.localkube)
			cluster := story.Create(ctx, "wide", 1)
			cluster.AwaitReady(ctx, 1)
			byName, byService := cluster.Write(ctx), cluster.WriteThroughService(ctx)
			byName.During(ctx, func() {
				cluster.Resize(ctx, 3)
				cluster.AwaitReady(ctx, 3)
			})
			was := identityOf(ctx, cluster)
			byName.During(ctx, func() {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Etcd = &v1alpha1.EtcdSpec{SnapshotCount: new(int64(5000))} })
				cluster.AwaitReady(ctx, 3)
			})
			for name, uid := range podsOf(ctx, cluster) {
				Expect(uid).NotTo(Equal(was.pods[name]), "%s was restarted", name)
			}
			expectSame(ctx, cluster, was)
			byService.Flow(ctx)
			expectFamilies(ctx, cluster, kube.Families(ctx))
			expectOnEveryAddress(ctx, cluster, kube.Families(ctx))
			save(ctx, cluster, story.ToS3(ctx, kube.S3Server(s3server.Versitygw).Access))
			again := story.Create(ctx, "again", 3, fromBackup("first"))
			again.AwaitReady(ctx, 3)
			holdsBackup(ctx, again, cluster)
			byName.Finish(ctx)
			byService.Finish(ctx)
		})
	}

	It("and IPv4, the Services follow the spec, and one with an address keeps its first family until it is deleted", perStory, func(ctx context.Context) {
		kube.NeedFamilies(ctx, world.Both, "IPv4,IPv6")
		has := kube.Families(ctx)
		cluster := story.Create(ctx, "turned", 3)
		cluster.AwaitReady(ctx, 3)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			setFamilies(ctx, cluster, v1alpha1.ServiceSpec{IPFamilyPolicy: corev1.IPFamilyPolicySingleStack})
			expectFamilies(ctx, cluster, has[:1])
			setFamilies(ctx, cluster, v1alpha1.ServiceSpec{})
			expectFamilies(ctx, cluster, has)
			setFamilies(ctx, cluster, v1alpha1.ServiceSpec{
				IPFamilies: []corev1.IPFamily{has[1]}, IPFamilyPolicy: corev1.IPFamilyPolicySingleStack,
			})
			awaitSaid(ctx, cluster, "Service turned has "+string(has[0])+" first, which Kubernetes never changes")
			service := &corev1.Service{}
			Expect(kube.Client.Get(ctx, key(resources.ClientService(cluster.Name)), service)).To(Succeed())
			Expect(kube.Client.Delete(ctx, service)).To(Succeed())
			expectFamilies(ctx, cluster, has[1:])
			cluster.AwaitReady(ctx, 3)
		})
		expectUntouched(ctx, cluster, was)
		byService := cluster.WriteThroughService(ctx)
		byService.Finish(ctx)
		traffic.Finish(ctx)
	})
})

var _ = Describe("A family of addresses that Kubernetes does not have", Label("families"), func() {
	ownNamespace()

	It("is refused by name, and the spec put back heals, of a cluster that runs and of a new one", perStory, func(ctx context.Context) {
		kube.NeedFamilies(ctx, world.One, "IPv4")
		has, lacks := kube.Families(ctx), []corev1.IPFamily{corev1.IPv6Protocol}
		if has[0] == lacks[0] {
			lacks[0] = corev1.IPv4Protocol
		}
		cluster := story.Create(ctx, "runs", 1)
		cluster.AwaitReady(ctx, 1)
		was := identityOf(ctx, cluster)
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			setFamilies(ctx, cluster, v1alpha1.ServiceSpec{IPFamilyPolicy: corev1.IPFamilyPolicyRequireDualStack})
			awaitSaid(ctx, cluster, "this cluster is not configured for dual-stack services")
			setFamilies(ctx, cluster, v1alpha1.ServiceSpec{})
			cluster.AwaitReady(ctx, 1)
		})
		expectUntouched(ctx, cluster, was)
		traffic.Finish(ctx)

		begins := story.Create(ctx, "begins", 1, func(c *v1alpha1.EtcdCluster) { c.Spec.Service = &v1alpha1.ServiceSpec{IPFamilies: lacks} })
		awaitSaid(ctx, begins, "not configured on this cluster")
		setFamilies(ctx, begins, v1alpha1.ServiceSpec{IPFamilies: has})
		begins.AwaitReady(ctx, 1)
	})
})

func setFamilies(ctx context.Context, c *world.Cluster, service v1alpha1.ServiceSpec) {
	GinkgoHelper()
	c.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Service = &service })
}

// awaitSaid waits until the status says what the API server or the operator refuses.
func awaitSaid(ctx context.Context, c *world.Cluster, text string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return nextStep(ctx, c) }).Should(ContainSubstring(text))
}

// expectFamilies waits until both Services of a cluster have these families.
func expectFamilies(ctx context.Context, c *world.Cluster, families []corev1.IPFamily) {
	GinkgoHelper()
	for _, name := range []string{resources.ClientService(c.Name), resources.PeerService(c.Name)} {
		Eventually(ctx, func() ([]corev1.IPFamily, error) {
			service := &corev1.Service{}
			err := client.IgnoreNotFound(kube.Client.Get(ctx, key(name), service))
			return service.Spec.IPFamilies, err
		}).Should(Equal(families), name)
	}
}

// expectOnEveryAddress expects each member to listen on an address of each family: for clients, peers and probes.
func expectOnEveryAddress(ctx context.Context, c *world.Cluster, families []corev1.IPFamily) {
	GinkgoHelper()
	pods, err := c.Pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := range pods {
		Expect(world.FamiliesOf(&pods[i])).To(Equal(families), pods[i].Name)
		for _, ip := range pods[i].Status.PodIPs {
			for _, port := range []string{"2379", "2380", "2381"} {
				connection, err := net.DialTimeout("tcp", net.JoinHostPort(ip.IP, port), 5*time.Second)
				Expect(err).NotTo(HaveOccurred(), "%s of %s", port, pods[i].Name)
				Expect(connection.Close()).To(Succeed())
			}
		}
	}
}
