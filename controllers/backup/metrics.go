package backup

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

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

// backupSummary is what the backups of one cluster are together.
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
