package controllers

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
)

var passAt = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newTestMetrics(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.now = func() time.Time { return passAt }
	return m, registry
}

// everySeries are values that give a cluster as many series as it can have.
func everySeries(name string) report.Values {
	margin := -1
	return report.Values{
		Namespace: "team", Name: name, Version: "3.6.16", TLS: "Managed", Storage: "Volume",
		Desired: 3, Members: &report.Members{Voters: 2, Learners: 1, Unhealthy: 1, Unstarted: 1}, Margin: &margin, Served: true,
		Conditions: map[string]string{
			"Ready": "False", "Available": "True", "Degraded": "True", "UpToDate": "Unknown", "Reconciling": "True",
		},
		Alarms: []string{"CORRUPT", "NOSPACE"}, Rule: "repair", Since: passAt.Add(-90 * time.Second),
		CertificateExpiry: passAt.Add(time.Hour), Change: "AddLearner", Result: report.ResultApplied, Replaced: "DataLost",
	}
}

// gather returns all samples by name with labels, such as `etcdsteward_cluster_ready{name="demo",namespace="team"}`.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			samples[family.GetName()+"{"+labelsOf(metric)+"}"] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return samples
}

func labelsOf(metric *dto.Metric) string {
	var pairs []string
	for _, l := range metric.GetLabel() {
		pairs = append(pairs, l.GetName()+`="`+l.GetValue()+`"`)
	}
	return strings.Join(pairs, ",")
}

func seriesOf(samples map[string]float64, cluster string) int {
	n := 0
	for name := range samples {
		if strings.Contains(name, `name="`+cluster+`"`) {
			n++
		}
	}
	return n
}

func TestValuesOfAPassBecomeSeries(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	samples := gather(t, registry)
	for sample, want := range map[string]float64{
		`etcdsteward_cluster_info{name="demo",namespace="team",storage="Volume",tls="Managed",version="3.6.16"}`: 1,
		`etcdsteward_cluster_members_desired{name="demo",namespace="team"}`:                                      3,
		`etcdsteward_cluster_members{name="demo",namespace="team",state="voter"}`:                                2,
		`etcdsteward_cluster_members{name="demo",namespace="team",state="unhealthy"}`:                            1,
		`etcdsteward_cluster_quorum_margin{name="demo",namespace="team"}`:                                        -1,
		`etcdsteward_cluster_ready{name="demo",namespace="team"}`:                                                0,
		`etcdsteward_cluster_served{name="demo",namespace="team"}`:                                               1,
		`etcdsteward_cluster_condition{name="demo",namespace="team",status="true",type="Degraded"}`:              1,
		`etcdsteward_cluster_alarm{name="demo",namespace="team",type="NOSPACE"}`:                                 1,
		`etcdsteward_next_step_wait_seconds{name="demo",namespace="team",rule="repair"}`:                         90,
		`etcdsteward_changes_total{kind="AddLearner",result="applied"}`:                                          1,
		`etcdsteward_member_replaced_timestamp_seconds{name="demo",namespace="team",reason="DataLost"}`:          float64(passAt.Unix()),
	} {
		if got, ok := samples[sample]; !ok || got != want {
			t.Errorf("%s = %v (present: %v), want %v", sample, got, ok, want)
		}
	}
}

func TestAClusterHasAtMost25Series(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	if n := seriesOf(gather(t, registry), "demo"); n < 15 || n > 25 {
		t.Errorf("a cluster has %d series, want at most 25, and with everything on not fewer than 15", n)
	}
}

func TestASecondPassReplacesTheSeriesOfTheFirst(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	after := everySeries("demo")
	after.Conditions, after.Rule, after.Members, after.Margin = map[string]string{"Ready": "True"}, "", nil, nil
	m.Observe(after)
	for name := range gather(t, registry) {
		for _, gone := range []string{`status="false"`, "next_step_wait", "cluster_members{", "quorum_margin"} {
			if strings.Contains(name, gone) {
				t.Errorf("%s is still there", name)
			}
		}
	}
}

func TestWhenAMemberWasReplacedIsToldOnByLaterPasses(t *testing.T) {
	m, registry := newTestMetrics(t)
	first := everySeries("demo")
	m.Observe(first)
	m.now = func() time.Time { return passAt.Add(time.Hour) }
	first.Replaced = "MemberDead"
	m.Observe(first)
	first.Replaced = ""
	m.Observe(first)
	samples := gather(t, registry)
	for reason, want := range map[string]time.Time{"DataLost": passAt, "MemberDead": passAt.Add(time.Hour)} {
		sample := `etcdsteward_member_replaced_timestamp_seconds{name="demo",namespace="team",reason="` + reason + `"}`
		if got := samples[sample]; got != float64(want.Unix()) {
			t.Errorf("%s = %v, want %v", sample, got, want.Unix())
		}
	}
}

func TestTheSeriesOfAClusterGoWithIt(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	m.Observe(everySeries("other"))
	m.Forget(types.NamespacedName{Namespace: "team", Name: "demo"})
	samples := gather(t, registry)
	if n := seriesOf(samples, "demo"); n != 0 {
		t.Errorf("the forgotten cluster still has %d series", n)
	}
	if n := seriesOf(samples, "other"); n == 0 {
		t.Error("the other cluster lost its series as well")
	}
}

func TestEveryMetricIsDocumentedAndEveryDocumentedMetricIsExported(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	everyRestoreSeries(m, "demo")
	everyBackupSeries(t, registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, family := range families {
		exported = append(exported, family.GetName())
	}
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(etcdsteward_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(documented)
	if !slices.Equal(exported, documented) {
		t.Errorf("exported and documented metrics differ\nexported:   %v\ndocumented: %v", exported, documented)
	}
}
