package alerts

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/tools/promql"
)

const runbook = "https://github.com/etcdsteward/etcd-steward/blob/main/docs/alerts.md#"

func TestEachAlertSaysWhatWhereAndWhatToDo(t *testing.T) {
	for _, alert := range alerts(t) {
		if !slices.Contains([]string{"critical", "warning", "info"}, alert.Labels["severity"]) {
			t.Errorf("%s: severity is %q", alert.Alert, alert.Labels["severity"])
		}
		if summary := alert.Annotations["summary"]; !strings.HasSuffix(summary, ".") || strings.Contains(summary, "{{") {
			t.Errorf("%s: the summary is no sentence that is always the same: %q", alert.Alert, summary)
		}
		if got, want := alert.Annotations["runbook_url"], runbook+strings.ToLower(alert.Alert); got != want {
			t.Errorf("%s: the runbook is at %q, want %q", alert.Alert, got, want)
		}
		for _, label := range []string{"{{ $labels.namespace }}", "{{ $labels.name }}"} {
			ofCluster := !strings.HasPrefix(alert.Expr.String(), "absent(")
			if strings.Contains(alert.Annotations["description"], label) != ofCluster {
				t.Errorf("%s: the description does not name %s, or names it and is about no cluster", alert.Alert, label)
			}
		}
	}
}

func TestEachAlertIsOnThePageWithItsSeverityAndEachOnThePageExists(t *testing.T) {
	page := text(t, "../../../docs/alerts.md")
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| \\[`(\\w+)`\\]\\(#(\\w+)\\) \\| (\\w+) \\|").FindAllStringSubmatch(page, -1) {
		rows = append(rows, row[1]+" "+row[3])
		if row[2] != strings.ToLower(row[1]) || !strings.Contains(page, "\n## "+row[1]+"\n") {
			t.Errorf("the row of %s leads to no section", row[1])
		}
	}
	var want []string
	for _, alert := range alerts(t) {
		want = append(want, alert.Alert+" "+alert.Labels["severity"])
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the page has %q, the rules %q", rows, want)
	}
}

// The operator's own metrics on the page are held to what it exports by a test of cmd/manager, and etcd's to what etcd
// serves by one of pkg/etcdutil/contract.
func TestEveryMetricInAnAlertIsOnThePage(t *testing.T) {
	page := text(t, "../../../docs/metrics.md")
	for _, alert := range alerts(t) {
		metrics := promql.Metrics(alert.Expr.String())
		if len(metrics) == 0 {
			t.Errorf("%s reads no metric", alert.Alert)
		}
		for _, metric := range metrics {
			if !strings.Contains(page, "\n| `"+metric+"` |") {
				t.Errorf("%s reads %s, which docs/metrics.md does not know", alert.Alert, metric)
			}
		}
	}
}

func alerts(t *testing.T) []monitoringv1.Rule {
	t.Helper()
	var all []monitoringv1.Rule
	for _, group := range rulesOf(t).Spec.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				t.Errorf("a rule of %s is no alert", group.Name)
			}
			all = append(all, rule)
		}
	}
	if len(all) == 0 {
		t.Fatal("no alerts")
	}
	return all
}

func rulesOf(t *testing.T) monitoringv1.PrometheusRule {
	t.Helper()
	return one[monitoringv1.PrometheusRule](t, "../../../config/monitoring", "PrometheusRule", "")
}

func text(t *testing.T, path string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// strict reads an object as its API knows it: a field that does not exist would be dropped in silence by the API server.
func strict[T any](t *testing.T, asYAML []byte) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict(asYAML, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
