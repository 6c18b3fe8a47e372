package cluster

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/report"
)

// Metrics tells Prometheus how each cluster was when it was last looked at. A cluster has at most 29 series; their
// labels are namespace, name and small closed sets, and they go with the cluster. What a pass could not verify has no
// series.
type Metrics struct {
	now func() time.Time

	mu       sync.Mutex
	clusters map[types.NamespacedName]report.Values
	replaced map[types.NamespacedName]map[string]time.Time // when a member was last given up, by reason
	restores map[types.NamespacedName][]v1alpha1.EtcdRestoreStatus
	keepers  map[types.NamespacedName]keeper

	changes *prometheus.CounterVec
}

// keeper is the install that looks after a cluster, and whether it is known to run.
type keeper struct {
	operator string
	runs     bool
}

var (
	keeperDesc = kit.ClusterMetric("cluster_operator_up",
		"1 when the install that looks after the cluster is known to run, 0 when it is not; its label names it.",
		"operator")
	infoDesc = kit.ClusterMetric("cluster_info",
		"Always 1; says in its labels the lowest etcd version that runs, the TLS mode and where data is kept.",
		"version", "tls", "storage")
	desiredDesc = kit.ClusterMetric("cluster_members_desired", "Voting members that the spec asks for.")
	membersDesc = kit.ClusterMetric("cluster_members",
		"Members by state; a member that is unhealthy or was never started is a voter or a learner as well.", "state")
	marginDesc = kit.ClusterMetric("cluster_quorum_margin",
		"Further voters that may fail before writes stop, as far as the operator reaches them.")
	busyDesc = kit.ClusterMetric("cluster_defragmenting",
		"1 while a member answers nothing because it is defragmented, until the deadline of its Pod at most.")
	readyDesc  = kit.ClusterMetric("cluster_ready", "1 when all members are healthy and match the spec.")
	servedDesc = kit.ClusterMetric("cluster_served",
		"1 once the cluster has served, be it before a restore in place; 0 while it is first created.")
	pausedDesc = kit.ClusterMetric("cluster_paused",
		"1 when spec.paused keeps the operator from touching the cluster.")
	conditionDesc = kit.ClusterMetric("cluster_condition",
		"Always 1; one series for each condition, with its status of now: true, false or unknown.", "type", "status")
	alarmDesc = kit.ClusterMetric("cluster_alarm", "1 while a member raises this alarm of etcd: NOSPACE or CORRUPT.",
		"type")
	keptDesc = kit.ClusterMetric("kept_volumes",
		"Volumes of replaced members that the operator keeps, by why the member was replaced; absent when "+
			"there is none.", "reason")
	expiryDesc = kit.ClusterMetric("certificate_expiry_timestamp_seconds",
		"When the member's certificate that ends first will end, in seconds since 1970.")
	waitDesc = kit.ClusterMetric("next_step_wait_seconds",
		"For how long the operator has wanted or waited for the same next step; absent when there is nothing to do.",
		"rule")
	replacedDesc = kit.ClusterMetric("member_replaced_timestamp_seconds",
		"When this process last replaced a member because of DataLost or MemberDead, in seconds since 1970; absent "+
			"when it never did.", "reason")
)

// NewMetrics makes the metrics and registers them. It fails when they are registered already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		now:      time.Now,
		clusters: map[types.NamespacedName]report.Values{},
		replaced: map[types.NamespacedName]map[string]time.Time{},
		restores: map[types.NamespacedName][]v1alpha1.EtcdRestoreStatus{},
		keepers:  map[types.NamespacedName]keeper{},
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: kit.MetricPrefix + "changes_total",
			Help: "Changes that the operator tried, by kind and by outcome: applied, deferred, rejected or failed.",
		}, []string{"kind", "result"}),
	}
	return m, kit.Register(registry, "clusters", m, m.changes)
}

