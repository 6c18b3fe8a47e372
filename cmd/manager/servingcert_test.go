package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/pkg/pki"
)

// secrets is an API server with the Secrets of the operator's namespace, which may be away.
type secrets struct {
	typed.SecretInterface
	mu     sync.Mutex
	held   *corev1.Secret
	reads  int
	err    error
	before func() // a Secret is made: another replica may be faster
}

func (s *secrets) Get(context.Context, string, metav1.GetOptions) (*corev1.Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.err == nil && s.held == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), metricsCA)
	}
	return s.held.DeepCopy(), s.err
}

func (s *secrets) Create(_ context.Context, secret *corev1.Secret, _ metav1.CreateOptions) (*corev1.Secret, error) {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		return nil, apierrors.NewAlreadyExists(corev1.Resource("secrets"), metricsCA)
	}
	s.held = secret.DeepCopy()
	return secret, nil
}

func (s *secrets) certificate(now func() time.Time) *servingCertificate {
	return &servingCertificate{secrets: s, ca: metricsCA, use: "metrics", names: servingNames("etcd-steward-system", "example.internal"), now: now}
}

// trust is the pool of those who trust the CA that is in the Secret.
func (s *secrets) trust(t *testing.T) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.held.Data[caKey]) {
		t.Fatal("the Secret holds no CA")
	}
	return roots
}

// serve serves /metrics as the operator does, but to everybody, and returns where.
func serve(t *testing.T, certificate *servingCertificate) string {
	t.Helper()
	o, err := parseOptions([]string{"--metrics-bind-address=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	options := metricsOptions(o)
	options.FilterProvider, options.TLSOpts = nil, []func(*tls.Config){certificate.configure}
	metrics, err := server.NewServer(options, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- metrics.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for range time.Tick(time.Millisecond) {
		if at := metrics.(interface{ GetBindAddr() string }).GetBindAddr(); at != "" {
			return at
		}
	}
	return ""
}

func TestWhoTrustsTheCAReadsMetricsOverHTTP1AndWhoDoesNotRefuses(t *testing.T) {
	store := &secrets{}
	certificate := store.certificate(time.Now)
	at := serve(t, certificate)
	const name = "etcd-steward-controller-manager-metrics.etcd-steward-system.svc"
	scrape := func(config *tls.Config) (*http.Response, error) {
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return response, err
	}
	if _, err := scrape(&tls.Config{ServerName: name, RootCAs: x509.NewCertPool()}); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("who does not trust the CA: %v", err)
	}
	for _, known := range []string{name, name + ".example.internal", "localhost"} {
		response, err := scrape(&tls.Config{ServerName: known, RootCAs: store.trust(t)})
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", known, response, err)
			continue
		}
		if response.ProtoMajor != 1 || response.TLS.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s over %s, %q", known, response.Proto, response.TLS.NegotiatedProtocol)
		}
	}
	if _, err := scrape(&tls.Config{ServerName: "etcd.shop.svc", RootCAs: store.trust(t)}); !errors.As(err, new(x509.HostnameError)) {
		t.Errorf("under the name of another namespace: %v", err)
	}
}

// A Prometheus operator takes no ServiceMonitor whose CA is not there, so nothing would ever connect.
func TestTheCAOfMetricsIsThereBeforeAClientConnectsAndComesBack(t *testing.T) {
	now := time.Now()
	store := &secrets{err: errors.New("away")}
	certificate := store.certificate(func() time.Time { return now })
	if err := certificate.keep(t.Context()); !errors.Is(err, store.err) {
		t.Errorf("without an API server: %v", err)
	}
	store.err = nil
	for _, after := range []time.Duration{caRetry, caAgain} {
		now = now.Add(after)
		if err := certificate.keep(t.Context()); err != nil || store.held == nil {
			t.Fatalf("%v, %v", store.held, err)
		}
		store.held = nil // a person deletes it
	}
}

