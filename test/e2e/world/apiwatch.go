package world

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// apiWatch follows ConfigMaps as an informer does: whenever a watch ends, the next one goes on from what was told last.
type apiWatch struct {
	configMaps typedcorev1.ConfigMapInterface
	resume     string // the version that the next watch goes on from

	mu      sync.Mutex
	seen    []string      // the versions that were told, in order
	last    time.Time     // when one was told
	silence time.Duration // the longest between two
	begun   int           // how often it began
	told    told          // what ended it, and why it did not begin
	expired error         // why it cannot go on from where it was
}

// run begins a new watch whenever one ends. It gives up where the API server does not know any more what came after.
func (w *apiWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		w.ended(err)
		if w.isExpired() {
			return
		}
		w.pause(ctx)
	}
}

// pause is as long as that of informers, and not the same for all: they end at once.
func (w *apiWatch) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second/2 + rand.N(time.Second/2)):
	}
}

func (w *apiWatch) ended(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		w.expired = err
	case err != nil:
		w.told.add(err)
	}
}

// follow watches once, until the watch ends.
func (w *apiWatch) follow(ctx context.Context) error {
	events, err := w.configMaps.Watch(ctx, metav1.ListOptions{ResourceVersion: w.resume})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	defer events.Stop()
	w.mu.Lock()
	w.begun++
	w.mu.Unlock()
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("the watch was told: %w", apierrors.FromObject(event.Object))
		}
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return fmt.Errorf("the watch was told %s of a %T", event.Type, event.Object)
		}
		w.resume = object.ResourceVersion
		w.saw(object.ResourceVersion, time.Now())
	}
	return nil
}

func (w *apiWatch) saw(version string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.last.IsZero() {
		w.silence = max(w.silence, now.Sub(w.last))
	}
	w.seen, w.last = append(w.seen, version), now
}

func (w *apiWatch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

func (w *apiWatch) isExpired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expired != nil
}

func (w *apiWatch) check(acknowledged []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expired != nil {
		return gomega.StopTrying("it cannot go on from where it was").Wrap(w.expired)
	}
	return checkSeen(acknowledged, w.seen)
}

// summarize says of many watches what they were told.
func summarize(watches []*apiWatch) string {
	begun, expired, silence, all := 0, 0, time.Duration(0), told{}
	for _, w := range watches {
		w.mu.Lock()
		begun, silence = begun+w.begun, max(silence, w.silence)
		if w.expired != nil {
			expired++
		}
		for kind, times := range w.told {
			all[kind] += times
		}
		w.mu.Unlock()
	}
	return fmt.Sprintf("watches: %d, began %d times, expired %d, longest silence %s; they were told:%s",
		len(watches), begun, expired, silence.Round(time.Millisecond), all)
}

// told is how often something was told, by its kind.
type told map[string]int

func (t told) add(err error) { t[kindOf(err)]++ }

func (t told) String() string {
	if len(t) == 0 {
		return " nothing else"
	}
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&text, "\n  %d × %s", t[kind], kind)
	}
	return text.String()
}

// kindOf is what is said without what differs from one time to the next: the object, addresses and numbers of versions.
func kindOf(err error) string {
	var status apierrors.APIStatus
	said := err.Error()
	switch {
	case errors.As(err, &status):
		said = fmt.Sprintf("%d %s", status.Status().Code, status.Status().Message)
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return changing.ReplaceAllString(said, "…")
}

var changing = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(:[0-9]+)?|written-[a-z0-9]+|[0-9]{4,}`)
