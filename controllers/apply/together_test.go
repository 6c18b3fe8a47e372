package apply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestNothingBeforeThePodsOfABootstrapWaitsInLine lets the first certificate of each kind, and the first volume, be
// made only once all three are asked for.
func TestNothingBeforeThePodsOfABootstrapWaitsInLine(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	var asked sync.Map
	var meeting sync.WaitGroup
	meeting.Add(3)
	met := make(chan struct{})
	go func() { meeting.Wait(); close(met) }()
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{Create: func(ctx context.Context, c ctrlclient.WithWatch,
		object ctrlclient.Object, opts ...ctrlclient.CreateOption) error {
		kind := kindOfBootstrap(object.GetName())
		if kind == "" {
			return c.Create(ctx, object, opts...)
		}
		if _, isKnown := asked.LoadOrStore(kind, true); !isKnown {
			meeting.Done()
		}
		select {
		case <-met:
			return c.Create(ctx, object, opts...)
		case <-time.After(10 * time.Second):
			return errors.New(kind + " waits for the others")
		}
	}})
	w.mustDo(t, unmade(), bootstrap(w.cluster))
}

// On a busy API server each read is as long a wait as a write.
func TestABootstrapReadsNothingButItsRecord(t *testing.T) {
	w := newWorld(t, demo())
	w.mustDo(t, bootstrapped(), begin())
	w.failing(0, false)
	w.mustDo(t, unmade(), bootstrap(w.cluster))
	var reads []string
	for _, call := range w.calls {
		if strings.HasPrefix(call, "get ") || strings.HasPrefix(call, "list ") {
			reads = append(reads, call)
		}
	}
	if want := []string{"get *v1.Service demo-peers"}; !slices.Equal(reads, want) {
		t.Errorf("it reads %q, want %q", reads, want)
	}
}

// kindOfBootstrap tells members' Secrets, those of clients and the operator, and volumes apart.
func kindOfBootstrap(name string) string {
	switch {
	case name == "demo-client-tls" || name == "demo-operator-tls":
		return "the certificates of clients"
	case strings.HasSuffix(name, "-tls"):
		return "the certificates of members"
	case name == "demo-0" || name == "demo-1" || name == "demo-2":
		return "the volumes"
	}
	return ""
}
