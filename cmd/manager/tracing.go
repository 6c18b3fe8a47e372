package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

const (
	untracedEvery = 10 * time.Minute // how often the log tells that traces cannot be sent
	lastSpansTake = 2 * time.Second  // how long sending the last spans may hold up the end of the process
)

// endpointVariables turn traces on as --otlp-endpoint does. OpenTelemetry reads them itself, with all its others.
var endpointVariables = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// parseEndpoint reads --otlp-endpoint. Empty stays empty.
func parseEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	parsed, err := url.Parse(endpoint)
	if err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" &&
		parsed.Port() != "" && parsed.User == nil && (parsed.Path == "" || parsed.Path == "/") {
		return nil
	}
	return fmt.Errorf("--otlp-endpoint %q is no address of a collector. Give a URL with a port, such as "+
		"http://collector.observability:4317, or https://… for TLS. Leave the flag out to turn traces off", endpoint)
}

// startTracing makes what sends spans to a collector in the background. A collector that does not answer costs spans,
// and holds up nothing. The tracer is nil where traces are off. Stop sends the spans that are left.
func startTracing(ctx context.Context, endpoint string, log logr.Logger) (tracer trace.Tracer, stop func(), err error) {
	var options []otlptracegrpc.Option
	if endpoint != "" {
		options = append(options, otlptracegrpc.WithEndpointURL(endpoint))
	} else if endpoint = cmp.Or(os.Getenv(endpointVariables[0]), os.Getenv(endpointVariables[1])); endpoint == "" {
		return nil, func() {}, nil
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing to send traces to %s: %w", endpoint, err)
	}
	self, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "etcd-steward"), attribute.String("service.version", version),
		attribute.String("k8s.namespace.name", os.Getenv("POD_NAMESPACE")),
		attribute.String("k8s.pod.name", os.Getenv("POD_NAME"))), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("naming this process in traces: %w", err)
	}
	otel.SetErrorHandler(untraced(endpoint, log))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))
	stop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpansTake)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}
	return provider.Tracer("etcd-steward"), stop, nil
}

// untraced tells that spans are lost, and not for each batch of them.
func untraced(endpoint string, log logr.Logger) otel.ErrorHandler {
	seldom := rate.Sometimes{First: 1, Interval: untracedEvery}
	return otel.ErrorHandlerFunc(func(err error) {
		seldom.Do(func() {
			log.Info("traces cannot be sent: the operator works on without them, and goes on trying", "endpoint",
				endpoint, "error", err.Error(), "try", "does a collector serve OTLP over gRPC there?")
		})
	})
}
