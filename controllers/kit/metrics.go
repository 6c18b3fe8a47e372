package kit

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/controllers/apply"
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
	p.ObserveOf(object, types.NamespacedName{Namespace: object.Namespace, Name: cluster}, value)
}

// ObserveOf does the same of an object whose cluster may be in another namespace.
func (p *PerCluster[V]) ObserveOf(object, cluster types.NamespacedName, value V) {
	p.kept.Set(object, ofCluster[V]{cluster, value})
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

// attributePrefix begins the name of each attribute that is the operator's own.
const attributePrefix = "etcdsteward."

// Traced makes a span of each pass over an object of this kind. Where traces are off it is the reconciler itself.
func (f *Frame) Traced(object client.Object, reconciler reconcile.Reconciler) reconcile.Reconciler {
	if f.Tracer == nil {
		return reconciler
	}
	name := "reconcile " + kindOf(object)
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		ctx, span := f.Tracer.Start(ctx, name, trace.WithAttributes(
			attribute.String("k8s.namespace.name", request.Namespace),
			attribute.String(attributePrefix+"name", request.Name)))
		defer span.End()
		result, err := reconciler.Reconcile(ctx, request)
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		return result, err
	})
}

// Pass is what the span of a pass tells beside the name of its object. Empty fields are left out. No field holds what a
// Secret or a key of etcd holds.
type Pass struct {
	Verdict string // of the rule
	Rule    string // that spoke
	Reason  string
	Change  string // what was tried, or what a dry run would try
	Result  string // of the change
}

// Trace writes on the span of this pass. A later call overwrites what it tells as well.
func (p Pass) Trace(ctx context.Context) {
	var attributes []attribute.KeyValue
	for _, a := range [][2]string{{"verdict", p.Verdict}, {"rule", p.Rule}, {"reason", p.Reason},
		{"change", p.Change}, {"result", p.Result}} {
		if a[1] != "" {
			attributes = append(attributes, attribute.String(attributePrefix+a[0], a[1]))
		}
	}
	trace.SpanFromContext(ctx).SetAttributes(attributes...)
}

// traceChange tells what came of a change of a backup or of a schedule, in the words of report.Outcome.
func traceChange(ctx context.Context, change any, err error) {
	pass := Pass{Change: reflect.TypeOf(change).Name(), Result: "failed"}
	switch {
	case err == nil:
		pass.Result = "applied"
	case errors.Is(err, apply.ErrStale), errors.As(err, new(apply.Later)):
		pass.Result = "deferred"
	case errors.As(err, new(apply.Rejected)):
		pass.Result = "rejected"
	}
	pass.Trace(ctx)
}
