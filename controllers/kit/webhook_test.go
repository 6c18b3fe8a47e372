package kit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// flood is how many requests come at once, or within a second.
const flood = 200

// isPassedOver reports an object that is accepted because too many are asked about.
func isPassedOver(response admission.Response) bool {
	return response.Allowed && len(response.Warnings) == 1 && strings.Contains(response.Warnings[0], "is asked about more objects than")
}

func TestInAFloodFewRequestsAreLookedAtAtOnceAndAllOthersAreAcceptedWithoutAWait(t *testing.T) {
	webhook := NewWebhook()
	looking, goOn := make(chan struct{}, flood), make(chan struct{})
	handler := served(t, webhook, func(context.Context, *v1alpha1.EtcdCluster, *v1alpha1.EtcdCluster) (Said, error) {
		if looking <- struct{}{}; len(looking) > admitsAtOnce {
			return Said{}, errors.New("too many look at once")
		}
		<-goOn
		return Said{}, nil
	})
	answered := make(chan admission.Response, flood)
	var all sync.WaitGroup
	for range flood {
		request := asked(t, 0, 1)
		all.Go(func() { answered <- handler.Handle(t.Context(), request) })
	}
	for range flood - admitsAtOnce { // these are answered while the others still look
		if response := <-answered; !isPassedOver(response) {
			t.Fatalf("%+v", response)
		}
	}
	close(goOn)
	all.Wait()
	for range admitsAtOnce {
		if response := <-answered; !response.Allowed || len(response.Warnings) > 0 {
			t.Errorf("%+v", response)
		}
	}
	if len(looking) != admitsAtOnce {
		t.Errorf("%d look at once", len(looking))
	}
}

func TestInAFloodSoManyRequestsAreLookedAtInASecondAndEachSecondAgain(t *testing.T) {
	now := time.Now()
	webhook := NewWebhook()
	webhook.now = func() time.Time { return now }
	looked := 0
	handler := served(t, webhook, func(_ context.Context, _, c *v1alpha1.EtcdCluster) (Said, error) {
		if looked++; c.Generation == 2 {
			panic("a bug")
		}
		return Said{}, nil
	})
	for second, want := range []int{admitsInABurst, admitsASecond, admitsASecond} {
		before, passedOver := looked, 0
		for i := range flood {
			if isPassedOver(handler.Handle(t.Context(), asked(t, 0, 1+int64(i%2)))) {
				passedOver++
			}
		}
		if looked-before != want || passedOver != flood-want {
			t.Errorf("second %d: %d are looked at, %d are passed over", second, looked-before, passedOver)
		}
		now = now.Add(time.Second)
	}
}
