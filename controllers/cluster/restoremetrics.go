package cluster

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// Of its restores in place a cluster has at most 6 series, as far as EtcdRestores are there.
var (
	restoresDesc = kit.ClusterMetric("restore_objects",
		"EtcdRestores of the cluster that there are, by state: waiting, running, complete or failed.", "state")
	restoreCompleteDesc = kit.ClusterMetric("restore_last_complete_timestamp_seconds",
		"When the cluster was first seen to serve with what it was last restored to, in seconds since 1970.")
	restoreDurationDesc = kit.ClusterMetric("restore_last_duration_seconds",
		"How long that restore took, from the first volume that was made for it until the cluster was seen to serve.")
)

// ObserveRestores takes the EtcdRestores of a cluster as a pass saw them, all at once.
func (m *Metrics) ObserveRestores(cluster types.NamespacedName, restores []v1alpha1.EtcdRestoreStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(restores) == 0 {
		delete(m.restores, cluster)
		return
	}
	m.restores[cluster] = restores
}

func collectRestores(metrics chan<- prometheus.Metric, cluster types.NamespacedName,
	restores []v1alpha1.EtcdRestoreStatus) {
	if len(restores) == 0 {
		return
	}
	s := kit.Series{Out: metrics, Cluster: cluster}
	states, last := map[string]int{}, v1alpha1.EtcdRestoreStatus{}
	for _, r := range restores {
		states[report.RestoreState(r)]++
		if r.CompletedAt != nil && (last.CompletedAt == nil || last.CompletedAt.Before(r.CompletedAt)) {
			last = r
		}
	}
	for _, state := range report.RestoreStates {
		s.Gauge(restoresDesc, float64(states[state]), state)
	}
	if last.CompletedAt == nil {
		return
	}
	s.Gauge(restoreCompleteDesc, float64(last.CompletedAt.Unix()))
	if last.StartedAt != nil {
		s.Gauge(restoreDurationDesc, max(0, last.CompletedAt.Sub(last.StartedAt.Time).Seconds()))
	}
}
