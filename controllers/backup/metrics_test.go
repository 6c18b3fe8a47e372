package backup

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/test/jobworld"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

// proven is the status of a backup whose snapshot was begun so many seconds after 1970 and that took a minute.
func proven(begun, revision int64) v1alpha1.EtcdBackupStatus {
	status := stored(begun, revision)
	status.VerifiedAt = status.CompletedAt
	return status
}

func stored(begun, revision int64) v1alpha1.EtcdBackupStatus {
	at := func(s int64) *metav1.Time { return new(metav1.NewTime(time.Unix(s, 0))) }
	return v1alpha1.EtcdBackupStatus{
		Stage: backupplan.StageComplete, Revision: revision, SizeBytes: 10 * revision, StartedAt: at(begun), CompletedAt: at(begun + 60),
	}
}

func everyBackupSeries(t *testing.T, registry prometheus.Registerer) *Metrics {
	t.Helper()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	for name, status := range map[string]v1alpha1.EtcdBackupStatus{
		"oldest": proven(1000, 1), "proven": proven(2000, 2), "newest": stored(3000, 3), "older": stored(1500, 1),
		"failed": {Stage: backupplan.StageFailed, StartedAt: new(metav1.NewTime(time.Unix(9000, 0)))},
		"runs":   {Stage: backupplan.StageFetch}, "waits": {Stage: backupplan.StageWaiting}, "seen first": {},
	} {
		m.Observe(types.NamespacedName{Namespace: "team", Name: name}, "demo", status)
	}
	return m
}

func TestBackupsBecomeSeriesOfTheirCluster(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := everyBackupSeries(t, registry)
	m.Observe(types.NamespacedName{Namespace: "team", Name: "other"}, "other", v1alpha1.EtcdBackupStatus{Stage: backupplan.StageFailed})
	want := map[string]float64{
		`backup_objects{name="demo",namespace="team",state="running"}`:         3,
		`backup_objects{name="demo",namespace="team",state="complete"}`:        4,
		`backup_objects{name="demo",namespace="team",state="failed"}`:          1,
		`backup_last_complete_timestamp_seconds{name="demo",namespace="team"}`: 3000,
		`backup_last_verified_timestamp_seconds{name="demo",namespace="team"}`: 2000,
		`backup_last_size_bytes{name="demo",namespace="team"}`:                 30,
		`backup_last_revision{name="demo",namespace="team"}`:                   3,
		`backup_last_duration_seconds{name="demo",namespace="team"}`:           60,
		`backup_objects{name="other",namespace="team",state="running"}`:        0,
		`backup_objects{name="other",namespace="team",state="complete"}`:       0,
		`backup_objects{name="other",namespace="team",state="failed"}`:         1,
	}
	got := metrictest.Gather(t, registry)
	for series, value := range want {
		if v, ok := got[kit.MetricPrefix+series]; !ok || v != value {
			t.Errorf("%s is %v, want %v", series, v, value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d series, want %d: %v", len(got), len(want), got)
	}
}

func TestABackupThatIsGoneIsNotCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := everyBackupSeries(t, registry)
	for _, name := range []string{"oldest", "proven", "newest", "older", "failed", "runs", "waits", "seen first"} {
		m.Forget(types.NamespacedName{Namespace: "team", Name: name})
	}
	for series := range metrictest.Gather(t, registry) {
		if strings.Contains(series, "demo") {
			t.Errorf("%s is still there", series)
		}
	}
}

func TestOnlyBackupsOfClustersThatThereAreAndThatAreOursAreCounted(t *testing.T) {
	count := func(w *backupWorld) int {
		t.Helper()
		w.operator.Metrics = &Metrics{}
		w.passes(3)
		return len(w.operator.Metrics.ByCluster())
	}
	if n := count(newBackupWorld(t, jobworld.Nightly())); n != 0 {
		t.Errorf("%d clusters that do not exist are counted", n)
	}
	w := newBackupWorld(t, jobworld.Nightly(), jobworld.Serving()...)
	if n := count(w); n != 1 {
		t.Errorf("%d clusters are counted", n)
	}
	w.operator.Operator = "other/etcd-steward"
	w.passes(1)
	if n := len(w.operator.Metrics.ByCluster()); n != 0 {
		t.Errorf("%d clusters of another operator are counted", n)
	}
}

func TestEveryMetricOfBackupsIsExported(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	everyBackupSeries(t, registry)
	metrictest.Exported(t, registry)
}
