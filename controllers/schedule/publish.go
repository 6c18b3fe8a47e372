package schedule

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// publish writes the status if it differs, and only when it is stored says what became different.
func (r *Reconciler) publish(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, o scheduleplan.Observation, d scheduleplan.Decision,
) (later time.Duration, err error) {
	key := client.ObjectKeyFromObject(s)
	old, status := s.Status, scheduleplan.Status(o, d, s.Status)
	if o.Cluster.Exists {
		r.Metrics.Observe(key, s.Spec.ClusterRef.Name, scheduleTimes{
			backup: scheduleplan.ExpectedBy(o, status), proof: scheduleplan.ProofExpectedBy(o),
			proven: words.TimeOf(status.LastProvenTime),
		})
	} else {
		r.Metrics.Forget(key)
	}
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	updated := s.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, s, updated)
	if stored {
		r.Tell(s, scheduleplan.Events(d, old))
	}
	return later, err
}

// Metrics tells Prometheus of each cluster what its schedules expect. A cluster has at most 3 series; namespace and
// name are the cluster's, as everywhere.
type Metrics struct{ kit.PerCluster[scheduleTimes] }

// scheduleTimes are by when a schedule expects the next complete backup and the next test restore to be there, zero
// when it expects none, and when a backup of it was last proven.
type scheduleTimes struct {
	backup, proof, proven time.Time
}

var (
	expectedDesc = kit.ClusterMetric("backup_expected_by_timestamp_seconds",
		"By when the cluster's EtcdBackupSchedules ask for the next complete backup, in seconds since 1970.")
	proofDesc = kit.ClusterMetric("backup_proof_expected_by_timestamp_seconds",
		"By when testRestore of the cluster's EtcdBackupSchedules asks for the next good test restore, in "+
			"seconds since 1970.")
	provenDesc = kit.ClusterMetric("backup_proven_timestamp_seconds",
		"When a backup of the cluster's EtcdBackupSchedules was last restored and compared, in seconds since 1970.")
)

// NewMetrics makes the metrics and registers them. It fails when they are registered already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	return m, kit.Register(registry, "schedules", m)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	kit.Describe(descs, expectedDesc, proofDesc, provenDesc)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for cluster, schedules := range m.ByCluster() {
		series, times := kit.Series{Out: metrics, Cluster: cluster}, together(schedules)
		for desc, at := range map[*prometheus.Desc]time.Time{expectedDesc: times.backup, proofDesc: times.proof,
			provenDesc: times.proven} {
			if !at.IsZero() {
				series.Gauge(desc, float64(at.Unix()))
			}
		}
	}
}

// together are the earliest of a cluster's schedules, since one that is kept does not hide one that is not; and the
// latest proof.
func together(schedules []scheduleTimes) (times scheduleTimes) {
	for _, s := range schedules {
		times.backup, times.proof = earlier(times.backup, s.backup), earlier(times.proof, s.proof)
		if s.proven.After(times.proven) {
			times.proven = s.proven
		}
	}
	return times
}

// earlier is the earlier of two times; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