func TestTheLeaderKeepsTheCAsOfWhatIsServed(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "etcd-steward-system")
	for given, want := range map[string]int{"": 1, "--webhook=etcd-steward": 2, "--metrics-secure=false": 0,
		"--metrics-bind-address=0": 0, "--metrics-bind-address=0 --webhook=etcd-steward": 1} {
		o, err := parseOptions(strings.Fields(given))
		if err != nil {
			t.Fatal(err)
		}
		mgr := &added{}
		config := &rest.Config{}
		forMetrics, err := newServingCertificate(config, o, metricsCA, "metrics")
		if err != nil {
			t.Fatal(err)
		}
		if err := addKeepers(mgr, config, o, forMetrics, forMetrics); err != nil || len(mgr.what) != want {
			t.Errorf("%q: %d, not %d: %v", given, len(mgr.what), want, err)
		}
	}
}

// added is a manager that notes what it would run.
type added struct {
	manager.Manager
	what []manager.Runnable
}

func (a *added) Add(runnable manager.Runnable) error {
	a.what = append(a.what, runnable)
	return nil
}

// hello is a client that connects.
func hello(t *testing.T) *tls.ClientHelloInfo {
	t.Helper()
	client, service := net.Pipe()
	got := make(chan *tls.ClientHelloInfo, 1)
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
	}()
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		got <- h
		return nil, errors.New("enough")
	}}
	_ = tls.Server(service, config).HandshakeContext(t.Context())
	_ = client.Close()
	return <-got
}

func TestOfTwoReplicasThatMakeTheCATheFirstWins(t *testing.T) {
	store := &secrets{}
	first, second := store.certificate(time.Now), store.certificate(time.Now)
	store.before = func() {
		store.before = nil
		if _, err := first.get(hello(t)); err != nil {
			t.Error(err)
		}
	}
	for _, replica := range []*servingCertificate{second, first} {
		current, err := replica.get(hello(t))
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(current.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: store.trust(t)}); err != nil {
			t.Errorf("a replica serves what the CA did not sign: %v", err)
		}
	}
}

func TestTheCertificateOfMetricsOutlivesAnAPIServerThatIsAwayAndFollowsTheCA(t *testing.T) {
	now := time.Now()
	store := &secrets{err: errors.New("away")}
	certificate := store.certificate(func() time.Time { return now })
	if _, err := certificate.get(hello(t)); !errors.Is(err, store.err) {
		t.Errorf("without a CA: %v", err)
	}
	for range 3 {
		_, _ = certificate.get(hello(t))
	}
	if store.reads != 1 {
		t.Errorf("%d clients had the API server asked %d times", 4, store.reads)
	}
	get := func(after time.Duration) []byte {
		t.Helper()
		now = now.Add(after)
		current, err := certificate.get(hello(t))
		if err != nil {
			t.Fatal(err)
		}
		return current.Certificate[0]
	}
	store.err = nil
	issued := get(caRetry)
	store.err = errors.New("away")
	if !bytes.Equal(get(caAgain), issued) {
		t.Error("another certificate while the API server is away")
	}
	store.err = nil
	if !bytes.Equal(get(caAgain), issued) {
		t.Error("another certificate of the same CA")
	}
	store.held = nil // a person deletes it, and the operator makes another one
	replaced := get(caAgain)
	if bytes.Equal(replaced, issued) || store.held == nil {
		t.Error("the certificate of a CA that is gone")
	}
	if bytes.Equal(get(pki.DefaultLeafValidity), replaced) {
		t.Error("the certificate has ended, and no other was issued")
	}
}

func TestWhatPrometheusIsToldFitsTheCertificateOfMetrics(t *testing.T) {
	file, err := os.ReadFile("../../config/monitoring/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var monitor struct {
		Spec struct {
			Endpoints []struct {
				TLSConfig struct {
					InsecureSkipVerify bool `json:"insecureSkipVerify"`
					ServerName         string
					CA                 struct {
						Secret corev1.SecretKeySelector
					} `json:"ca"`
				} `json:"tlsConfig"`
			}
		}
	}
	if err := yaml.Unmarshal(file, &monitor); err != nil {
		t.Fatal(err)
	}
	config := monitor.Spec.Endpoints[0].TLSConfig
	if config.InsecureSkipVerify || config.CA.Secret.Name != metricsCA || config.CA.Secret.Key != caKey {
		t.Errorf("%+v", config)
	}
	leaf := &x509.Certificate{DNSNames: servingNames("etcd-steward-system", "")}
	if err := leaf.VerifyHostname(config.ServerName); err != nil || !strings.HasPrefix(config.ServerName, "etcd-steward-") {
		t.Errorf("%s: %v", config.ServerName, err)
	}
}
