package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/controllers/kit"
)

// configurations is an API server with one configuration.
type configurations struct {
	held    *admissionv1.ValidatingWebhookConfiguration
	patches int
}

func (c *configurations) Get(_ context.Context, name string,
	_ metav1.GetOptions) (*admissionv1.ValidatingWebhookConfiguration, error) {
	if c.held == nil || c.held.Name != name {
		return nil, apierrors.NewNotFound(admissionv1.Resource("validatingwebhookconfigurations"), name)
	}
	return c.held.DeepCopy(), nil
}

func (c *configurations) Patch(_ context.Context, _ string, kind types.PatchType, patch []byte, _ metav1.PatchOptions,
	_ ...string) (*admissionv1.ValidatingWebhookConfiguration, error) {
	c.patches++
	before, err := json.Marshal(c.held)
	if err != nil || kind != types.StrategicMergePatchType {
		return nil, errors.Join(err, errors.New("a patch that lists are not merged by"))
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, admissionv1.ValidatingWebhookConfiguration{})
	if err != nil {
		return nil, err
	}
	c.held = &admissionv1.ValidatingWebhookConfiguration{}
	return c.held, json.Unmarshal(after, c.held)
}

// shipped is a file of config/webhook.
func shipped[T any](t *testing.T, file string) *T {
	t.Helper()
	text, err := os.ReadFile("../../config/webhook/" + file)
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestTheAPIServerTrustsTheCAOfTheWebhookAndNothingElseIsWritten(t *testing.T) {
	store, server := &secrets{}, &configurations{held: shipped[admissionv1.ValidatingWebhookConfiguration](t, "configuration.yaml")}
	certificate := store.certificate(time.Now)
	certificate.ca = webhookCA
	trust := &webhookTrust{certificate: certificate, configurations: server, name: "etcd-steward"}
	before := server.held.DeepCopy()
	isTrusted := func() {
		t.Helper()
		if err := trust.keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, hook := range server.held.Webhooks {
			if store.held.Name != webhookCA || !bytes.Equal(hook.ClientConfig.CABundle, store.held.Data[caKey]) {
				t.Errorf("%s trusts %s", hook.Name, hook.ClientConfig.CABundle)
			}
		}
	}
	isTrusted()
	if isTrusted(); server.patches != 1 {
		t.Errorf("%d writes where one was due", server.patches)
	}
	after := server.held.DeepCopy()
	for i := range after.Webhooks {
		after.Webhooks[i].ClientConfig.CABundle = nil
	}
	if got, want := asText(t, after), asText(t, before); got != want {
		t.Errorf("more than the CA was written\n%s\n%s", got, want)
	}
	store.held = nil // a person deletes the Secret
	if isTrusted(); server.patches != 2 {
		t.Errorf("%d writes", server.patches)
	}
	current, err := certificate.get(hello(t))
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(current.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.held.Webhooks[0].ClientConfig.CABundle)
	service := server.held.Webhooks[0].ClientConfig.Service
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: service.Name + "." + service.Namespace + ".svc"}); err != nil {
		t.Errorf("the API server refuses the certificate: %v", err)
	}
	server.held = nil
	if err := trust.keep(t.Context()); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "--webhook") {
		t.Errorf("without a configuration: %v", err)
	}
}

func asText(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The API server asks by what config/webhook says: a path or a port that is not served is a webhook that never speaks.
func TestTheConfigurationOfTheWebhookFitsWhatIsServedAndHoldsNothingUp(t *testing.T) {
	configuration := shipped[admissionv1.ValidatingWebhookConfiguration](t, "configuration.yaml")
	service := shipped[corev1.Service](t, "service.yaml")
	kinds := map[string]string{"etcdclusters": "EtcdCluster", "etcdbackups": "EtcdBackup",
		"etcdbackupschedules": "EtcdBackupSchedule", "etcdrestores": "EtcdRestore"}
	for _, hook := range configuration.Webhooks {
		if *hook.FailurePolicy != admissionv1.Ignore || *hook.TimeoutSeconds > 5 || *hook.SideEffects != admissionv1.SideEffectClassNone {
			t.Errorf("%s can hold something up: %v, %d s, %v", hook.Name, *hook.FailurePolicy, *hook.TimeoutSeconds, *hook.SideEffects)
		}
		to := hook.ClientConfig.Service
		if to.Name != service.Name || to.Namespace != service.Namespace || *to.Port != service.Spec.Ports[0].Port {
			t.Errorf("%s leads to %+v", hook.Name, to)
		}
		for _, rule := range hook.Rules {
			if slices.Contains(rule.Operations, admissionv1.Delete) || len(rule.Resources) != 1 ||
				*to.Path != kit.WebhookPath(kinds[rule.Resources[0]]) {
				t.Errorf("%s asks about %+v at %s", hook.Name, rule, *to.Path)
			}
			delete(kinds, rule.Resources[0])
		}
	}
	if len(kinds) > 0 {
		t.Errorf("it is not asked about %v", kinds)
	}
	if port := service.Spec.Ports[0].TargetPort.String(); port != "webhook" {
		t.Errorf("the Service leads to the port %s", port)
	}
}

func TestWithoutItsNamespaceTheOperatorServesNoWebhookAndSaysWhatToSet(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	certificate, err := newServingCertificate(&rest.Config{}, options{}, webhookCA, "webhook")
	if err != nil || certificate != nil {
		t.Fatalf("%v, %v", certificate, err)
	}
	if _, err := newWebhookTrust(&rest.Config{}, certificate, "etcd-steward"); err == nil || !strings.Contains(err.Error(), "POD_NAMESPACE") {
		t.Errorf("%v", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	certificate.configure(config)
	if config.GetCertificate != nil {
		t.Error("a certificate of no CA")
	}
}

func TestTheFlagOfTheWebhookTakesTheNameOfAConfiguration(t *testing.T) {
	for value, isGood := range map[string]bool{"": true, "etcd-steward": true, "true/": false, "Etcd": false} {
		_, err := parseOptions([]string{"--webhook=" + value})
		if (err == nil) != isGood || err != nil && !strings.Contains(err.Error(), "--webhook") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
