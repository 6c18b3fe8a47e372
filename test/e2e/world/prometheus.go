package world

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/needs"
	"github.com/etcdsteward/etcd-steward/test/s3server"
)

// monitoring is where what users install for Prometheus and Grafana is.
const monitoring = "../../config/monitoring/"

// Sooner is how many times shorter the times of alerts are in stories: 10 minutes are 30 s. That an alert waits as long as
// it says, promtool proves (test/tools/alerts).
const Sooner = 20

// Prometheus is a real one on this machine, with the alerts of config/monitoring. It scrapes the story's members, and the
// operator, as config/monitoring says.
type Prometheus struct {
	address string
	began   time.Time
}

// monitor is what stories read of a PodMonitor and of a ServiceMonitor.
type monitor struct {
	Spec struct {
		Selector  metav1.LabelSelector
		Pods      []endpoint `json:"podMetricsEndpoints"`
		Endpoints []endpoint `json:"endpoints"`
	}
}

type endpoint struct {
	Port, Path, Scheme string
	HonorLabels        bool
	Relabelings        []relabeling
	Authorization      struct{ Credentials corev1.SecretKeySelector }
}

type relabeling struct {
	Action       string   `json:"action,omitempty"`
	SourceLabels []string `json:"sourceLabels,omitempty"`
	Separator    string   `json:"separator,omitempty"`
	Regex        string   `json:"regex,omitempty"`
	Replacement  string   `json:"replacement,omitempty"`
	TargetLabel  string   `json:"targetLabel,omitempty"`
}

// StartPrometheus starts one until the story ends. Where localkube is, a story that cannot have it fails: if it were passed
// over, a run of it would look like a success.
func (s *Story) StartPrometheus(ctx context.Context) *Prometheus {
	ginkgo.GinkgoHelper()
	s.NeedLocalkube()
	program := os.Getenv("PROMETHEUS")
	gomega.Expect(program).NotTo(gomega.BeEmpty(), "build it (make bin/prometheus) and set PROMETHEUS to bin/prometheus, as make does")
	directory := ginkgo.GinkgoTB().TempDir()
	for name, text := range map[string][]byte{"token": s.monitoringToken(ctx), "rules.yaml": soonerRules(), "prometheus.yaml": s.scraping()} {
		gomega.Expect(os.WriteFile(filepath.Join(directory, name), text, 0o600)).To(gomega.Succeed())
	}
	port, err := needs.Port("127.0.0.1")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	p := &Prometheus{address: net.JoinHostPort("127.0.0.1", port), began: time.Now()}
	s3server.Spawn(ginkgo.GinkgoTB(), program, []string{"--config.file=" + filepath.Join(directory, "prometheus.yaml"),
		"--storage.tsdb.path=" + filepath.Join(directory, "data"), "--web.listen-address=" + p.address}, os.Environ())
	gomega.Eventually(ctx, func() error { _, err := p.Ask(ctx, "vector(1)"); return err }).WithTimeout(time.Minute).Should(gomega.Succeed())
	return p
}

// monitoringToken is what Kubernetes writes into the Secret that the ServiceMonitor names.
func (s *Story) monitoringToken(ctx context.Context) []byte {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(monitoring + "scraper.yaml")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		gomega.Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(gomega.Succeed())
		if object.GetKind() != "ClusterRoleBinding" {
			object.SetNamespace(OperatorNamespace)
		}
		gomega.Expect(client.IgnoreAlreadyExists(s.Client.Create(ctx, object))).To(gomega.Succeed())
		ginkgo.DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(s.Client.Delete(ctx, object)) })
	}
	var operator monitor
	readMonitoring("operator.yaml", &operator)
	named, secret := operator.Spec.Endpoints[0].Authorization.Credentials, &corev1.Secret{}
	gomega.Eventually(ctx, func() ([]byte, error) {
		err := s.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: named.Name}, secret)
		return secret.Data[named.Key], err
	}).ShouldNot(gomega.BeEmpty())
	return secret.Data[named.Key]
}

// soonerRules are the alerts, with shorter times.
func soonerRules() []byte {
	var rules struct {
		Spec struct {
			Groups []struct {
				Name  string           `json:"name"`
				Rules []map[string]any `json:"rules"`
			} `json:"groups"`
		}
	}
	readMonitoring("alerts.yaml", &rules)
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			for _, field := range []string{"for", "keep_firing_for"} {
				if text, ok := rule[field].(string); ok {
					lasts, err := time.ParseDuration(text)
					gomega.Expect(err).NotTo(gomega.HaveOccurred())
					rule[field] = fmt.Sprintf("%ds", int((lasts / Sooner).Seconds()))
				}
			}
		}
	}
	return marshal(map[string]any{"groups": rules.Spec.Groups})
}

// scraping is what the Prometheus operator makes of the two monitors, for the members of this story alone.
func (s *Story) scraping() []byte {
	var members, operator monitor
	readMonitoring("members.yaml", &members)
	readMonitoring("operator.yaml", &operator)
	ofMembers, ofOperator := members.Spec.Pods[0], operator.Spec.Endpoints[0]
	return marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": "2s", "evaluation_interval": "2s"},
		"rule_files": []string{"rules.yaml"},
		"scrape_configs": []any{
			s.scrape("members", s.Namespace, "pod", ofMembers, members.selected("pod", "__meta_kubernetes_pod_container_port_name")),
			s.scrape("operator", OperatorNamespace, "endpointslice", ofOperator,
				operator.selected("service", "__meta_kubernetes_endpointslice_port_name")),
		},
	})
}

