package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	registration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// The Secrets, beside the operator, with the CAs that all replicas issue the certificates from that they serve with.
// Those who scrape trust the ca.crt of the first one (config/monitoring/operator.yaml), and the API server that of the
// second one, which the leader writes into the webhook's configuration.
const (
	metricsCA = "etcd-steward-metrics-ca"
	webhookCA = "etcd-steward-webhook-ca"
	caKey     = "ca.crt"
)

// How often a replica reads such a Secret at most. One that was deleted or replaced is noticed with the next connection
// after that; the leader looks by itself.
const (
	caAgain = time.Minute
	caRetry = 10 * time.Second
)

// servingCertificate is what a replica serves one thing with: issued in memory, from a CA of this install.
type servingCertificate struct {
	secrets typed.SecretInterface
	ca      string   // the Secret
	use     string   // what is served
	names   []string // that clients may know the operator by
	now     func() time.Time

	mu      sync.Mutex
	secret  string // of the CA that it was issued from
	issued  pki.Pair
	current *tls.Certificate
	why     error     // why there is none, or why the one that there is could not be looked after
	next    time.Time // before that the Secret is not read again
}

// newServingCertificate is that of this replica for a use; nil where no namespace holds its CA.
func newServingCertificate(config *rest.Config, o options, ca, use string) (*servingCertificate, error) {
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to read the Secret %s: %w", ca, err)
	}
	return &servingCertificate{secrets: core.Secrets(namespace), ca: ca, use: use,
		names: servingNames(namespace, o.clusterDomain), now: time.Now}, nil
}

// servingNames are the names of every Service of a namespace, since the operator does not know what its own is called,
// and what kubectl port-forward leads to.
func servingNames(namespace, domain string) []string {
	service := "*." + namespace + ".svc"
	return []string{service, service + "." + cmp.Or(domain, "cluster.local"), "localhost"}
}

// configure has the server use this certificate, and HTTP/1.1 alone: over HTTP/2 one connection can ask for more than
// the server can bear (CVE-2023-44487), and its clients have no use for it.
func (s *servingCertificate) configure(config *tls.Config) {
	config.NextProtos = []string{"http/1.1"}
	if s != nil {
		config.GetCertificate = s.get
	}
}

// get is asked for each connection. While the Secret cannot be read, it gives the certificate that was issued before.
func (s *servingCertificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look(hello.Context()); s.current == nil {
		return nil, s.why
	}
	return s.current, nil
}

// keep makes the CA where there is none: clients that are to trust it cannot connect before that.
func (s *servingCertificate) keep(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(ctx)
	return s.why
}

// look reads the Secret, unless it did so a moment ago.
func (s *servingCertificate) look(ctx context.Context) {
	now := s.now()
	if now.Before(s.next) {
		return
	}
	s.why = s.renew(ctx, now)
	s.next = now.Add(caAgain)
	if s.why != nil {
		s.next = now.Add(caRetry)
	}
}

// renew issues a certificate where there is none, or the one that there is has to be renewed.
func (s *servingCertificate) renew(ctx context.Context, now time.Time) error {
	ca, err := s.readCA(ctx, now)
	if err != nil {
		return err
	}
	s.secret = ca.secret
	leaf := pki.Leaf{CommonName: v1alpha1.OperatorNameValue, DNSNames: s.names, Server: true}
	if _, isDue := pki.NeedsRenewal(s.issued.Cert, ca.CertPEM(), leaf, now); !isDue {
		return nil
	}
	issued, err := ca.Issue(leaf, now)
	if err != nil {
		return fmt.Errorf("issuing the certificate of %s: %w. Delete the Secret %s, and the operator makes "+
			"another CA", s.use, err, s.ca)
	}
	current, err := tls.X509KeyPair(issued.Cert, issued.Key)
	if err != nil { // the cause may hold the key
		return errors.New("reading the certificate of " + s.use + " that was just issued")
	}
	s.issued, s.current = issued, &current
	return nil
}

// knows reports whether this is the secret of the CA that the certificate was issued from.
func (s *servingCertificate) knows(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secret != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) == 1
}

// servingCA is a CA, and what only those know who may read its Secret.
type servingCA struct {
	pki.CA
	secret string // the SHA-256 of tls.key, so that a person can compute it: SECURITY.md
}

