package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typed "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// webhookPort is where each replica answers the API server: see config/webhook.
const webhookPort = 9443

// webhookServer answers the API server with a certificate of the webhook's own CA.
func webhookServer(certificate *servingCertificate) webhook.Server {
	return webhook.NewServer(webhook.Options{Port: webhookPort, TLSOpts: []func(*tls.Config){certificate.configure}})
}

// webhookTrust has the API server trust that CA: it keeps the CA in the configuration of the webhook. It writes that
// one field, and nothing at all where the field is right.
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

// keep puts the CA right in the configuration, where it is not.
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
	patch, err := trustPatch(configuration, authority.CertPEM())
	if patch == nil || err != nil {
		return err
	}
	_, err = w.configurations.Patch(ctx, w.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the CA of the Secret %s into the ValidatingWebhookConfiguration %s: %w", webhookCA,
			w.name, err)
	}
	return nil
}

// trustPatch gives each webhook of a configuration this CA; nil where all have it.
func trustPatch(configuration *admissionv1.ValidatingWebhookConfiguration, ca []byte) ([]byte, error) {
	var stale []any
	for _, hook := range configuration.Webhooks {
		if !bytes.Equal(hook.ClientConfig.CABundle, ca) {
			stale = append(stale, map[string]any{"name": hook.Name, "clientConfig": map[string]any{"caBundle": ca}})
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
