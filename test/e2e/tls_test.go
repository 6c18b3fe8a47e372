package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

var _ = Describe("A member's certificate", Label("tls"), func() {
	It("that is near its end is renewed and served with no restart, and clients notice nothing", perStory, func(ctx context.Context) {
		kube.NeedLocalkube()
		var err error
		story, err = kube.NewStoryWithOwnOperator(ctx)
		Expect(err).NotTo(HaveOccurred())
		operator := story.StartOperator(ctx)
		cluster := story.Create(ctx, "leaf", 3, world.Ephemeral)
		cluster.AwaitReady(ctx, 3)
		member := cluster.Member(1)
		before, err := cluster.Pod(ctx, member)
		Expect(err).NotTo(HaveOccurred())
		traffic := cluster.Write(ctx)
		traffic.During(ctx, func() {
			operator.Kill() // it keeps what it read of Secrets for minutes; one that starts reads them anew
			old := shortenLife(ctx, cluster, member)
			operator.Start()
			var renewed *x509.Certificate
			Eventually(ctx, func() time.Time {
				renewed = storedCertificate(ctx, member)
				return renewed.NotAfter
			}).Should(BeTemporally(">", old.NotAfter.Add(24*time.Hour)))
			// The kubelet brings Secrets into running containers in its own time, a minute or two.
			Eventually(ctx, func() (string, error) { return servedSerial(ctx, cluster, member) }).WithPolling(time.Second).
				WithTimeout(4 * time.Minute).Should(Equal(renewed.SerialNumber.String()))
		})
		after, err := cluster.Pod(ctx, member)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.UID).To(Equal(before.UID))
		Expect(cluster.Restarts(ctx, member)).To(BeZero())
		cluster.AwaitReady(ctx, 3)
		traffic.Finish(ctx)
	})

	It("names the member and both Services under the domain of this Kubernetes to clients that verify it", perStory,
		func(ctx context.Context) {
			kube.NeedLocalkube()
			var err error
			story, err = kube.NewStory(ctx)
			Expect(err).NotTo(HaveOccurred())
			cluster := story.Create(ctx, "named", 3, world.Ephemeral)
			cluster.AwaitReady(ctx, 3)
			domain := kube.Domain(ctx)
			config, err := cluster.ClientTLS(ctx)
			Expect(err).NotTo(HaveOccurred())
			dialer := tls.Dialer{Config: config, NetDialer: &net.Dialer{Resolver: world.ServiceNames}}
			for _, service := range []string{cluster.Name, resources.PeerService(cluster.Name),
				cluster.Member(1) + "." + resources.PeerService(cluster.Name)} {
				name := service + "." + cluster.Namespace + ".svc." + domain
				connection, err := dialer.DialContext(ctx, "tcp", name+":2379")
				Expect(err).NotTo(HaveOccurred(), "a client of %s", name)
				Expect(connection.Close()).To(Succeed())
			}
		})

	It("opens nothing to a client without one, or with one of another cluster, and its metrics port nothing but metrics", perStory, func(ctx context.Context) {
		var err error
		story, err = kube.NewStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		cluster, other := story.Create(ctx, "here", 1, world.Ephemeral), story.Create(ctx, "there", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		other.AwaitReady(ctx, 1)
		pod, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		client, foreignClient := clientCertificate(ctx, cluster), clientCertificate(ctx, other)
		peer, foreignPeer := peerCertificate(ctx, cluster.Member(0)), peerCertificate(ctx, other.Member(0))
		for _, port := range []struct {
			number  int
			letsIn  tls.Certificate
			refused map[string]tls.Certificate
		}{
			{etcdutil.ClientPort, client, map[string]tls.Certificate{"no certificate": {}, "another cluster's client": foreignClient, "another cluster's member": foreignPeer}},
			{etcdutil.PeerPort, peer, map[string]tls.Certificate{"no certificate": {}, "another cluster's member": foreignPeer, "a client": client}},
		} {
			address := "https://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port.number))
			for who, certificate := range port.refused {
				_, err := ask(address+"/version", certificate)
				Expect(err).To(MatchError(ContainSubstring("remote error: tls:")), "%s on %d", who, port.number)
			}
			Expect(ask(address+"/version", port.letsIn)).To(Equal(http.StatusOK), "the same question, with the right certificate, on %d", port.number)
		}
		// Prometheus asks in plain text, and finds nothing else there.
		metrics := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.MetricsPort))
		Expect(ask("http://"+metrics+"/metrics", tls.Certificate{})).To(Equal(http.StatusOK))
		for _, path := range []string{"/version", "/v3/kv/range", "/members", "/raft"} {
			Expect(ask("http://"+metrics+path, tls.Certificate{})).To(Equal(http.StatusNotFound), path)
		}
	})
})