// Observe takes the values of one pass.
func (m *Metrics) Observe(v report.Values) {
	m.Count(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[types.NamespacedName{Namespace: v.Namespace, Name: v.Name}] = v
}

// Count takes what one pass did, and not how the cluster is.
func (m *Metrics) Count(v report.Values) {
	if v.Change != "" {
		m.changes.WithLabelValues(v.Change, v.Result).Inc()
	}
	if v.Replaced == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	cluster := types.NamespacedName{Namespace: v.Namespace, Name: v.Name}
	if m.replaced[cluster] == nil {
		m.replaced[cluster] = map[string]time.Time{}
	}
	m.replaced[cluster][v.Replaced] = m.now()
}

// Keep takes which install looks after a cluster, and whether that is known to run. Without one the cluster is gone.
func (m *Metrics) Keep(cluster types.NamespacedName, operator string, runs bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.keepers, cluster); operator != "" {
		m.keepers[cluster] = keeper{operator, runs}
	}
}

// Forget drops the series of a cluster that is gone, or another install's, but which one looks after it.
func (m *Metrics) Forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, cluster)
	delete(m.replaced, cluster)
	delete(m.restores, cluster)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	kit.Describe(descs,
		keeperDesc, infoDesc, desiredDesc, membersDesc, marginDesc, busyDesc, readyDesc, servedDesc, pausedDesc,
		conditionDesc, alarmDesc, keptDesc, expiryDesc, waitDesc, replacedDesc,
		restoresDesc, restoreCompleteDesc, restoreDurationDesc)
}

// Collect implements prometheus.Collector. Waiting time is counted at the scrape, so that it grows between two passes.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for cluster, restores := range m.restores {
		collectRestores(metrics, cluster, restores)
	}
	for cluster, k := range m.keepers {
		kit.Series{Out: metrics, Cluster: cluster}.Gauge(keeperDesc, number(k.runs), k.operator)
	}
	for cluster, v := range m.clusters {
		s := series{Series: kit.Series{Out: metrics, Cluster: cluster}, values: v}
		s.collectState()
		s.collectMembers()
		if v.Rule != "" {
			s.Gauge(waitDesc, max(0, m.now().Sub(v.Since).Seconds()), v.Rule)
		}
		for reason, at := range m.replaced[cluster] {
			s.Gauge(replacedDesc, float64(at.Unix()), reason)
		}
	}
}

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

// series writes the series of one cluster.
type series struct {
	kit.Series
	values report.Values
}

func (s series) collectState() {
	v := s.values
	s.Gauge(infoDesc, 1, v.Version, v.TLS, v.Storage)
	s.Gauge(busyDesc, number(v.Busy))
	s.Gauge(readyDesc, number(v.Ready))
	s.Gauge(servedDesc, number(v.Served))
	s.Gauge(pausedDesc, number(v.Paused))
	for kind, status := range v.Conditions {
		s.Gauge(conditionDesc, 1, kind, strings.ToLower(status))
	}
	for _, alarm := range v.Alarms {
		s.Gauge(alarmDesc, 1, alarm)
	}
	for reason, volumes := range v.Kept {
		s.Gauge(keptDesc, float64(volumes), reason)
	}
	if !v.CertificateExpiry.IsZero() {
		s.Gauge(expiryDesc, float64(v.CertificateExpiry.Unix()))
	}
}

func (s series) collectMembers() {
	v := s.values
	s.Gauge(desiredDesc, float64(v.Desired))
	if v.Members != nil {
		s.Gauge(membersDesc, float64(v.Members.Voters), "voter")
		s.Gauge(membersDesc, float64(v.Members.Learners), "learner")
		s.Gauge(membersDesc, float64(v.Members.Unhealthy), "unhealthy")
		s.Gauge(membersDesc, float64(v.Members.Unstarted), "unstarted")
	}
	if v.Margin != nil {
		s.Gauge(marginDesc, float64(*v.Margin))
	}
}

func number(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
