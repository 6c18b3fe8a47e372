package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/tools/promql"
)

func TestTheFilesAreWhatTheTablesSay(t *testing.T) {
	files, err := filepath.Glob("../../../config/monitoring/dashboards/*")
	if err != nil || len(files) != len(boards) {
		t.Errorf("there are %q for %d dashboards: %v", files, len(boards), err)
	}
	for name, b := range boards {
		want, err := b.json()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../../config/monitoring/dashboards/" + name)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is out of date: make generate (%v)", name, err)
		}
	}
}

func TestEachPanelSaysWhatItShowsAndEachLineHasAName(t *testing.T) {
	for name, b := range boards {
		for _, p := range panels(b) {
			if p.title == "" || !strings.HasSuffix(p.description, ".") || len(p.queries) == 0 {
				t.Errorf("%s: panel %q says nothing, or asks nothing", name, p.title)
			}
			for _, q := range p.queries {
				if q.legend == "" && (p.kind != number || len(p.queries) > 1) {
					t.Errorf("%s: a line of %q has no name", name, p.title)
				}
			}
		}
	}
}

// A series of another cluster, or of another program, must not be shown as this one's.
func TestEachQueryOfAClusterChoosesThatClusterInEverySelector(t *testing.T) {
	for _, p := range panels(cluster) {
		for _, q := range p.queries {
			for _, part := range strings.Split(q.expr, "{")[1:] {
				if !strings.HasPrefix(part, `namespace="$namespace"`) {
					t.Errorf("%s: not of the chosen cluster: {%s", p.title, part)
				}
			}
			if selectors, metrics := strings.Count(q.expr, "{"), len(promql.Metrics(q.expr)); selectors < metrics {
				t.Errorf("%s: %d selectors of %d metrics: %s", p.title, selectors, metrics, q.expr)
			}
		}
	}
}

func TestEachQueryReadsOnlyMetricsOfThePageAndThePageHasNoneThatNothingReads(t *testing.T) {
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	page, alerts := string(text), readAlerts(t)
	read := map[string]bool{}
	for name, b := range boards {
		for _, p := range panels(b) {
			for _, q := range p.queries {
				for _, metric := range promql.Metrics(q.expr) {
					read[metric] = true
					if !strings.Contains(page, "\n| `"+metric+"` |") {
						t.Errorf("%s: %s reads %s, which docs/metrics.md does not know", name, p.title, metric)
					}
				}
			}
		}
	}
	_, others, _ := strings.Cut(page, "\n## Metrics of others\n")
	others, _, _ = strings.Cut(others, "\n## ")
	for _, line := range strings.Split(others, "\n") {
		if metric, _, isRow := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); isRow && !read[metric] && !strings.Contains(alerts, metric) {
			t.Errorf("%s is on the page, and no alert or dashboard reads it", metric)
		}
	}
}

func TestPromtoolUnderstandsEachQuery(t *testing.T) {
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, b := range boards {
		for _, p := range panels(b) {
			for _, q := range p.queries {
				rules = append(rules, rule{"query", chosen.Replace(q.expr)})
			}
		}
	}
	file, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": rules}}})
	if err != nil || len(rules) < 40 {
		t.Fatalf("%d queries: %v", len(rules), err)
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promql.Promtool(t), "check", "rules", "--lint=none", path).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// chosen puts in what Grafana would.
var chosen = strings.NewReplacer("$__rate_interval", "1m", "$namespace", "team", "$name", "demo")

func panels(b board) []panel {
	var all []panel
	for _, r := range b.rows {
		all = append(all, r.panels...)
	}
	return all
}

func readAlerts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../config/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
