package schedule

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/test/metrictest"
)

func TestEveryMetricOfSchedulesIsExportedAndGoesWithTheSchedule(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "team", Name: "nightly"}
	m.Observe(key, "demo", scheduleTimes{backup: time.Unix(5000, 0), proof: time.Unix(6000, 0), proven: time.Unix(4000, 0)})
	metrictest.Exported(t, registry)
	got := metrictest.Gather(t, registry)
	for series, want := range map[string]float64{"backup_expected_by": 5000, "backup_proof_expected_by": 6000, "backup_proven": 4000} {
		if v := got["etcdsteward_"+series+`_timestamp_seconds{name="demo",namespace="team"}`]; v != want {
			t.Errorf("%s is %v, want %v", series, v, want)
		}
	}
	m.Forget(key)
	if got := metrictest.Gather(t, registry); len(got) > 0 {
		t.Errorf("what is gone is still there: %v", got)
	}
}
