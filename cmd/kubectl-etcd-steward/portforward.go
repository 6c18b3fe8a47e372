package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// forwarding connects to etcd in a Pod through the API server, as kubectl port-forward does: over a WebSocket, and over
// SPDY where the API server or a proxy takes none.
func forwarding(config *rest.Config, pods rest.Interface) func(context.Context, client.ObjectKey) (net.Conn, error) {
	return func(ctx context.Context, pod client.ObjectKey) (net.Conn, error) {
		dialer, err := dialerTo(config, pods, pod)
		if err != nil {
			return nil, fmt.Errorf("preparing to ask the API server: %w", err)
		}
		type answer struct {
			conn net.Conn
			err  error
		}
		answers := make(chan answer, 1)
		go func() {
			conn, err := openTunnel(dialer)
			if ctx.Err() != nil && conn != nil {
				conn.Close()
			}
			answers <- answer{conn, err}
		}()
		select {
		case a := <-answers:
			return a.conn, a.err
		case <-ctx.Done(): // a dialer takes no context
			return nil, ctx.Err()
		}
	}
}

func dialerTo(config *rest.Config, pods rest.Interface, pod client.ObjectKey) (httpstream.Dialer, error) {
	to := pods.Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// tunnel is one connection to a Pod. What cannot be done inside the Pod comes as text, on a stream of its own.
type tunnel struct {
	httpstream.Stream

	all  httpstream.Connection
	said <-chan string
}

func openTunnel(dialer httpstream.Dialer) (net.Conn, error) {
	all, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	switch {
	case err != nil && lack.MatchString(err.Error()): // all that is left of an answer of the API server is its text
		return nil, apierrors.NewForbidden(corev1.Resource("pods"), "", err)
	case err != nil:
		return nil, err
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(etcdutil.ClientPort))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := all.CreateStream(headers)
	if err != nil {
		all.Close()
		return nil, fmt.Errorf("opening a stream to the Pod: %w", err)
	}
	problems.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := all.CreateStream(headers)
	if err != nil {
		all.Close()
		return nil, fmt.Errorf("opening a stream to the Pod: %w", err)
	}
	said := make(chan string, 1)
	go func() {
		defer close(said)
		if text, _ := io.ReadAll(problems); len(text) > 0 {
			said <- string(text)
		}
	}()
	return &tunnel{Stream: data, all: all, said: said}, nil
}

// Read says why the other end is closed, where that is told.
func (t *tunnel) Read(b []byte) (int, error) {
	n, err := t.Stream.Read(b)
	if err == nil {
		return n, nil
	}
	select {
	case why := <-t.said:
		if why != "" {
			err = errors.New(why)
		}
	case <-time.After(time.Second):
	}
	return n, err
}

// Close ends all streams.
func (t *tunnel) Close() error { return t.all.Close() }

// What else a connection has: TLS asks for it.

func (t *tunnel) LocalAddr() net.Addr              { return tunnelled{} }
func (t *tunnel) RemoteAddr() net.Addr             { return tunnelled{} }
func (t *tunnel) SetDeadline(time.Time) error      { return nil }
func (t *tunnel) SetReadDeadline(time.Time) error  { return nil }
func (t *tunnel) SetWriteDeadline(time.Time) error { return nil }

type tunnelled struct{}

func (tunnelled) Network() string { return "portforward" }
func (tunnelled) String() string  { return "portforward" }
