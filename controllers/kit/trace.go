package kit

import (
	"context"
	"errors"
	"reflect"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/controllers/apply"
)

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
