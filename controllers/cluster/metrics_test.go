package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
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
		Desired: 3, Members: &report.Members{Voters: 2, Learners: 1, Unhealthy: 1, Unstarted: 1}, Margin: &margin, Served: true, Busy: true,
		Conditions: map[string]string{
			"Ready": "False", "Available": "True", "Degraded": "True", "UpToDate": "Unknown", "Reconciling": "True",
		},
		Kept:   map[string]int{"Volume": 1, "Disk": 2, "Node": 1, "Identity": 1, "Corruption": 1, "Unknown": 1},
		Alarms: []string{"CORRUPT", "NOSPACE"}, Rule: "repair", Since: passAt.Add(-90 * time.Second),
		CertificateExpiry: passAt.Add(time.Hour), Change: "AddLearner", Result: report.ResultApplied, Replaced: "DataLost",
	}
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
	samples := metrictest.Gather(t, registry)
	for sample, want := range map[string]float64{
		`etcdsteward_cluster_info{name="demo",namespace="team",storage="Volume",tls="Managed",version="3.6.16"}`: 1,
		`etcdsteward_cluster_members_desired{name="demo",namespace="team"}`:                                      3,
		`etcdsteward_cluster_members{name="demo",namespace="team",state="voter"}`:                                2,
		`etcdsteward_cluster_members{name="demo",namespace="team",state="unhealthy"}`:                            1,
		`etcdsteward_cluster_quorum_margin{name="demo",namespace="team"}`:                                        -1,
		`etcdsteward_cluster_defragmenting{name="demo",namespace="team"}`:                                        1,
		`etcdsteward_cluster_ready{name="demo",namespace="team"}`:                                                0,
		`etcdsteward_cluster_served{name="demo",namespace="team"}`:                                               1,
		`etcdsteward_cluster_condition{name="demo",namespace="team",status="true",type="Degraded"}`:              1,
		`etcdsteward_cluster_alarm{name="demo",namespace="team",type="NOSPACE"}`:                                 1,
		`etcdsteward_kept_volumes{name="demo",namespace="team",reason="Disk"}`:                                   2,
		`etcdsteward_next_step_wait_seconds{name="demo",namespace="team",rule="repair"}`:                         90,
		`etcdsteward_changes_total{kind="AddLearner",result="applied"}`:                                          1,
		`etcdsteward_member_replaced_timestamp_seconds{name="demo",namespace="team",reason="DataLost"}`:          float64(passAt.Unix()),
	} {
		if got, ok := samples[sample]; !ok || got != want {
			t.Errorf("%s = %v (present: %v), want %v", sample, got, ok, want)
		}
	}
}

func TestAClusterWithEverythingHasAsManySeriesAsThePagePromises(t *testing.T) {
	m, registry := newTestMetrics(t)
	values := everySeries("demo")
	m.Keep(types.NamespacedName{Namespace: values.Namespace, Name: values.Name}, "ops/etcd-steward", true)
	m.Observe(values)
	values.Replaced = "MemberDead"
	m.Observe(values)
	n := seriesOf(metrictest.Gather(t, registry), "demo")
	if page, err := os.ReadFile("../../docs/metrics.md"); err != nil || n < 20 ||
		!strings.Contains(string(page), fmt.Sprintf("Each cluster has at most %d series.", n)) {
		t.Errorf("a cluster has %d series, and docs/metrics.md promises another number (%v)", n, err)
	}
}

func TestASecondPassReplacesTheSeriesOfTheFirst(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	after := everySeries("demo")
	after.Conditions, after.Rule, after.Members, after.Margin, after.Kept = map[string]string{"Ready": "True"}, "", nil, nil, nil
	m.Observe(after)
	for name := range metrictest.Gather(t, registry) {
		for _, gone := range []string{`status="false"`, "next_step_wait", "cluster_members{", "quorum_margin", "kept_volumes"} {
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
	samples := metrictest.Gather(t, registry)
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
	samples := metrictest.Gather(t, registry)
	if n := seriesOf(samples, "demo"); n != 0 {
		t.Errorf("the forgotten cluster still has %d series", n)
	}
	if n := seriesOf(samples, "other"); n == 0 {
		t.Error("the other cluster lost its series as well")
	}
}

func TestEveryMetricOfAClusterIsExported(t *testing.T) {
	m, registry := newTestMetrics(t)
	m.Observe(everySeries("demo"))
	m.Keep(types.NamespacedName{Namespace: "team", Name: "demo"}, "ops/etcd-steward", true)
	everyRestoreSeries(m, "demo")
	metrictest.Exported(t, registry)
}
