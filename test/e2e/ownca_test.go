package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// perTwoCARolls is as long as it takes to go to other CAs and back.
const perTwoCARolls = NodeTimeout(35 * time.Minute)

var _ = Describe("A cluster takes a CA of one's own", Label("operator"), func() {
	ownOperator()

	It("and goes back, though the operator is killed after each change, and no write fails", perTwoCARolls, func(ctx context.Context) {
		cluster := story.Create(ctx, "own-ca", 3)
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), signingCAs(ctx, cluster)
		root := newCompanyCA("the root of a company", nil)
		given := map[string]*companyCA{resources.CASecret(cluster.Name): newCompanyCA("etcd of shop", root),
			resources.PeerCASecret(cluster.Name): newCompanyCA("members of shop", nil)}
		traffic := cluster.WriteFollowing(ctx)
		stop := operator.KillAtEachChange(cluster)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS = givenCAs() })
			cluster.AwaitStep(ctx, facts.ReasonCASource) // nothing is there yet
			createCASecret(ctx, "corp-peers", given[resources.PeerCASecret(cluster.Name)], nil)
			createCASecret(ctx, "corp-clients", given[resources.CASecret(cluster.Name)], root)
			hurry(ctx, cluster)
			awaitCAs(ctx, cluster, func(name string, held []string) bool {
				return len(held) == 1 && held[0] == pki.Fingerprint(given[name].pem())
			})
			cluster.AwaitReady(ctx, 3)
		})
		for member := range was.ids {
			secret := secretOf(ctx, resources.MemberSecret(member))
			Expect(pki.Fingerprints(secret.Data[resources.KeyCA])).To(Equal([]string{pki.Fingerprint(given[resources.CASecret(cluster.Name)].pem())}))
			Expect(verifiedBy(root, secret.Data[resources.KeyCert])).To(Succeed(), "a client that trusts the root of the company")
		}

		By("a Secret that is gone, which keeps nothing from going on")
		Expect(kube.Client.Delete(ctx, secretOf(ctx, "corp-clients"))).To(Succeed())
		Eventually(ctx, func() (string, error) {
			object, err := cluster.Get(ctx)
			if err != nil {
				return "", err
			}
			return apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionUpToDate).Message, nil
		}).WithTimeout(2 * time.Minute).Should(ContainSubstring("names Secret corp-clients, and that cannot be used: there is no such Secret"))
		cluster.AwaitReady(ctx, 3)

		traffic.During(ctx, func() {
			hurry(ctx, cluster) // what the operator makes afterwards was not asked for by it
			cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS = nil })
			awaitCAs(ctx, cluster, func(name string, held []string) bool {
				return len(held) == 1 && held[0] != before[name] && held[0] != pki.Fingerprint(given[name].pem())
			})
			cluster.AwaitReady(ctx, 3)
		})
		Expect(killedAt(stop)).To(ContainElements("TurnCA", "ApplyObjects", "EvictPod", "MoveLeader"))
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		cluster.Write(ctx).Finish(ctx)
	})

	It("from its beginning", func(ctx context.Context) {
		root := newCompanyCA("the root of a company", nil)
		clients, peers := newCompanyCA("etcd of shop", root), newCompanyCA("members of shop", nil)
		createCASecret(ctx, "corp-clients", clients, root)
		createCASecret(ctx, "corp-peers", peers, nil)
		cluster := story.Create(ctx, "born-own-ca", 3, func(c *v1alpha1.EtcdCluster) { c.Spec.TLS = givenCAs() })
		cluster.AwaitReady(ctx, 3)
		Expect(signingCAs(ctx, cluster)).To(Equal(map[string]string{resources.CASecret(cluster.Name): pki.Fingerprint(clients.pem()),
			resources.PeerCASecret(cluster.Name): pki.Fingerprint(peers.pem())}))
		pods, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		cluster.Write(ctx).Finish(ctx)
		cluster.AwaitReady(ctx, 3)
		after, err := cluster.Pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			Expect(after[i].UID).To(Equal(pods[i].UID), "no member is restarted for the CA that it began with")
		}
	})
})

// hurry gives clients of CAs that were made until now no time to follow.
func hurry(ctx context.Context, c *world.Cluster) {
	GinkgoHelper()
	annotate(ctx, c, v1alpha1.AnnotationRotateCA, `"0s@`+time.Now().UTC().Format(time.RFC3339)+`"`)
}

func givenCAs() *v1alpha1.TLSSpec {
	from := func(name string) *v1alpha1.CASource {
		return &v1alpha1.CASource{SecretRef: &v1alpha1.CASecretReference{Name: name}}
	}
	return &v1alpha1.TLSSpec{ClientCA: from("corp-clients"), PeerCA: from("corp-peers")}
}

// companyCA is a CA as a company has it.
type companyCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (a *companyCA) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// newCompanyCA makes a CA, by itself or below another one.
func newCompanyCA(name string, above *companyCA) *companyCA {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	made := &companyCA{key: key, cert: &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true}}
	by := made
	if above != nil {
		by = above
	}
	der, err := x509.CreateCertificate(rand.Reader, made.cert, by.cert, key.Public(), by.key)
	Expect(err).NotTo(HaveOccurred())
	made.cert, err = x509.ParseCertificate(der)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// createCASecret writes what cert-manager writes of a CA.
func createCASecret(ctx context.Context, name string, ca, above *companyCA) {
	GinkgoHelper()
	der, err := x509.MarshalECPrivateKey(ca.key)
	Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: meta(story.Namespace, name), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		resources.KeyCert: ca.pem(), resources.KeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})}}
	if above != nil {
		secret.Data[resources.KeyCA] = above.pem()
	}
	Expect(kube.Client.Create(ctx, secret)).To(Succeed())
}

// verifiedBy asks what a client asks that trusts a root alone, and gets the chain from the server.
func verifiedBy(root *companyCA, chain []byte) error {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.cert)
	between.AppendCertsFromPEM(chain)
	cert, err := pki.Read(chain)
	if err != nil {
		return err
	}
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