// readCA reads the CA, and makes it where there is none. Of two replicas that make one, the first wins.
func (s *servingCertificate) readCA(ctx context.Context, now time.Time) (servingCA, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := s.secrets.Get(ctx, s.ca, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if secret, err = s.makeCA(ctx, now); apierrors.IsAlreadyExists(err) {
			secret, err = s.secrets.Get(ctx, s.ca, metav1.GetOptions{})
		}
	}
	if err != nil {
		return servingCA{}, fmt.Errorf("reading or making the Secret %s: %w", s.ca, err)
	}
	ca, err := pki.ParseCA(pki.Pair{Cert: secret.Data[corev1.TLSCertKey],
		Key: secret.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		return servingCA{}, fmt.Errorf("reading the CA in the Secret %s: %w", s.ca, err)
	}
	return servingCA{ca, fmt.Sprintf("%x", sha256.Sum256(secret.Data[corev1.TLSPrivateKeyKey]))}, nil
}

func (s *servingCertificate) makeCA(ctx context.Context, now time.Time) (*corev1.Secret, error) {
	pair, err := pki.NewCA(s.use+" of "+identity(), now, 0)
	if err != nil {
		return nil, fmt.Errorf("making the CA of %s: %w", s.use, err)
	}
	return s.secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: s.ca, Annotations: v1alpha1.LeftAlone(), Labels: map[string]string{
			v1alpha1.LabelName: v1alpha1.OperatorNameValue, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{caKey: pair.Cert, corev1.TLSCertKey: pair.Cert,
			corev1.TLSPrivateKeyKey: pair.Key},
	}, metav1.CreateOptions{})
}

// webhookPort is where each replica answers the API server: see config/webhook.
const webhookPort = 9443

// newWebhook is what answers about all kinds. It asks the API server what users may get.
func newWebhook(config *rest.Config) (*kit.Webhook, error) {
	client, err := authorization.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to ask what users may get: %w", err)
	}
	return kit.NewWebhook(client.SubjectAccessReviews()), nil
}

// webhookServer answers the API server alone, with a certificate of the webhook's own CA. Anybody can connect, and an
// AdmissionReview can be forged. So each path ends with a secret, which stands in the configuration of the webhook.
type webhookServer struct {
	webhook.Server
	certificate *servingCertificate
}

func newWebhookServer(certificate *servingCertificate) webhook.Server {
	server := webhook.NewServer(webhook.Options{Port: webhookPort, TLSOpts: []func(*tls.Config){certificate.configure}})
	return webhookServer{server, certificate}
}

// Register serves a path to who knows the secret. A request of anybody else is not even read.
func (s webhookServer) Register(path string, hook http.Handler) {
	s.Server.Register(path+"/{secret}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.certificate.knows(r.PathValue("secret")) {
			http.Error(w, "The webhook of etcd-steward answers the API server alone.", http.StatusForbidden)
			return
		}
		hook.ServeHTTP(w, r)
	}))
}

// webhookTrust has the API server and the operator know each other: it keeps the CA, and the paths with the secret, in
// the configuration of the webhook. It writes nothing else, and nothing at all where they are right.
type webhookTrust struct {
	certificate    *servingCertificate
	configurations interface {
		Get(context.Context, string, metav1.GetOptions) (*admissionv1.ValidatingWebhookConfiguration, error)
		Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (
			*admissionv1.ValidatingWebhookConfiguration, error)
	}
	name string // of the configuration
}

func newWebhookTrust(config *rest.Config, certificate *servingCertificate, name string) (*webhookTrust, error) {
	if certificate == nil {
		return nil, errors.New("--webhook needs the environment variable POD_NAMESPACE: the operator keeps the " +
			"webhook's CA in a Secret of that namespace. Set it, or leave --webhook out")
	}
	client, err := registration.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to write the CA of the webhook: %w", err)
	}
	return &webhookTrust{certificate: certificate, configurations: client.ValidatingWebhookConfigurations(),
		name: name}, nil
}

// keep puts the CA and the paths right in the configuration, where they are not.
func (w *webhookTrust) keep(ctx context.Context) error {
	ca, err := w.certificate.readCA(ctx, w.certificate.now())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	configuration, err := w.configurations.Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the ValidatingWebhookConfiguration %s, which --webhook names: %w", w.name, err)
	}
	patch, err := trustPatch(configuration, ca)
	if patch == nil || err != nil {
		return err
	}
	_, err = w.configurations.Patch(ctx, w.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the CA of the Secret %s, and the paths, into the "+
			"ValidatingWebhookConfiguration %s: %w", webhookCA, w.name, err)
	}
	return nil
}

// trustPatch gives each webhook of a configuration this CA, and the path that is named as the webhook is; nil where all
// have them.
func trustPatch(configuration *admissionv1.ValidatingWebhookConfiguration, ca servingCA) ([]byte, error) {
	var stale []any
	for _, hook := range configuration.Webhooks {
		resource, _, _ := strings.Cut(hook.Name, ".")
		path := kit.WebhookPath(resource) + "/" + ca.secret
		if !isTrusted(hook.ClientConfig, ca.CertPEM(), path) {
			stale = append(stale, map[string]any{"name": hook.Name, "clientConfig": map[string]any{
				"caBundle": ca.CertPEM(), "service": map[string]any{"path": path}}})
		}
	}
	if len(stale) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": configuration.UID, "resourceVersion": configuration.ResourceVersion},
		"webhooks": stale,
	})
}

func isTrusted(to admissionv1.WebhookClientConfig, ca []byte, path string) bool {
	return bytes.Equal(to.CABundle, ca) && to.Service != nil && to.Service.Path != nil && *to.Service.Path == path
}
