package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typed "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

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
	client, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to write the CA of the webhook: %w", err)
	}
	return &webhookTrust{certificate: certificate, configurations: client.ValidatingWebhookConfigurations(),
		name: name}, nil
}

// keep puts the CA and the paths right in the configuration, where they are not.
func (w *webhookTrust) keep(ctx context.Context) error {
	authority, err := w.certificate.authority(ctx, w.certificate.now())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	configuration, err := w.configurations.Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the ValidatingWebhookConfiguration %s, which --webhook names: %w", w.name, err)
	}
	patch, err := trustPatch(configuration, authority)
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
func trustPatch(configuration *admissionv1.ValidatingWebhookConfiguration, authority servingAuthority) ([]byte, error) {
	var stale []any
	for _, hook := range configuration.Webhooks {
		resource, _, _ := strings.Cut(hook.Name, ".")
		path := kit.WebhookPath(resource) + "/" + authority.secret
		if !isTrusted(hook.ClientConfig, authority.CertPEM(), path) {
			stale = append(stale, map[string]any{"name": hook.Name, "clientConfig": map[string]any{
				"caBundle": authority.CertPEM(), "service": map[string]any{"path": path}}})
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
