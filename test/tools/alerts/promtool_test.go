// Package alerts holds config/monitoring to what docs/alerts.md says: promtool tries each alert on series that must and on
// series that must not raise it, and everything that is to be scraped is what the operator makes.
package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcdsteward/etcd-steward/test/tools/promql"
)

// unitTests is what these tests read of a file of promtool's (prometheus/prometheus:cmd/promtool/unittest.go).
type unitTests struct {
	Tests []struct {
		Name   string `json:"name"`
		Alerts []struct {
			Alert    string           `json:"alertname"`
			Expected []map[string]any `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

func TestPromtoolFindsEachAlertFiringAndNotFiringAsItShould(t *testing.T) {
	promtool := promql.Promtool(t)
	directory := t.TempDir()
	file := filepath.Join(directory, "rules.yaml") // as every test calls it
	writeRules(t, file, func(monitoringv1.Rule) bool { return true })
	run(t, promtool, directory, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
	for _, test := range testFiles(t) {
		named := alertsIn(t, test)
		writeRules(t, file, func(r monitoringv1.Rule) bool { return r.Alert == "" || named[r.Alert] })
		write(t, filepath.Join(directory, filepath.Base(test)), []byte(text(t, test)))
		run(t, promtool, directory, "test", "rules", filepath.Base(test))
	}
}

// writeRules leaves out what a test does not ask for: promtool evaluates every rule at every moment of it.
func writeRules(t *testing.T, file string, isAsked func(monitoringv1.Rule) bool) {
	t.Helper()
	groups := rulesOf(t).Spec.Groups
	for i := range groups {
		groups[i].Rules = slices.DeleteFunc(groups[i].Rules, func(r monitoringv1.Rule) bool { return !isAsked(r) })
	}
	rules, err := yaml.Marshal(monitoringv1.PrometheusRuleSpec{Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, rules)
}

// alertsIn are those that the tests of a file name.
func alertsIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	for _, test := range read[unitTests](t, file).Tests {
		for _, alert := range test.Alerts {
			named[alert.Alert] = true
		}
	}
	return named
}

func TestEachAlertIsTriedFiringAndNotFiring(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]int{}
	for _, file := range testFiles(t) {
		for _, test := range read[unitTests](t, file).Tests {
			if test.Name == "" {
				t.Errorf("%s: a test has no name", file)
			}
			firing := map[string]bool{}
			for _, alert := range test.Alerts {
				firing[alert.Alert] = firing[alert.Alert] || len(alert.Expected) > 0
			}
			for alert, want := range firing {
				if want {
					fires[alert] = true
				} else {
					silent[alert]++
				}
			}
		}
	}
	for _, alert := range alerts(t) {
		if !fires[alert.Alert] || silent[alert.Alert] == 0 {
			t.Errorf("%s is tried firing: %v, and silent throughout in %d tests", alert.Alert, fires[alert.Alert], silent[alert.Alert])
		}
		delete(fires, alert.Alert)
	}
	for alert := range fires {
		t.Errorf("%s is tried, and there is no such alert", alert)
	}
}

func testFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in testdata: %v", len(files), err)
	}
	return slices.Sorted(slices.Values(files))
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, promtool, directory string, args ...string) {
	t.Helper()
	cmd := exec.Command(promtool, args...)
	cmd.Dir = directory
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
}

func read[T any](t *testing.T, path string) T {
	t.Helper()
	var value T
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}
