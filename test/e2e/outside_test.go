package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// balanced is the address of a load balancer that the story plays: the machine routes it as it does Services, and kube-proxy
// leads it to members, since the Service's status names it. Kubernetes gives this part of the range to no Service by itself.
const balanced = "198.18.128.77"

// thisMachine and elsewhere are networks of clients; the machine is in the first one only.
const (
	thisMachine = "198.18.0.1/32"
	elsewhere   = "192.0.2.0/24"
)

// givenName is a name of the user's own DNS.
const givenName = "etcd.outside.example"

// brought is how long the kubelet may take to bring a changed Secret into a container that runs, and more.
const brought = 4 * time.Minute

var _ = Describe("A client outside the cluster", Label("tls"), func() {
	BeforeEach(func() { kube.NeedLocalkube() })
	ownNamespace()

	It("verifies members by the load balancer's address and by a name of the user's, from the networks of the spec only, and no member is restarted", perStory,
		func(ctx context.Context) {
			cluster := story.Create(ctx, "outside", 3, world.Ephemeral)
			cluster.AwaitReady(ctx, 3)
			was := identityOf(ctx, cluster)
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) {
				s.Service = &v1alpha1.ServiceSpec{
					Type: corev1.ServiceTypeLoadBalancer, LoadBalancerSourceRanges: []string{thisMachine}, Labels: map[string]string{"reached": "outside"},
				}
				s.TLS = &v1alpha1.TLSSpec{ExtraSANs: []string{givenName}}
			})
			Eventually(ctx, func() (corev1.ServiceType, error) {
				service, err := clientService(ctx, cluster)
				return service.Spec.Type, err
			}).WithTimeout(world.Patience).Should(Equal(corev1.ServiceTypeLoadBalancer))
			balance(ctx, cluster)
			url := "https://" + net.JoinHostPort(balanced, "2379")
			Eventually(ctx, func() ([]string, error) {
				object, err := cluster.Get(ctx)
				return object.Status.Endpoints, err
			}).WithTimeout(world.Patience).Should(HaveExactElements(HavePrefix("https://outside."+cluster.Namespace+".svc:"), Equal(url)))

			for _, name := range []string{balanced, givenName} {
				Eventually(ctx, func() error { return shakeHands(ctx, cluster, name) }).WithPolling(time.Second).WithTimeout(brought).Should(Succeed())
			}
			traffic := cluster.WriteTo(ctx, url, balanced)
			traffic.Finish(ctx)

			let := func(ranges ...string) {
				cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Service.LoadBalancerSourceRanges = ranges })
			}
			let(elsewhere)
			var timeout net.Error
			Eventually(ctx, func() bool { return errors.As(shakeHands(ctx, cluster, balanced), &timeout) && timeout.Timeout() }).
				WithTimeout(world.Patience).Should(BeTrue(), "this machine is let in no more")
			let(thisMachine)
			Eventually(ctx, func() error { return shakeHands(ctx, cluster, balanced) }).WithTimeout(world.Patience).Should(Succeed())
			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Service.LoadBalancerSourceRanges, s.Service.Labels = nil, nil })
			Eventually(ctx, func() (string, error) {
				service, err := clientService(ctx, cluster)
				return fmt.Sprint(service.Spec.LoadBalancerSourceRanges, service.Labels["reached"], service.Annotations[v1alpha1.AnnotationDressed]), err
			}).WithTimeout(world.Patience).Should(Equal("[]"), "what left the spec leaves the Service")
			Expect(shakeHands(ctx, cluster, balanced)).To(Succeed())

			cluster.Change(ctx, func(s *v1alpha1.EtcdClusterSpec) { s.Service, s.TLS = nil, nil })
			Eventually(ctx, func() ([]string, error) {
				object, err := cluster.Get(ctx)
				return object.Status.Endpoints, err
			}).WithTimeout(world.Patience).Should(HaveLen(1))
			Eventually(ctx, func() []string { return storedCertificate(ctx, cluster.Member(2)).DNSNames }).WithTimeout(world.Patience).ShouldNot(ContainElement(givenName))
			cluster.AwaitReady(ctx, 3)
			expectUntouched(ctx, cluster, was)
			expectNoRestarts(ctx, cluster)
		})
})

func clientService(ctx context.Context, c *world.Cluster) (*corev1.Service, error) {
	service := &corev1.Service{}
	return service, kube.Client.Get(ctx, key(resources.ClientService(c.Name)), service)
}

// balance does what a cloud does: it gives the client Service an address and leads that to members.
func balance(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		service, err := clientService(ctx, c)
		if err != nil {
			return err
		}
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: balanced}}
		return kube.Client.Status().Update(ctx, service)
	}).WithTimeout(world.Patience).Should(Succeed())
}

// shakeHands connects to the load balancer as often as it takes to meet each member, and verifies it by this name.
func shakeHands(ctx context.Context, c *world.Cluster, name string) error {
	config, err := c.ClientTLS(ctx)
	if err != nil {
		return err
	}
	config.ServerName = name
	dialer := tls.Dialer{Config: config, NetDialer: &net.Dialer{Timeout: 2 * time.Second}}
	for range 20 {
		connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(balanced, "2379"))
		if err != nil {
			return fmt.Errorf("a client that asks for %s: %w", name, err)
		}
		if err := connection.Close(); err != nil {
			return err
		}
	}
	return nil
}