func (s *Story) scrape(job, namespace, role string, e endpoint, selected []relabeling) map[string]any {
	config := map[string]any{
		"job_name": job, "scheme": strings.ToLower(e.Scheme), "metrics_path": e.Path, "honor_labels": e.HonorLabels,
		"kubernetes_sd_configs": []any{map[string]any{
			"role": role, "kubeconfig_file": s.Kubeconfig, "namespaces": map[string]any{"names": []string{namespace}},
		}},
		"relabel_configs": snake(append(append(selected,
			relabeling{SourceLabels: []string{"__meta_kubernetes_namespace"}, TargetLabel: "namespace"},
			relabeling{SourceLabels: []string{"__meta_kubernetes_pod_name"}, TargetLabel: "pod"}), e.Relabelings...)),
	}
	if e.Scheme == "https" {
		config["authorization"] = map[string]any{"credentials_file": "token"}
		config["tls_config"] = map[string]any{"insecure_skip_verify": true}
	}
	return config
}

// selected keeps the targets with the labels of the selector, and of those the one with the port.
func (m monitor) selected(kind, port string) []relabeling {
	name := m.Spec.Endpoints
	if len(name) == 0 {
		name = m.Spec.Pods
	}
	kept := []relabeling{{Action: "keep", SourceLabels: []string{port}, Regex: name[0].Port}}
	for label, value := range m.Spec.Selector.MatchLabels {
		source := "__meta_kubernetes_" + kind + "_label_" + regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(label, "_")
		kept = append(kept, relabeling{Action: "keep", SourceLabels: []string{source}, Regex: regexp.QuoteMeta(value)})
	}
	return kept
}

// snake has the fields called as Prometheus does itself.
func snake(all []relabeling) []map[string]any {
	var out []map[string]any
	for _, r := range all {
		one := map[string]any{"source_labels": r.SourceLabels}
		for field, value := range map[string]string{"action": r.Action, "separator": r.Separator, "regex": r.Regex,
			"replacement": r.Replacement, "target_label": r.TargetLabel} {
			if value != "" {
				one[field] = value
			}
		}
		out = append(out, one)
	}
	return out
}

func readMonitoring(file string, into any) {
	ginkgo.GinkgoHelper()
	text, err := os.ReadFile(monitoring + file)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(yaml.Unmarshal(text, into)).To(gomega.Succeed(), file)
}

func marshal(value any) []byte {
	ginkgo.GinkgoHelper()
	text, err := yaml.Marshal(value)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return text
}

// Firing are the alerts that fire now about a cluster.
func (p *Prometheus) Firing(ctx context.Context, c *Cluster) ([]string, error) {
	answer, err := p.Ask(ctx, fmt.Sprintf(`ALERTS{alertstate="firing", namespace=%q, name=%q}`, c.Namespace, c.Name))
	var names []string
	for _, series := range answer {
		names = append(names, series["alertname"])
	}
	return names, err
}

// Ask returns the labels of the series that answer a query now.
func (p *Prometheus) Ask(ctx context.Context, query string) ([]map[string]string, error) {
	return p.ask(ctx, "query", url.Values{"query": {query}})
}

// AskSince returns the labels of the series that answered a query at any time since this Prometheus was started.
func (p *Prometheus) AskSince(ctx context.Context, query string) ([]map[string]string, error) {
	stamp := func(t time.Time) []string { return []string{t.UTC().Format(time.RFC3339)} }
	return p.ask(ctx, "query_range", url.Values{"query": {query}, "start": stamp(p.began), "end": stamp(time.Now()), "step": {"5"}})
}

func (p *Prometheus) ask(ctx context.Context, what string, values url.Values) ([]map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/api/v1/"+what+"?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var said struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
			} `json:"result"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return nil, fmt.Errorf("reading the answer of Prometheus: %w", err)
	}
	if said.Status != "success" {
		return nil, fmt.Errorf("Prometheus refuses %q: %s", values.Get("query"), said.Error)
	}
	var series []map[string]string
	for _, one := range said.Data.Result {
		series = append(series, one.Metric)
	}
	return series, nil
}

// Draw writes pictures of the dashboards for a cluster, with what this Prometheus has seen, into the directory that
// PICTURES names. Without it nothing is drawn.
func (p *Prometheus) Draw(ctx context.Context, c *Cluster) {
	ginkgo.GinkgoHelper()
	directory := os.Getenv("PICTURES")
	if directory == "" {
		return
	}
	draw := exec.CommandContext(ctx, "go", "run", "-C", "../tools", "./dashboards", "-prometheus", "http://"+p.address,
		"-since", time.Since(p.began).Round(time.Second).String(), "-namespace", c.Namespace, "-name", c.Name, "-out", directory)
	said, err := draw.CombinedOutput()
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), string(said))
}

// Panel is a panel of a dashboard, with its queries.
type Panel struct {
	Title   string
	Targets []struct{ Expr string }
}

// Dashboard are the panels of a dashboard of config/monitoring.
func Dashboard(file string) []Panel {
	ginkgo.GinkgoHelper()
	var dashboard struct{ Panels []Panel }
	readMonitoring("dashboards/"+file, &dashboard)
	gomega.Expect(dashboard.Panels).NotTo(gomega.BeEmpty())
	return dashboard.Panels
}
