package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/tools/promql"
)

const monitorPage = "../../../docs/monitor.md"

// scrapeConfig is what a Prometheus without its operator is told on the page.
type scrapeConfig struct {
	Job         string `json:"job_name"`
	Scheme      string `json:"scheme"`
	HonorLabels bool   `json:"honor_labels"`
	TLS         struct {
		ServerName string `json:"server_name"`
	} `json:"tls_config"`
	Relabel []relabeling `json:"relabel_configs"`
}

type relabeling struct {
	Action      string   `json:"action"`
	Source      []string `json:"source_labels"`
	Separator   string   `json:"separator"`
	Regex       string   `json:"regex"`
	Replacement string   `json:"replacement"`
	Target      string   `json:"target_label"`
}

func TestAPrometheusWithoutItsOperatorScrapesWhatTheMonitorsSelect(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```").FindStringSubmatch(text(t, monitorPage))
	if block == nil {
		t.Fatal("the page has no scrape_configs")
	}
	var page struct {
		Configs []scrapeConfig `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(block[1]), &page); err != nil || len(page.Configs) != 2 {
		t.Fatalf("%d jobs: %v", len(page.Configs), err)
	}
	expectMembers(t, page.Configs[0])
	expectOperator(t, page.Configs[1])
}

func expectMembers(t *testing.T, got scrapeConfig) {
	t.Helper()
	members := one[monitoringv1.PodMonitor](t, "../../../config/monitoring", "PodMonitor", "")
	endpoint := members.Spec.PodMetricsEndpoints[0]
	got.expectSelected(t, members.Spec.Selector.MatchLabels, *endpoint.Port)
	for _, r := range endpoint.RelabelConfigs {
		want := relabeling{Action: r.Action, Target: r.TargetLabel, Regex: r.Regex}
		for _, source := range r.SourceLabels {
			want.Source = append(want.Source, string(source))
		}
		if r.Separator != nil {
			want.Separator = *r.Separator
		}
		if r.Replacement != nil {
			want.Replacement = *r.Replacement
		}
		got.expect(t, want)
	}
}

func expectOperator(t *testing.T, got scrapeConfig) {
	t.Helper()
	operator := one[monitoringv1.ServiceMonitor](t, "../../../config/monitoring", "ServiceMonitor", "").Spec.Endpoints[0]
	if got.HonorLabels != operator.HonorLabels || !strings.EqualFold(got.Scheme, operator.Scheme) ||
		got.TLS.ServerName != *operator.TLSConfig.ServerName {
		t.Errorf("%+v is not scraped as %+v", got, operator)
	}
	template := one[appsv1.Deployment](t, "../../../config/default", "Deployment", "").Spec.Template
	ports := template.Spec.Containers[0].Ports
	port := ports[slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == 8443 })].Name
	selected := map[string]string{}
	for _, label := range []string{"app.kubernetes.io/name", "control-plane"} {
		selected[label] = template.Labels[label]
	}
	got.expectSelected(t, selected, port)
}

// expectSelected fails unless Pods are kept that have these labels, and of each the port of this name.
func (c scrapeConfig) expectSelected(t *testing.T, labels map[string]string, port string) {
	t.Helper()
	c.expect(t, relabeling{Action: "keep", Source: []string{"__meta_kubernetes_pod_container_port_name"}, Regex: port})
	for label, value := range labels {
		source := "__meta_kubernetes_pod_label_" + regexp.MustCompile(`\W`).ReplaceAllString(label, "_")
		c.expect(t, relabeling{Action: "keep", Source: []string{source}, Regex: value})
	}
}

func (c scrapeConfig) expect(t *testing.T, want relabeling) {
	t.Helper()
	if !slices.ContainsFunc(c.Relabel, func(r relabeling) bool {
		return slices.Equal(r.Source, want.Source) && r.Action == want.Action && r.Separator == want.Separator &&
			r.Regex == want.Regex && r.Replacement == want.Replacement && r.Target == want.Target
	}) {
		t.Errorf("%s lacks %+v", c.Job, want)
	}
}

func TestTheRulesThatThePageMakesAFileOfAreRules(t *testing.T) {
	promtool := promql.Promtool(t)
	command := regexp.MustCompile(`(?m)^sed .* > (etcd-steward-rules\.yaml)$`).FindStringSubmatch(text(t, monitorPage))
	if command == nil {
		t.Fatal("the page makes no file of the rules")
	}
	directory := t.TempDir()
	sed := exec.Command("sh", "-c", strings.Replace(command[0], command[1], filepath.Join(directory, command[1]), 1))
	sed.Dir = "../../.."
	if out, err := sed.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadFile(filepath.Join(directory, command[1]))
	if err != nil {
		t.Fatal(err)
	}
	var rules monitoringv1.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(made, &rules); err != nil {
		t.Fatal(err)
	}
	if len(rules.Groups) != len(rulesOf(t).Spec.Groups) {
		t.Errorf("it has %d groups", len(rules.Groups))
	}
	run(t, promtool, directory, "check", "rules", "--lint=all", "--lint-fatal", command[1])
}
