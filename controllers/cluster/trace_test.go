package cluster

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// traced makes passes with a tracer, and returns the span of each.
func (w *world) traced() (recorder *tracetest.SpanRecorder) {
	recorder = tracetest.NewSpanRecorder()
	w.operator.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	return recorder
}

func (w *world) tracedPass() error {
	_, err := w.operator.Traced(w.cluster(), w.operator).Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	return err
}

// attributesOf are those of the only span there is.
func attributesOf(t *testing.T, recorder *tracetest.SpanRecorder) map[string]string {
	t.Helper()
	if len(recorder.Ended()) != 1 {
		t.Fatalf("there are %d spans", len(recorder.Ended()))
	}
	found := map[string]string{}
	for _, a := range recorder.Ended()[0].Attributes() {
		found[string(a.Key)] = a.Value.String()
	}
	return found
}

func TestASpanTellsOfWhichClusterAPassWasWhichRuleSpokeAndWhatCameOfItsChange(t *testing.T) {
	w := newWorld(t, demo(3))
	spans := w.traced()
	if err := w.tracedPass(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"k8s.namespace.name": "shop", "etcdsteward.name": "demo", "etcdsteward.verdict": "Act",
		"etcdsteward.rule": "birth-record", "etcdsteward.reason": "BeginBootstrap", "etcdsteward.change": "BeginBootstrap",
		"etcdsteward.result": "applied"}
	if got := attributesOf(t, spans); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if span := spans.Ended()[0]; span.Name() != "reconcile EtcdCluster" || span.Status().Code != codes.Unset {
		t.Errorf("%s %v", span.Name(), span.Status())
	}
}

func TestTheSpanOfAPassThatFailsIsAnError(t *testing.T) {
	w := newWorld(t, demo(3))
	spans := w.traced()
	w.onWrite = func(string) error { return errors.New("no route to the API server") }
	err := w.tracedPass()
	if err == nil {
		t.Fatal("the pass did not fail")
	}
	if got := attributesOf(t, spans); got["etcdsteward.change"] != "BeginBootstrap" || got["etcdsteward.result"] != "failed" {
		t.Errorf("%v", got)
	}
	if s := spans.Ended()[0].Status(); s.Code != codes.Error || s.Description != err.Error() {
		t.Errorf("%v", s)
	}
}

func TestWithoutATracerAPassIsNotWrapped(t *testing.T) {
	w := newWorld(t, demo(3))
	if got := fmt.Sprintf("%T", w.operator.Traced(w.cluster(), w.operator)); got != "*cluster.Reconciler" {
		t.Errorf("it is a %s", got)
	}
}
