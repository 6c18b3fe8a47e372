package world

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// LeaseName is what the replicas of the installed operator elect their leader by.
const LeaseName = "manager.etcdsteward.dev"

// OperatorLeader is the installed operator's Pod that is in charge.
func (w *World) OperatorLeader(ctx context.Context) (*corev1.Pod, error) {
	lease := &coordinationv1.Lease{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: LeaseName}, lease); err != nil {
		return nil, fmt.Errorf("reading the operator's Lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return nil, fmt.Errorf("nobody holds the operator's Lease")
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	pod := &corev1.Pod{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: name}, pod); err != nil {
		return nil, fmt.Errorf("reading the Pod that holds the operator's Lease: %w", err)
	}
	return pod, nil
}

// ScraperToken is the token of an account in the story's namespace that may, or may not, read metrics.
func (s *Story) ScraperToken(ctx context.Context, name string, allowed bool) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	if err := s.Client.Create(ctx, account); client.IgnoreAlreadyExists(err) != nil {
		return "", fmt.Errorf("making the scraper's account: %w", err)
	}
	if allowed {
		binding := &rbacv1.ClusterRoleBinding{
			// It goes with the account's namespace by nothing: the cleanup of the story deletes it.
			ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: MetricsRole},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.Namespace, Name: name}},
		}
		if err := s.Client.Create(ctx, binding); client.IgnoreAlreadyExists(err) != nil {
			return "", fmt.Errorf("giving the scraper its right: %w", err)
		}
		ginkgo.DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(s.Client.Delete(ctx, binding)) })
	}
	token := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("asking for the scraper's token: %w", err)
	}
	return token.Status.Token, nil
}

// Scrape reads the metrics of the operator that is in charge. The status is HTTP's.
func (w *World) Scrape(ctx context.Context, token string) (status int, families map[string]*dto.MetricFamily, err error) {
	pod, err := w.OperatorLeader(ctx)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(pod.Status.PodIP, "8443")+"/metrics", nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	trust, err := w.metricsTrust(ctx)
	if err != nil {
		return 0, nil, err
	}
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("scraping %s: %w", pod.Name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, nil, nil
	}
	families, err = read(answer.Body)
	return answer.StatusCode, families, err
}

// metricsTrust trusts what config/monitoring has Prometheus trust: the CA in the operator's Secret, under the Service's name.
func (w *World) metricsTrust(ctx context.Context) (*tls.Config, error) {
	secret := &corev1.Secret{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: "etcd-steward-metrics-ca"}, secret); err != nil {
		return nil, fmt.Errorf("reading the CA of the operator's metrics: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return nil, errors.New("the CA of the operator's metrics is no certificate")
	}
	return &tls.Config{RootCAs: roots, ServerName: "etcd-steward-controller-manager-metrics." + OperatorNamespace + ".svc",
		MinVersion: tls.VersionTLS12}, nil
}

// MemberMetrics reads etcd's own metrics of a member, on the port that has nothing else.
func (c *Cluster) MemberMetrics(ctx context.Context, member string) (map[string]*dto.MetricFamily, error) {
	pod, err := c.Pod(ctx, member)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.MetricsPort))
	families, err := ReadMetrics(ctx, "http://"+address+"/metrics")
	if err != nil {
		return nil, fmt.Errorf("scraping %s: %w", member, err)
	}
	return families, nil
}

// ReadMetrics reads metrics as anybody can.
func ReadMetrics(ctx context.Context, url string) (map[string]*dto.MetricFamily, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return read(answer.Body)
}

func read(text io.Reader) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
}

// Value finds the series of a family that has all these labels.
func Value(families map[string]*dto.MetricFamily, family string, labels map[string]string) (float64, bool) {
	for _, metric := range families[family].GetMetric() {
		has := map[string]string{}
		for _, pair := range metric.GetLabel() {
			has[pair.GetName()] = pair.GetValue()
		}
		if !contains(has, labels) {
			continue
		}
		return metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + metric.GetUntyped().GetValue(), true
	}
	return 0, false
}

func contains(has, wanted map[string]string) bool {
	for name, value := range wanted {
		if has[name] != value {
			return false
		}
	}
	return true
}
