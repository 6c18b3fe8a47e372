package backup

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// progressInterval is how often the status shows how far a step is.
const progressInterval = 5 * time.Second

// publish writes the status if it differs, and only when it is stored says what became different. A result above zero
// means that progress waits to be written until then.
func (r *Reconciler) publish(
	ctx context.Context, b *v1alpha1.EtcdBackup, o backupplan.Observation, d backupplan.Decision,
) (later time.Duration, err error) {
	key := client.ObjectKeyFromObject(b)
	old, status := b.Status, backupplan.Status(o, d, resources.BackupJob(b), b.Status)
	if o.Cluster.Exists {
		r.Metrics.Observe(key, b.Spec.ClusterRef.Name, status)
	} else {
		r.Metrics.Forget(key) // anybody can make up names of clusters, and each would have its series
	}
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	if isProgressOnly(old, status) {
		if later = r.written.Rest(key, r.Now(), progressInterval); later > 0 {
			return later, nil
		}
	}
	updated := b.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, b, updated)
	if !stored {
		return later, err
	}
	r.written.Set(key, r.Now())
	r.Tell(b, backupplan.Events(d, old, status))
	return 0, nil
}

func isProgressOnly(old, status v1alpha1.EtcdBackupStatus) bool {
	old.BytesTransferred, old.BytesTotal = status.BytesTransferred, status.BytesTotal
	return equality.Semantic.DeepEqual(old, status)
}

// Metrics tells Prometheus of each cluster how its backups are, as far as EtcdBackups are there. A cluster has at most
// 8 series; namespace and name are the cluster's, as everywhere.
type Metrics struct {
	kit.PerCluster[v1alpha1.EtcdBackupStatus]
}

var (
	backupsDesc = kit.ClusterMetric("backup_objects",
		"EtcdBackups of the cluster that there are, by state: running, complete or failed.", "state")
	backupCompleteDesc = kit.ClusterMetric("backup_last_complete_timestamp_seconds",
		"When the snapshot of the newest complete backup was begun, in seconds since 1970: what was written "+
			"before is in it.")
	backupVerifiedDesc = kit.ClusterMetric("backup_last_verified_timestamp_seconds",
		"When the snapshot of the newest backup that was proven was begun, in seconds since 1970.")
	backupSizeDesc     = kit.ClusterMetric("backup_last_size_bytes", "Size of the newest complete backup.")
	backupRevisionDesc = kit.ClusterMetric("backup_last_revision",
		"Revision of etcd that the newest complete backup holds.")
	backupDurationDesc = kit.ClusterMetric("backup_last_duration_seconds",
		"How long the newest complete backup took from the beginning of its snapshot until it was complete, "+
			"proof included.")
)

// NewMetrics makes the metrics and registers them. It fails when they are registered already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	return m, kit.Register(registry, "backups", m)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	kit.Describe(descs, backupsDesc, backupCompleteDesc, backupVerifiedDesc, backupSizeDesc, backupRevisionDesc,
		backupDurationDesc)
}

type backupSummary struct {
	states             map[string]int
	complete, verified *v1alpha1.EtcdBackupStatus // the newest
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for cluster, backups := range m.ByCluster() {
		s := backupSummary{states: map[string]int{"running": 0, "complete": 0, "failed": 0}}
		for _, status := range backups {
			s.add(status)
		}
		series := kit.Series{Out: metrics, Cluster: cluster}
		for state, n := range s.states {
			series.Gauge(backupsDesc, float64(n), state)
		}
		if s.complete != nil {
			series.Gauge(backupCompleteDesc, float64(s.complete.StartedAt.Unix()))
			series.Gauge(backupSizeDesc, float64(s.complete.SizeBytes))
			series.Gauge(backupRevisionDesc, float64(s.complete.Revision))
			series.Gauge(backupDurationDesc, max(0, s.complete.CompletedAt.Sub(s.complete.StartedAt.Time).Seconds()))
		}
		if s.verified != nil {
			series.Gauge(backupVerifiedDesc, float64(s.verified.StartedAt.Unix()))
		}
	}
}

func (s *backupSummary) add(status v1alpha1.EtcdBackupStatus) {
	switch status.Stage {
	case backupplan.StageFailed:
		s.states["failed"]++
		return
	case backupplan.StageComplete:
		s.states["complete"]++
	default:
		s.states["running"]++
		return
	}
	isDoubted := words.ReasonOf(status.Conditions, v1alpha1.BackupComplete) == backupplan.ReasonRecordNotSigned
	if status.StartedAt == nil || status.CompletedAt == nil || isDoubted {
		return
	}
	s.complete = newest(s.complete, &status)
	if status.VerifiedAt != nil {
		s.verified = newest(s.verified, &status)
	}
}

func newest(a, b *v1alpha1.EtcdBackupStatus) *v1alpha1.EtcdBackupStatus {
	if a != nil && !a.StartedAt.Before(b.StartedAt) {
		return a
	}
	return b
}