// clientCertificate is what users of a cluster connect with.
func clientCertificate(ctx context.Context, c *world.Cluster) tls.Certificate {
	GinkgoHelper()
	config, err := c.ClientTLS(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(config.Certificates).To(HaveLen(1))
	return config.Certificates[0]
}

// peerCertificate is what a member shows to its peers.
func peerCertificate(ctx context.Context, member string) tls.Certificate {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(resources.MemberSecret(member)), secret)).To(Succeed())
	certificate, err := tls.X509KeyPair(secret.Data[resources.KeyPeerCert], secret.Data[resources.KeyPeerKey])
	Expect(err).NotTo(HaveOccurred())
	return certificate
}

// shortenLife replaces the certificate of a member's client port by one that ends within the hour, of the same CA.
func shortenLife(ctx context.Context, c *world.Cluster, member string) *x509.Certificate {
	GinkgoHelper()
	secret := &corev1.Secret{}
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	leaf := pki.Leaf(resources.MemberServerLeaf(object, member, ""))
	leaf.Validity = 3 * time.Minute // beside a day of allowance for clocks: in its last third
	pair, err := authority(ctx, resources.CASecret(c.Name)).Issue(leaf, time.Now())
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Get(ctx, key(resources.MemberSecret(member)), secret)).To(Succeed())
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = pair.Cert, pair.Key
	Expect(kube.Client.Update(ctx, secret)).To(Succeed())
	return parse(pair.Cert)
}

// authority is the CA in a Secret.
func authority(ctx context.Context, name string) pki.CA {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(name), secret)).To(Succeed())
	ca, err := pki.ParseCA(pki.Pair{Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]})
	Expect(err).NotTo(HaveOccurred())
	return ca
}

func storedCertificate(ctx context.Context, member string) *x509.Certificate {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(resources.MemberSecret(member)), secret)).To(Succeed())
	return parse(secret.Data[corev1.TLSCertKey])
}

func parse(certificate []byte) *x509.Certificate {
	GinkgoHelper()
	block, _ := pem.Decode(certificate)
	Expect(block).NotTo(BeNil())
	parsed, err := x509.ParseCertificate(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	return parsed
}

// servedSerial is the serial number of the certificate that the member shows on a new connection.
func servedSerial(ctx context.Context, c *world.Cluster, member string) (string, error) {
	pod, err := c.Pod(ctx, member)
	if err != nil {
		return "", err
	}
	config, err := c.ClientTLS(ctx)
	if err != nil {
		return "", err
	}
	config.InsecureSkipVerify = true // the story wants to see it, whatever it is
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", net.JoinHostPort(pod.Status.PodIP, "2379"), config)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// ask is the status of what a port answers. TLS 1.2 at most: there the refusal of a certificate comes before the
// question is sent, and cannot be lost to a connection that is cut. The certificate is shown even where the server says
// that it asks for another one.
func ask(url string, certificate tls.Certificate) (int, error) {
	shown := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	config := &tls.Config{InsecureSkipVerify: true, GetClientCertificate: shown, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
