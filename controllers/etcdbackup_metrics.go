package controllers

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
)

// BackupMetrics tells Prometheus of each cluster how its backups are, as far as EtcdBackups are there. A cluster has at most
// 11 series; namespace and name are the cluster's, as everywhere.
type BackupMetrics struct {
	mu        sync.Mutex
	backups   map[types.NamespacedName]backupValues
	schedules map[types.NamespacedName]scheduleValues
}

type scheduleValues struct {
	cluster types.NamespacedName
	scheduleTimes
}

// scheduleTimes are by when a schedule expects the next complete backup and the next test restore to be there, zero when it
// expects none, and when a backup of it was last proven.
type scheduleTimes struct {
	backup, proof time.Time
	proven        *metav1.Time
}

type backupValues struct {
	cluster types.NamespacedName
	status  v1alpha1.EtcdBackupStatus
}

var (
	backupsDesc = clusterMetric("backup_objects",
		"EtcdBackups of the cluster that there are, by state: running, complete or failed.", "state")
	backupCompleteDesc = clusterMetric("backup_last_complete_timestamp_seconds",
		"When the snapshot of the newest complete backup was begun, in seconds since 1970: what was written before is in it.")
	backupVerifiedDesc = clusterMetric("backup_last_verified_timestamp_seconds",
		"When the snapshot of the newest backup that was proven was begun, in seconds since 1970.")
	backupSizeDesc     = clusterMetric("backup_last_size_bytes", "Size of the newest complete backup.")
	backupRevisionDesc = clusterMetric("backup_last_revision", "Revision of etcd that the newest complete backup holds.")
	backupDurationDesc = clusterMetric("backup_last_duration_seconds",
		"How long the newest complete backup took from the beginning of its snapshot until it was complete, proof included.")
	backupExpectedDesc = clusterMetric("backup_expected_by_timestamp_seconds",
		"By when, as the cluster's EtcdBackupSchedules have it, the next complete backup has to be there, in seconds since 1970.")
	backupProofDesc = clusterMetric("backup_proof_expected_by_timestamp_seconds",
		"By when, as testRestore of the cluster's EtcdBackupSchedules has it, a backup has to be restored and compared, in seconds since 1970.")
	backupProvenDesc = clusterMetric("backup_proven_timestamp_seconds",
		"When a backup of the cluster's EtcdBackupSchedules was last restored and compared, in seconds since 1970.")
)

// NewBackupMetrics makes the metrics and registers them. It fails when they are registered already.
func NewBackupMetrics(registry prometheus.Registerer) (*BackupMetrics, error) {
	m := &BackupMetrics{backups: map[types.NamespacedName]backupValues{}, schedules: map[types.NamespacedName]scheduleValues{}}
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering the metrics of backups: %w", err)
	}
	return m, nil
}

// Observe takes the status that a pass saw.
func (m *BackupMetrics) Observe(key types.NamespacedName, cluster string, status v1alpha1.EtcdBackupStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.backups[key] = backupValues{cluster: types.NamespacedName{Namespace: key.Namespace, Name: cluster}, status: status}
}

// Forget drops a backup that is gone.
func (m *BackupMetrics) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.backups, key)
}

// ObserveSchedule takes what a pass saw of a schedule.
func (m *BackupMetrics) ObserveSchedule(key types.NamespacedName, cluster string, times scheduleTimes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.schedules[key] = scheduleValues{cluster: types.NamespacedName{Namespace: key.Namespace, Name: cluster}, scheduleTimes: times}
}

// ForgetSchedule drops a schedule that is gone.
func (m *BackupMetrics) ForgetSchedule(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.schedules, key)
}

// Describe implements prometheus.Collector.
func (m *BackupMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		backupsDesc, backupCompleteDesc, backupVerifiedDesc, backupSizeDesc, backupRevisionDesc, backupDurationDesc, backupExpectedDesc,
		backupProofDesc, backupProvenDesc,
	} {
		descs <- d
	}
}

// backupSummary is what the backups of one cluster are together.
type backupSummary struct {
	states             map[string]int
	complete, verified *v1alpha1.EtcdBackupStatus // the newest
}

// Collect implements prometheus.Collector.
func (m *BackupMetrics) Collect(metrics chan<- prometheus.Metric) {
	for cluster, times := range m.expectations() {
		for desc, at := range map[*prometheus.Desc]time.Time{backupExpectedDesc: times.backup, backupProofDesc: times.proof, backupProvenDesc: timeOf(times.proven)} {
			if !at.IsZero() {
				metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(at.Unix()), cluster.Namespace, cluster.Name)
			}
		}
	}
	for cluster, s := range m.summaries() {
		gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
			labels = append([]string{cluster.Namespace, cluster.Name}, labels...)
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
		}
		for state, n := range s.states {
			gauge(backupsDesc, float64(n), state)
		}
		if s.complete != nil {
			gauge(backupCompleteDesc, float64(s.complete.StartedAt.Unix()))
			gauge(backupSizeDesc, float64(s.complete.SizeBytes))
			gauge(backupRevisionDesc, float64(s.complete.Revision))
			gauge(backupDurationDesc, max(0, s.complete.CompletedAt.Sub(s.complete.StartedAt.Time).Seconds()))
		}
		if s.verified != nil {
			gauge(backupVerifiedDesc, float64(s.verified.StartedAt.Unix()))
		}
	}
}

// expectations are the earliest of each cluster's schedules, since one that is kept does not hide one that is not; and the
// latest proof.
func (m *BackupMetrics) expectations() map[types.NamespacedName]scheduleTimes {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[types.NamespacedName]scheduleTimes{}
	for _, s := range m.schedules {
		times := all[s.cluster]
		times.backup, times.proof = earlier(times.backup, s.backup), earlier(times.proof, s.proof)
		if times.proven == nil || times.proven.Before(s.proven) {
			times.proven = s.proven
		}
		all[s.cluster] = times
	}
	return all
}

// earlier is the earlier of two times; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func (m *BackupMetrics) summaries() map[types.NamespacedName]*backupSummary {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[types.NamespacedName]*backupSummary{}
	for _, b := range m.backups {
		s := all[b.cluster]
		if s == nil {
			s = &backupSummary{states: map[string]int{"running": 0, "complete": 0, "failed": 0}}
			all[b.cluster] = s
		}
		s.add(b.status)
	}
	return all
}

func (s *backupSummary) add(status v1alpha1.EtcdBackupStatus) {
	switch status.Stage {
	case backup.StageFailed:
		s.states["failed"]++
		return
	case backup.StageComplete:
		s.states["complete"]++
	default:
		s.states["running"]++
		return
	}
	if status.StartedAt == nil || status.CompletedAt == nil {
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
