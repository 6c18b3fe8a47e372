package access

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/accessplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// publish writes the status if it differs, and only when it is stored says what became different.
func (r *Reconciler) publish(
	ctx context.Context, c *v1alpha1.EtcdClient, o accessplan.Observation, d accessplan.Decision,
) (later time.Duration, err error) {
	old, status := c.Status, accessplan.Status(o, d, c.Generation, c.Status)
	r.Metrics.ObserveOf(client.ObjectKeyFromObject(c), c.ClusterKey(),
		seenOfClient{reason: d.Reason, end: words.TimeOf(status.CertificateNotAfter),
			quota: words.ReasonOf(status.Conditions, v1alpha1.ClientWithinQuota)})
	if equality.Semantic.DeepEqual(old, status) {
		return 0, nil
	}
	updated := c.DeepCopy()
	updated.Status = status
	stored, later, err := r.WriteStatus(ctx, c, updated)
	if stored {
		r.Tell(c, accessplan.Events(d, old, status))
	}
	return later, err
}

// Metrics tells Prometheus of each cluster how the EtcdClients are that name it. A cluster has one series for each
// reason that one of them has, and up to two more; namespace and name are the cluster's, as everywhere.
type Metrics struct{ kit.PerCluster[seenOfClient] }

// seenOfClient is the reason of the condition of a client, when its certificate ends, and the reason of WithinQuota;
// zero and empty: it has none.
type seenOfClient struct {
	reason string
	end    time.Time
	quota  string
}

var (
	clientsDesc = kit.ClusterMetric("client_objects",
		"Number of the cluster's EtcdClients, by the reason of their condition Ready.", "reason")
	endDesc = kit.ClusterMetric("client_certificate_expiry_timestamp_seconds",
		"When the first of the certificates of the cluster's EtcdClients expires, in seconds since 1970.")
	overDesc = kit.ClusterMetric("client_objects_over_quota",
		"Number of the cluster's EtcdClients whose keys took more than their quota in the newest backup.")
)

// NewMetrics makes the metrics and registers them. It fails when they are registered already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	return m, kit.Register(registry, "clients", m)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	kit.Describe(descs, clientsDesc, endDesc, overDesc)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for cluster, clients := range m.ByCluster() {
		series, counts, first := kit.Series{Out: metrics, Cluster: cluster}, map[string]int{}, time.Time{}
		for _, c := range clients {
			counts[c.reason]++
			if first.IsZero() || !c.end.IsZero() && c.end.Before(first) {
				first = c.end
			}
		}
		for reason, count := range counts {
			series.Gauge(clientsDesc, float64(count), reason)
		}
		if over, haveAny := overQuota(clients); haveAny {
			series.Gauge(overDesc, float64(over))
		}
		if !first.IsZero() {
			series.Gauge(endDesc, float64(first.Unix()))
		}
	}
}

// overQuota counts those that take more than their quota, where any has one.
func overQuota(clients []seenOfClient) (over int, haveAny bool) {
	for _, c := range clients {
		haveAny = haveAny || c.quota != ""
		if c.quota == accessplan.ReasonQuotaExceeded {
			over++
		}
	}
	return over, haveAny
}
