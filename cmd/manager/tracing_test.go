package main

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// spanStore is a collector on this machine.
type spanStore struct {
	collector.UnimplementedTraceServiceServer
	answer error
	asked  atomic.Int32
	spans  chan string // service and name of each
}

func (s *spanStore) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (
	*collector.ExportTraceServiceResponse, error) {
	s.asked.Add(1)
	for _, resource := range r.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				select {
				case s.spans <- service + " " + span.GetName():
				default: // of many that are refused a few are enough
				}
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, s.answer
}

// collect serves a collector that gives this answer, at the URL that it returns.
func collect(t *testing.T, answer error) (*spanStore, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	store, server := &spanStore{answer: answer, spans: make(chan string, 10)}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, store)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return store, "http://" + listener.Addr().String()
}

func TestTracesAreOffUnlessACollectorIsNamed(t *testing.T) {
	for _, name := range endpointVariables {
		t.Setenv(name, "")
	}
	tracer, stop, err := startTracing(t.Context(), "", logr.Discard())
	if tracer != nil || err != nil {
		t.Errorf("%v, %v", tracer, err)
	}
	stop()
}

func TestSpansReachTheCollectorOfTheFlagOrOfTheEnvironment(t *testing.T) {
	for name, isFlag := range map[string]bool{"--otlp-endpoint": true, endpointVariables[0]: false, endpointVariables[1]: false} {
		t.Run(name, func(t *testing.T) {
			store, address := collect(t, nil)
			flag := address
			if !isFlag {
				flag = ""
				t.Setenv(name, address)
			}
			tracer, stop, err := startTracing(t.Context(), flag, logr.Discard())
			if err != nil || tracer == nil {
				t.Fatalf("traces are not on: %v", err)
			}
			_, span := tracer.Start(t.Context(), "reconcile EtcdCluster")
			span.End()
			stop()
			select {
			case got := <-store.spans:
				if got != "etcd-steward reconcile EtcdCluster" {
					t.Errorf("%q arrived", got)
				}
			default:
				t.Error("no span arrived before the process ends")
			}
		})
	}
}

// It takes what is sent, and never answers.
func TestACollectorThatDoesNotAnswerHoldsUpNoPassAndHardlyTheEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1") // milliseconds
	tracer, stop, err := startTracing(t.Context(), "http://"+listener.Addr().String(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan time.Duration)
	go func() {
		for range 10_000 { // far more than the queue holds
			_, span := tracer.Start(t.Context(), "reconcile EtcdCluster")
			span.End()
		}
		begin := time.Now()
		stop()
		done <- time.Since(begin)
	}()
	select {
	case took := <-done:
		if took > 4*lastSpansTake {
			t.Errorf("the end was held up for %s", took)
		}
	case <-time.After(time.Minute):
		t.Fatal("passes wait for the collector")
	}
}

func TestTheLogTellsOnceThatTracesCannotBeSent(t *testing.T) {
	store, address := collect(t, status.Error(codes.InvalidArgument, "no room"))
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	var lines atomic.Int32
	last := make(chan string, 100)
	tracer, stop, err := startTracing(t.Context(), address, funcr.New(func(_, line string) {
		lines.Add(1)
		last <- line
	}, funcr.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); store.asked.Load() < 5; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d batches were sent", store.asked.Load())
		}
		_, span := tracer.Start(t.Context(), "reconcile EtcdCluster")
		span.End()
	}
	stop()
	if lines.Load() != 1 {
		t.Fatalf("the log has %d lines of %d failures", lines.Load(), store.asked.Load())
	}
	if line := <-last; !strings.Contains(line, address) || !strings.Contains(line, "no room") {
		t.Errorf("%s", line)
	}
}

func TestAnEndpointThatIsNoneIsRefusedByTheNameOfItsFlag(t *testing.T) {
	for _, good := range []string{"", "http://127.0.0.1:4317", "https://collector.observability:4317/", "http://[fd00::1]:4317"} {
		if err := parseEndpoint(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	bad := []string{"collector:4317", "http://collector", "grpc://collector:4317", "http://:4317", "http://a:4317/v1/traces",
		"http://user:secret@a:4317", "://"}
	for _, endpoint := range bad {
		if _, err := parseOptions([]string{"--otlp-endpoint=" + endpoint}); err == nil || !strings.Contains(err.Error(), "--otlp-endpoint") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
