package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// metricsCA is the Secret, beside the operator, with the CA that all replicas issue the certificates of /metrics from.
// Those who scrape trust its ca.crt: see config/monitoring/operator.yaml.
const (
	metricsCA    = "etcd-steward-metrics-ca"
	metricsCAKey = "ca.crt"
)

// How often a replica reads that Secret at most: one that was deleted or replaced is noticed with the next scrape.
const (
	metricsCAAgain = 10 * time.Minute
	metricsCARetry = 10 * time.Second
)

// metricsCertificate is what a replica serves /metrics with: issued in memory, from the CA of this install.
type metricsCertificate struct {
	secrets typed.SecretInterface
	names   []string // that those who scrape may know the operator by
	now     func() time.Time

	mu      sync.Mutex
	issued  pki.Pair
	current *tls.Certificate
	why     error     // why there is none, or why the one that there is could not be looked after
	next    time.Time // before that the Secret is not read again
}

// newMetricsCertificate is that of this replica; nil where /metrics needs none, or no namespace holds its CA.
func newMetricsCertificate(config *rest.Config, o options) (*metricsCertificate, error) {
	namespace := os.Getenv("POD_NAMESPACE")
	if !o.metricsSecure || namespace == "" {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to read the Secret %s: %w", metricsCA, err)
	}
	return &metricsCertificate{secrets: core.Secrets(namespace), names: metricsNames(namespace, o.clusterDomain),
		now: time.Now}, nil
}

// metricsNames are the names of every Service of a namespace, since the operator does not know what its own is called,
// and what kubectl port-forward leads to.
func metricsNames(namespace, domain string) []string {
	service := "*." + namespace + ".svc"
	return []string{service, service + "." + cmp.Or(domain, "cluster.local"), "localhost"}
}

// configure has the server use this certificate, and HTTP/1.1 alone: over HTTP/2 one connection can ask for more than
// the server can bear (CVE-2023-44487), and those who scrape have no use for it.
func (m *metricsCertificate) configure(config *tls.Config) {
	config.NextProtos = []string{"http/1.1"}
	if m != nil {
		config.GetCertificate = m.get
	}
}

// get is asked for each connection. While the Secret cannot be read, it gives the certificate that was issued before.
func (m *metricsCertificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); !now.Before(m.next) {
		m.why = m.renew(hello.Context(), now)
		m.next = now.Add(metricsCAAgain)
		if m.why != nil {
			m.next = now.Add(metricsCARetry)
		}
	}
	if m.current == nil {
		return nil, m.why
	}
	return m.current, nil
}

// renew issues a certificate where there is none, or the one that there is has to be renewed.
func (m *metricsCertificate) renew(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	authority, err := m.authority(ctx, now)
	if err != nil {
		return err
	}
	leaf := pki.Leaf{CommonName: v1alpha1.OperatorNameValue, DNSNames: m.names, Server: true}
	if _, isDue := pki.NeedsRenewal(m.issued.Cert, authority.CertPEM(), leaf, now); !isDue {
		return nil
	}
	issued, err := authority.Issue(leaf, now)
	if err != nil {
		return fmt.Errorf("issuing the certificate of /metrics: %w. Delete the Secret %s, and the operator makes "+
			"another CA", err, metricsCA)
	}
	current, err := tls.X509KeyPair(issued.Cert, issued.Key)
	if err != nil {
		return errors.New("reading the certificate of /metrics that was just issued") // the cause may hold the key
	}
	m.issued, m.current = issued, &current
	return nil
}

// authority reads the CA, and makes it where there is none. Of two replicas that make one, the first wins.
func (m *metricsCertificate) authority(ctx context.Context, now time.Time) (pki.Authority, error) {
	secret, err := m.secrets.Get(ctx, metricsCA, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if secret, err = m.makeAuthority(ctx, now); apierrors.IsAlreadyExists(err) {
			secret, err = m.secrets.Get(ctx, metricsCA, metav1.GetOptions{})
		}
	}
	if err != nil {
		return pki.Authority{}, fmt.Errorf("reading or making the Secret %s: %w", metricsCA, err)
	}
	authority, err := pki.ParseAuthority(pki.Pair{Cert: secret.Data[corev1.TLSCertKey],
		Key: secret.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return pki.Authority{}, fmt.Errorf("reading the CA in the Secret %s: %w", metricsCA, err)
	}
	return authority, nil
}

func (m *metricsCertificate) makeAuthority(ctx context.Context, now time.Time) (*corev1.Secret, error) {
	pair, err := pki.NewAuthority("metrics of "+identity(), now, 0)
	if err != nil {
		return nil, fmt.Errorf("making the CA of /metrics: %w", err)
	}
	return m.secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: metricsCA, Annotations: v1alpha1.LeftAlone(), Labels: map[string]string{
			v1alpha1.LabelName: v1alpha1.OperatorNameValue, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{metricsCAKey: pair.Cert, corev1.TLSCertKey: pair.Cert,
			corev1.TLSPrivateKeyKey: pair.Key},
	}, metav1.CreateOptions{})
}
