package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
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

	It("opens nothing to a client without one, or with one of another cluster", perStory, func(ctx context.Context) {
		var err error
		story, err = kube.NewStory(ctx)
		Expect(err).NotTo(HaveOccurred())
		cluster, other := story.Create(ctx, "here", 1, world.Ephemeral), story.Create(ctx, "there", 1, world.Ephemeral)
		cluster.AwaitReady(ctx, 1)
		other.AwaitReady(ctx, 1)
		pod, err := cluster.Pod(ctx, cluster.Member(0))
		Expect(err).NotTo(HaveOccurred())
		good, err := cluster.ClientTLS(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := other.ClientTLS(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, port := range []string{"2379", "2380"} {
			address := net.JoinHostPort(pod.Status.PodIP, port)
			Expect(ask(address, nil)).NotTo(Succeed(), "nobody on %s", port)
			Expect(ask(address, foreign.Certificates)).NotTo(Succeed(), "another cluster's client on %s", port)
			if port == "2380" {
				Expect(ask(address, good.Certificates)).NotTo(Succeed(), "clients have no business with peers")
			} else {
				Expect(ask(address, good.Certificates)).To(Succeed())
			}
		}
	})
})

// shortenLife replaces the certificate of a member's client port by one that ends within the hour, of the same authority.
func shortenLife(ctx context.Context, c *world.Cluster, member string) *x509.Certificate {
	GinkgoHelper()
	authoritySecret, secret := &corev1.Secret{}, &corev1.Secret{}
	Expect(kube.Client.Get(ctx, key(resources.CASecret(c.Name)), authoritySecret)).To(Succeed())
	authority, err := pki.ParseAuthority(pki.Pair{Cert: authoritySecret.Data[corev1.TLSCertKey], Key: authoritySecret.Data[corev1.TLSPrivateKeyKey]})
	Expect(err).NotTo(HaveOccurred())
	object, err := c.Get(ctx)
	Expect(err).NotTo(HaveOccurred())
	leaf := pki.Leaf(resources.MemberServerLeaf(object, member))
	leaf.Validity = 3 * time.Minute // beside five minutes of allowance for clocks: in its last third
	pair, err := authority.Issue(leaf, time.Now())
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Client.Get(ctx, key(resources.MemberSecret(member)), secret)).To(Succeed())
	secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey] = pair.Cert, pair.Key
	Expect(kube.Client.Update(ctx, secret)).To(Succeed())
	return parse(pair.Cert)
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

// ask asks for /version, which every port of a member answers to those it lets in.
func ask(address string, certificates []tls.Certificate) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Get("https://" + address + "/version")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
