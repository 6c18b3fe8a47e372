package images

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// WaitReady waits until the containerd behind a socket serves.
func WaitReady(ctx context.Context, socket string, timeout time.Duration) error {
	return wait(ctx, timeout, func(ctx context.Context) error {
		_, err := Ctr(ctx, socket, "namespaces", "list", "-q")
		return err
	})
}

// WaitRuntimeReady waits until it serves kubelets too, which it does last: after a loss of power it first looks at every
// container that was on the node, and a kubelet that asks before that ends.
func WaitRuntimeReady(ctx context.Context, socket string, timeout time.Duration) error {
	return wait(ctx, timeout, func(ctx context.Context) error { return askRuntime(ctx, socket) })
}

func wait(ctx context.Context, timeout time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	const pause = 50 * time.Millisecond
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for containerd: %w", err)
		case <-time.After(pause):
		}
	}
}

// askRuntime asks for the version as a kubelet does first of all (kubernetes/cri-api:pkg/apis/runtime/v1). The request is
// empty, so its gRPC frame is five zeroes, and the answer is in the trailer.
func askRuntime(ctx context.Context, socket string) error {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://containerd/runtime.v1.RuntimeService/Version", bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	for _, answer := range []http.Header{response.Trailer, response.Header} { // an error alone is in the header
		if code := answer.Get("Grpc-Status"); code != "" && code != "0" {
			return fmt.Errorf("the runtime answers %s: %s", code, answer.Get("Grpc-Message"))
		}
	}
	if response.Trailer.Get("Grpc-Status") == "" {
		return fmt.Errorf("the runtime answers %s", response.Status)
	}
	return nil
}
