package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

// restored is the status of a restore that was complete at a second after 1970, when it had taken a minute and a half.
func restored(at int64) v1alpha1.EtcdRestoreStatus {
	when := func(s int64) *metav1.Time { return new(metav1.NewTime(time.Unix(s, 0))) }
	return v1alpha1.EtcdRestoreStatus{Stage: "Complete", StartedAt: when(at - 90), CompletedAt: when(at)}
}

func everyRestoreSeries(m *Metrics, name string) {
	failed := v1alpha1.EtcdRestoreStatus{Stage: "Restoring", Conditions: []metav1.Condition{{Type: v1alpha1.RestoreFailed, Status: metav1.ConditionTrue}}}
	m.ObserveRestores(types.NamespacedName{Namespace: "team", Name: name}, []v1alpha1.EtcdRestoreStatus{
		restored(1000), restored(3000), restored(2000), failed, {Stage: "Failed"}, {Stage: "Restoring"}, {Stage: "Waiting"}, {},
	})
}

func TestRestoresBecomeSeriesOfTheirCluster(t *testing.T) {
	m, registry := newTestMetrics(t)
	everyRestoreSeries(m, "demo")
	m.ObserveRestores(types.NamespacedName{Namespace: "team", Name: "other"}, []v1alpha1.EtcdRestoreStatus{{Stage: "Checking"}})
	want := map[string]float64{
		`restore_objects{name="demo",namespace="team",state="waiting"}`:         2,
		`restore_objects{name="demo",namespace="team",state="running"}`:         1,
		`restore_objects{name="demo",namespace="team",state="complete"}`:        3,
		`restore_objects{name="demo",namespace="team",state="failed"}`:          2,
		`restore_last_complete_timestamp_seconds{name="demo",namespace="team"}`: 3000,
		`restore_last_duration_seconds{name="demo",namespace="team"}`:           90,
		`restore_objects{name="other",namespace="team",state="waiting"}`:        0,
		`restore_objects{name="other",namespace="team",state="running"}`:        1,
		`restore_objects{name="other",namespace="team",state="complete"}`:       0,
		`restore_objects{name="other",namespace="team",state="failed"}`:         0,
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
	m.ObserveRestores(types.NamespacedName{Namespace: "team", Name: "other"}, nil)
	m.Forget(types.NamespacedName{Namespace: "team", Name: "demo"})
	if got := metrictest.Gather(t, registry); len(got) > 0 {
		t.Errorf("what is gone is counted: %v", got)
	}
}

func TestARestoreInPlaceIsCountedWhileItRunsAndUntilItIsDeleted(t *testing.T) {
	w := served(t, 1)
	counted := func() map[string]int {
		states := map[string]int{}
		for _, restores := range w.operator.Metrics.restores {
			for _, r := range restores {
				states[r.Stage]++
			}
		}
		return states
	}
	w.ask("back", backupNamed("nightly"))
	w.until("it waits", func() bool { return counted()["Waiting"] == 1 })
	w.approve("back")
	w.until("it runs", func() bool { return counted()["Restoring"] == 1 })
	w.until("it is complete", func() bool { return counted()["Complete"] == 1 })
	w.delete(&v1alpha1.EtcdRestore{}, "back")
	w.until("it is gone", func() bool { return len(counted()) == 0 })
}
