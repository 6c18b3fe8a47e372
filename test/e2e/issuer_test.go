package e2e

import (
	"context"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/issuing"
)

// requestsFile is cert-manager's own definition of a CertificateRequest.
const requestsFile = "../issuing/certificaterequests.yaml"

var _ = Describe("A cluster has its certificates signed by an issuer", Label("operator"), func() {
	ownOperator()

	It("and goes back, though the operator is killed after each change, and no write fails", perTwoCARolls, func(ctx context.Context) {
		cluster := story.Create(ctx, "issued", 3)
		cluster.AwaitReady(ctx, 3)
		was, before := identityOf(ctx, cluster), signingCAs(ctx, cluster)
		clients, peers := newSigner("etcd-clients"), newSigner("etcd-members")
		issued := map[string]string{resources.CASecret(cluster.Name): pki.Fingerprint(clients.issuer.PEM()),
			resources.PeerCASecret(cluster.Name): pki.Fingerprint(peers.issuer.PEM())}
		traffic := cluster.WriteFollowing(ctx)
		stop := operator.KillAtEachChange(cluster)
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS = issuers() })
			cluster.AwaitStep(ctx, facts.ReasonCASource) // cert-manager is not installed, or nothing answers
			installRequests(ctx)
			clients.sign(ctx)
			peers.sign(ctx)
			hurry(ctx, cluster)
			awaitCAs(ctx, cluster, func(name string, held []string) bool { return len(held) == 1 && held[0] == issued[name] })
			cluster.AwaitReady(ctx, 3)
		})
		for name := range before {
			Expect(pki.IsSeed(secretOf(ctx, name).Data[resources.KeyKey])).To(BeTrue(), "the key of the CA never leaves its place")
		}

		By("an issuer that denies, which takes nothing from what serves")
		clients.change(func(i *issuing.Issuer) { i.Denies = "not these names" })
		traffic.During(ctx, func() {
			cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS.ExtraSANs = []string{"etcd.example.com"} })
			cluster.AwaitStep(ctx, facts.ReasonAwaitsIssuer)
			Eventually(ctx, func(g Gomega) {
				object, err := cluster.Get(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(object.Status.NextStep.Message).To(ContainSubstring("it was denied: not these names"))
				g.Expect(apimeta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
			}).Should(Succeed())
			clients.change(func(i *issuing.Issuer) { i.Denies = "" })
			Expect(kube.Client.DeleteAllOf(ctx, &resources.CertificateRequest{}, client.InNamespace(story.Namespace))).To(Succeed())
			Eventually(ctx, func() ([]string, error) {
				cert, err := pki.Read(secretOf(ctx, resources.MemberSecret(cluster.Name+"-0")).Data[resources.KeyCert])
				if err != nil {
					return nil, err
				}
				return cert.DNSNames, nil
			}).WithTimeout(3 * time.Minute).Should(ContainElement("etcd.example.com"))
			cluster.AwaitReady(ctx, 3)
		})

		By("the way back from issuers that sign no more")
		clients.stop()
		peers.stop()
		traffic.During(ctx, func() {
			hurry(ctx, cluster)
			cluster.Change(ctx, func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS = nil })
			awaitCAs(ctx, cluster, func(name string, held []string) bool {
				return len(held) == 1 && held[0] != before[name] && held[0] != issued[name]
			})
			cluster.AwaitReady(ctx, 3)
		})
		Eventually(ctx, func() ([]resources.CertificateRequest, error) {
			var left resources.CertificateRequestList
			err := kube.Client.List(ctx, &left, client.InNamespace(story.Namespace))
			return left.Items, err
		}).WithTimeout(time.Minute).Should(BeEmpty(), "requests that nothing waits for are deleted")
		Expect(killedAt(stop)).To(ContainElements("AskIssuer", "TurnCA", "ApplyObjects", "EvictPod", "MoveLeader"))
		Expect(cluster.Identities(ctx)).To(Equal(was.ids))
		Expect(traffic.Finish(ctx).Failed).To(BeZero())
		cluster.Write(ctx).Finish(ctx)
	})

	It("from its beginning", func(ctx context.Context) {
		installRequests(ctx)
		clients, peers := newSigner("etcd-clients"), newSigner("etcd-members")
		cluster := story.Create(ctx, "born-issued", 3, func(c *v1alpha1.EtcdCluster) { c.Spec.TLS = issuers() })
		cluster.AwaitStep(ctx, facts.ReasonCASource)
		clients.sign(ctx)
		peers.sign(ctx)
		cluster.AwaitReady(ctx, 3)
		Expect(signingCAs(ctx, cluster)).To(Equal(map[string]string{resources.CASecret(cluster.Name): pki.Fingerprint(clients.issuer.PEM()),
			resources.PeerCASecret(cluster.Name): pki.Fingerprint(peers.issuer.PEM())}))
		cluster.Write(ctx).Finish(ctx)
	})
})

func issuers() *v1alpha1.TLSSpec {
	by := func(name string) *v1alpha1.CASource {
		return &v1alpha1.CASource{IssuerRef: &v1alpha1.CAIssuerReference{Name: name, Kind: "ClusterIssuer"}}
	}
	return &v1alpha1.TLSSpec{ClientCA: by("etcd-clients"), PeerCA: by("etcd-members")}
}

// installRequests has Kubernetes know CertificateRequests from now on. It stays: another story may need it meanwhile.
func installRequests(ctx context.Context) {
	GinkgoHelper()
	said, err := kube.Kubectl(ctx, "apply", "--server-side", "-f", requestsFile)
	Expect(err).NotTo(HaveOccurred(), said)
	said, err = kube.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=1m", "crd/certificaterequests.cert-manager.io")
	Expect(err).NotTo(HaveOccurred(), said)
}

// signer stands for cert-manager and one of its issuers: it answers the requests of the story that name it.
type signer struct {
	name string

	mu     sync.Mutex
	issuer *issuing.Issuer
	stop   context.CancelFunc
}

func newSigner(name string) *signer {
	GinkgoHelper()
	root, err := issuing.New("the root of a company", time.Now(), nil)
	Expect(err).NotTo(HaveOccurred())
	issuer, err := issuing.New(name, time.Now(), root)
	Expect(err).NotTo(HaveOccurred())
	return &signer{name: name, issuer: issuer, stop: func() {}}
}

func (s *signer) change(change func(*issuing.Issuer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.issuer)
}

// sign answers until the story ends, or stop is called.
func (s *signer) sign(ctx context.Context) {
	signing, stop := context.WithCancel(ctx)
	s.stop = stop
	DeferCleanup(stop)
	go func() {
		defer GinkgoRecover()
		ticks := time.NewTicker(500 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-signing.Done():
				return
			case <-ticks.C:
				s.answerAll(signing)
			}
		}
	}()
}

// answerAll passes over what others change or delete at the same time: it looks again.
func (s *signer) answerAll(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list resources.CertificateRequestList
	if kube.Client.List(ctx, &list, client.InNamespace(story.Namespace)) != nil {
		return
	}
	for i := range list.Items {
		r := &list.Items[i]
		isAnswered := slices.ContainsFunc(r.Status.Conditions, func(c resources.RequestCondition) bool { return c.Type == resources.RequestReady })
		if r.Spec.IssuerRef.Name != s.name || isAnswered || r.DeletionTimestamp != nil {
			continue
		}
		Expect(s.issuer.Answer(r, time.Now())).To(Succeed())
		_ = kube.Client.Status().Update(ctx, r)
	}
}
