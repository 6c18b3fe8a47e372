package kit

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// MetricPrefix begins the name of every metric.
const MetricPrefix = "etcdsteward_"

// ClusterMetric is a metric of clusters: its first labels are the cluster's namespace and name.
func ClusterMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(MetricPrefix+name, help, append([]string{"namespace", "name"}, labels...), nil)
}

// Series writes the series of one cluster.
type Series struct {
	Out     chan<- prometheus.Metric
	Cluster types.NamespacedName
}

// Gauge writes one value.
func (s Series) Gauge(desc *prometheus.Desc, value float64, labels ...string) {
	labels = append([]string{s.Cluster.Namespace, s.Cluster.Name}, labels...)
	s.Out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// PerCluster is what is remembered of objects that each belong to a cluster, for the metrics of clusters. The zero
// value is empty.
type PerCluster[V any] struct{ kept Kept[ofCluster[V]] }

type ofCluster[V any] struct {
	cluster types.NamespacedName
	value   V
}

// Observe takes what a pass saw of an object, which belongs to a cluster of its own namespace.
func (p *PerCluster[V]) Observe(object types.NamespacedName, cluster string, value V) {
	p.kept.Set(object, ofCluster[V]{types.NamespacedName{Namespace: object.Namespace, Name: cluster}, value})
}

// Forget drops an object that is gone.
func (p *PerCluster[V]) Forget(object types.NamespacedName) { p.kept.Forget(object) }

// ByCluster is what is remembered now.
func (p *PerCluster[V]) ByCluster() map[types.NamespacedName][]V {
	p.kept.mu.Lock()
	defer p.kept.mu.Unlock()
	all := map[types.NamespacedName][]V{}
	for _, kept := range p.kept.byObject {
		all[kept.cluster] = append(all[kept.cluster], kept.value)
	}
	return all
}

// Register registers the collectors of a wing. It fails when they are registered already.
func Register(registry prometheus.Registerer, wing string, collectors ...prometheus.Collector) error {
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("registering the metrics of %s: %w", wing, err)
		}
	}
	return nil
}

// Describe tells Prometheus which metrics a collector has.
func Describe(descs chan<- *prometheus.Desc, all ...*prometheus.Desc) {
	for _, d := range all {
		descs <- d
	}
}
