package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
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
			key := sha256.Sum256(store.held.Data[corev1.TLSPrivateKeyKey])
			resource, _, _ := strings.Cut(hook.Name, ".")
			if want := "/validate/" + resource + "/" + hex.EncodeToString(key[:]); *hook.ClientConfig.Service.Path != want {
				t.Errorf("%s asks at %s", hook.Name, *hook.ClientConfig.Service.Path)
			}
		}
	}
	isTrusted()
	if isTrusted(); server.patches != 1 {
		t.Errorf("%d writes where one was due", server.patches)
	}
	after := server.held.DeepCopy()
	for i := range after.Webhooks {
		after.Webhooks[i].ClientConfig.CABundle, after.Webhooks[i].ClientConfig.Service.Path = nil, nil
	}
	if got, want := asText(t, after), asText(t, before); got != want {
		t.Errorf("more than the CA and the paths was written\n%s\n%s", got, want)
	}
	server.held.Webhooks[1].ClientConfig.Service.Path = new("/") // a tool puts it back
	if isTrusted(); server.patches != 2 {
		t.Errorf("%d writes", server.patches)
	}
	store.held = nil // a person deletes the Secret
	if isTrusted(); server.patches != 3 {
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

// From any Pod the port can be reached, and a review can be written that says to be of an administrator.
func TestTheWebhookAnswersWhoKnowsThePathOfTheConfigurationAndReadsNothingOfOthers(t *testing.T) {
	store, held := &secrets{}, &configurations{held: shipped[admissionv1.ValidatingWebhookConfiguration](t, "configuration.yaml")}
	now := time.Now()
	certificate := store.certificate(func() time.Time { return now })
	trust := &webhookTrust{certificate: certificate, configurations: held, name: "etcd-steward"}
	var asked int
	server := newWebhookServer(certificate)
	server.Register(kit.WebhookPath("etcdclusters"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	post := func(path string) int {
		answer := httptest.NewRecorder()
		server.WebhookMux().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, unread{t}))
		return answer.Code
	}
	// connected is the path by which the API server asks, once this replica has the certificate of the CA as it is.
	connected := func() string {
		if err := trust.keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.get(hello(t)); err != nil {
			t.Fatal(err)
		}
		return *held.held.Webhooks[0].ClientConfig.Service.Path
	}
	if code := post("/validate/etcdclusters/" + strings.Repeat("0", 64)); code != http.StatusForbidden {
		t.Errorf("before there is a CA the answer is %d", code)
	}
	path := connected()
	if code := post(path); code != http.StatusOK || asked != 1 {
		t.Fatalf("the API server gets %d, asked %d times", code, asked)
	}
	for _, other := range []string{"/", "/validate/etcdclusters", "/validate/etcdclusters/", path[:len(path)-1], path + "0", strings.ToUpper(path)} {
		if code := post(other); code != http.StatusForbidden && code != http.StatusNotFound || asked != 1 {
			t.Errorf("%s gets %d", other, code)
		}
	}
	store.held, now = nil, now.Add(caAgain) // a person deletes the Secret
	next := connected()
	if code := post(path); code != http.StatusForbidden || asked != 1 {
		t.Errorf("by the former path the answer is %d", code)
	}
	if code := post(next); code != http.StatusOK || asked != 2 {
		t.Errorf("by the next path the answer is %d", code)
	}
}

// unread is a body that nothing reads.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("what others send is read")
	return 0, io.EOF
}

// The API server asks by what config/webhook says: a name or a port that is not served is a webhook that never speaks.
func TestTheConfigurationOfTheWebhookFitsWhatIsServedAndHoldsNothingUp(t *testing.T) {
	configuration := shipped[admissionv1.ValidatingWebhookConfiguration](t, "configuration.yaml")
	service := shipped[corev1.Service](t, "service.yaml")
	resources := map[string]bool{}
	for _, kind := range []string{"EtcdCluster", "EtcdBackup", "EtcdBackupSchedule", "EtcdClient", "EtcdRestore"} {
		resource, _ := meta.UnsafeGuessKindToResource(v1alpha1.GroupVersion.WithKind(kind)) // as kit does
		resources[resource.Resource] = true
	}
	scales, _ := meta.UnsafeGuessKindToResource(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	resources["etcdclusters/scale"] = true
	for _, hook := range configuration.Webhooks {
		if *hook.FailurePolicy != admissionv1.Ignore || *hook.TimeoutSeconds > 5 || *hook.SideEffects != admissionv1.SideEffectClassNone {
			t.Errorf("%s can hold something up: %v, %d s, %v", hook.Name, *hook.FailurePolicy, *hook.TimeoutSeconds, *hook.SideEffects)
		}
		to := hook.ClientConfig.Service
		if to.Name != service.Name || to.Namespace != service.Namespace || *to.Port != service.Spec.Ports[0].Port || to.Path != nil {
			t.Errorf("%s leads to %+v", hook.Name, to)
		}
		for _, rule := range hook.Rules {
			if slices.Contains(rule.Operations, admissionv1.Delete) || len(rule.Resources) != 1 ||
				hook.Name != strings.Replace(rule.Resources[0], "etcdclusters/scale", scales.Resource, 1)+".webhook.etcdsteward.dev" {
				t.Errorf("%s asks about %+v", hook.Name, rule)
			}
			delete(resources, rule.Resources[0])
		}
	}
	if len(resources) > 0 {
		t.Errorf("it is not asked about %v", resources)
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

// Answers of the webhook and passes use one client. A limit of its requests would have passes wait for a flood.
func TestNoLimitOnThisSideHasPassesWaitForAnswersOfTheWebhook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}],
  clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	config, err := ctrl.GetConfig()
	if err != nil || config.QPS >= 0 || config.RateLimiter != nil {
		t.Errorf("%v requests a second, %v", config, err)
	}
}
