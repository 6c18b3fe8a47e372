package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inPod is what the other end of a tunnel does.
type inPod func(data, problems httpstream.Stream)

// overSPDY is an API server before there were WebSockets, which forwards to a port of demo-1.
func overSPDY(t *testing.T, answer inPod) *session {
	t.Helper()
	return connected(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/prod/pods/demo-1/portforward" {
			http.Error(w, "it takes SPDY alone", http.StatusBadRequest)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			t.Error(err)
			return
		}
		streams := make(chan httpstream.Stream, 2)
		all := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if all == nil {
			t.Error("the connection is not upgraded")
			return
		}
		defer all.Close()
		problems, data := <-streams, <-streams
		if problems.Headers().Get(corev1.StreamType) != corev1.StreamTypeError || data.Headers().Get(corev1.PortHeader) != "2379" {
			t.Errorf("streams are %v and %v", problems.Headers(), data.Headers())
		}
		answer(data, problems)
		<-all.CloseChan()
	})
}

// connected is a session with an API server on this machine, by the real client.
func connected(t *testing.T, answer http.HandlerFunc) *session {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.CloseClientConnections)
	t.Setenv("KUBECONFIG", "/dev/null")
	flags := genericclioptions.NewConfigFlags(false)
	*flags.APIServer, *flags.Namespace = server.URL, "prod"
	s, err := connect(flags)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var demo1 = client.ObjectKey{Namespace: "prod", Name: "demo-1"}

func TestATunnelLeadsToThePortForClientsAlsoWithoutWebSockets(t *testing.T) {
	s := overSPDY(t, func(data, problems httpstream.Stream) {
		heard := make([]byte, len("hello"))
		_, _ = io.ReadFull(data, heard)
		_, _ = data.Write([]byte(strings.ToUpper(string(heard))))
		_, _ = data.Close(), problems.Close()
	})
	conn, err := s.dial(t.Context(), demo1)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(conn); err != nil || string(heard) != "HELLO" {
		t.Errorf("%q, %v", heard, err)
	}
}

func TestWhatCannotBeDoneInThePodIsSaid(t *testing.T) {
	s := overSPDY(t, func(data, problems httpstream.Stream) {
		_, _ = problems.Write([]byte("connect: connection refused"))
		_, _ = problems.Close(), data.Close()
	})
	conn, err := s.dial(t.Context(), demo1)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadAll(conn); err == nil || err.Error() != "connect: connection refused" {
		t.Errorf("got %v", err)
	}
}

func TestARightToForwardThatIsMissingIsNamed(t *testing.T) {
	s := connected(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
			Message: `pods "demo-1" is forbidden: User "ann" cannot create resource "pods/portforward" in API group "" in the namespace "prod"`})
	})
	_, err := s.dial(t.Context(), demo1)
	if said := explain(err, "prod"); said == nil || !strings.Contains(said.Error(), "you may not create pods/portforward in namespace prod") {
		t.Errorf("got %v", said)
	}
}

func TestAPersonWhoPressesCtrlCDoesNotWaitForTheAPIServer(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	s := connected(t, func(http.ResponseWriter, *http.Request) { <-released })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.dial(ctx, demo1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
