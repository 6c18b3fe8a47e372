package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// What a client of the API server may expect: one request is bounded, and is issued again until it is acknowledged. One
// that is not, so long after its first attempt, has failed.
const (
	requestTimeout = 2 * time.Second
	mendedWithin   = 5 * time.Second
)

const (
	requestsPerSecond = 10
	writesPerObject   = 20 // one creates it, the others change it
	numberKey         = "number"
)

// APITraffic is a client of an API server: it creates and changes ConfigMaps, one request after the other, and watches
// them meanwhile.
type APITraffic struct {
	server     *APIServer
	configMaps typedcorev1.ConfigMapInterface

	stopWriting, stopWatching context.CancelFunc
	writing, watching         sync.WaitGroup

	current *corev1.ConfigMap // as it was acknowledged last; nil until one is
	resume  string            // the version that the next watch goes on from

	mu           sync.Mutex
	acknowledged []string          // the versions that writes made, in order
	stored       map[string]string // the version of each ConfigMap, as it was acknowledged last
	last         time.Time         // when a write was acknowledged
	gap          time.Duration     // the longest without one
	failed       []string          // what the requests were told that no retry mended
	problems     map[string]int    // what attempts and watches were told
	seen         []string          // the versions that the watch told, in order
	watches      int               // how often it began
	missed       error             // why it cannot go on from where it was
}

// Write starts a client and waits until it writes. It ends with the story at the latest.
func (a *APIServer) Write(ctx context.Context) *APITraffic {
	ginkgo.GinkgoHelper()
	t := &APITraffic{
		server: a, configMaps: a.client.CoreV1().ConfigMaps(metav1.NamespaceDefault),
		last: time.Now(), stored: map[string]string{}, problems: map[string]int{},
	}
	list, err := t.configMaps.List(ctx, metav1.ListOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(list.Items).To(gomega.BeEmpty(), "only the writer makes ConfigMaps")
	t.resume = list.ResourceVersion
	var writing, watching context.Context
	writing, t.stopWriting = context.WithCancel(context.Background())
	watching, t.stopWatching = context.WithCancel(context.Background())
	t.watching.Go(func() { t.watch(watching) })
	t.writing.Go(func() { t.write(writing) })
	ginkgo.DeferCleanup(func() {
		t.end()
		if ginkgo.CurrentSpecReport().Failed() {
			ginkgo.GinkgoWriter.Printf("\n---- the client of the API server\n%s\n", t)
		}
	})
	t.Flow(ctx)
	return t
}

// write issues requests until ctx ends. The last one is still brought to its end: whether a request was stored that is
// given up midway would stay unknown.
func (t *APITraffic) write(ctx context.Context) {
	limit := rate.NewLimiter(requestsPerSecond, 1)
	for number := 0; limit.Wait(ctx) == nil; number++ {
		t.request(context.WithoutCancel(ctx), t.next(number))
	}
}

// next is what a write is to make: a new ConfigMap every now and then, and else the one before with another number.
func (t *APITraffic) next(number int) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("written-%06d", number)}}
	if t.current != nil && number%writesPerObject != 0 {
		object = t.current.DeepCopy()
	}
	object.Data = map[string]string{numberKey: strconv.Itoa(number)}
	return object
}

// request issues the same write until it is acknowledged or has failed.
func (t *APITraffic) request(ctx context.Context, object *corev1.ConfigMap) {
	ctx, cancel := context.WithTimeout(ctx, mendedWithin)
	defer cancel()
	var told error
	for ctx.Err() == nil {
		stored, err := t.try(ctx, object)
		if err == nil {
			t.acknowledge(stored)
			return
		}
		if ctx.Err() == nil || told == nil { // else it is only told that its time is over
			told = err
			t.problem(err)
		}
		pause(ctx)
	}
	t.fail(object, told)
}

// try issues a write once. What is there already, or was changed since, may be what an earlier attempt wrote whose
// answer was lost: there is no other writer.
func (t *APITraffic) try(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var stored *corev1.ConfigMap
	var err error
	if object.ResourceVersion == "" {
		stored, err = t.configMaps.Create(ctx, object, metav1.CreateOptions{})
	} else {
		stored, err = t.configMaps.Update(ctx, object, metav1.UpdateOptions{})
	}
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return stored, err
	}
	found, readErr := t.configMaps.Get(ctx, object.Name, metav1.GetOptions{})
	if readErr != nil {
		return nil, fmt.Errorf("reading what an earlier attempt may have written: %w", readErr)
	}
	if found.Data[numberKey] != object.Data[numberKey] {
		return nil, err
	}
	return found, nil
}

func (t *APITraffic) acknowledge(stored *corev1.ConfigMap) {
	t.current = stored
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.gap, t.last = max(t.gap, now.Sub(t.last)), now
	t.acknowledged = append(t.acknowledged, stored.ResourceVersion)
	t.stored[stored.Name] = stored.ResourceVersion
}

// fail leaves the ConfigMap alone from then on: what the request did to it is unknown.
func (t *APITraffic) fail(object *corev1.ConfigMap, told error) {
	t.current = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = append(t.failed, fmt.Sprintf("%s with number %s: %v", object.Name, object.Data[numberKey], told))
}

func (t *APITraffic) problem(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems[err.Error()]++
}

// watch begins a new watch whenever one ends, from the version it saw last. It gives up where the API server does not
// know any more what came after that.
func (t *APITraffic) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := t.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			t.mu.Lock()
			t.missed = err
			t.mu.Unlock()
			return
		case err != nil:
			t.problem(err)
		}
		pause(ctx)
	}
}

// follow watches once, until the watch ends.
func (t *APITraffic) follow(ctx context.Context) error {
	events, err := t.configMaps.Watch(ctx, metav1.ListOptions{ResourceVersion: t.resume})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	defer events.Stop()
	t.mu.Lock()
	t.watches++
	t.mu.Unlock()
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("the watch was told: %w", apierrors.FromObject(event.Object))
		}
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return fmt.Errorf("the watch was told %s of a %T", event.Type, event.Object)
		}
		t.resume = object.ResourceVersion
		t.mu.Lock()
		t.seen = append(t.seen, object.ResourceVersion)
		t.mu.Unlock()
	}
	return nil
}

// Flow waits until writes go on now, and the watch tells of them.
func (t *APITraffic) Flow(ctx context.Context) {
	ginkgo.GinkgoHelper()
	before, _ := t.counts()
	gomega.Eventually(ctx, func() int {
		acknowledged, seen := t.counts()
		return min(acknowledged, seen)
	}).WithTimeout(Patience).Should(gomega.BeNumerically(">=", before+flow), "writes and the watch do not go on")
}

func (t *APITraffic) counts() (acknowledged, seen int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.acknowledged), len(t.seen)
}

// Finish ends the writing and expects that a retry mended each request that failed, that the watch told of each write
// once and in order, and that what is stored is what was acknowledged.
func (t *APITraffic) Finish(ctx context.Context) {
	ginkgo.GinkgoHelper()
	t.stopWriting()
	t.writing.Wait()
	defer func() { ginkgo.AddReportEntry("the client of the API server", t.String()) }()
	gomega.Expect(t.failed).To(gomega.BeEmpty(), "requests that no retry mended")
	gomega.Eventually(ctx, t.checkWatch).WithTimeout(Patience).Should(gomega.Succeed())
	t.end()
	list, err := t.configMaps.List(ctx, metav1.ListOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	found := map[string]string{}
	for _, object := range list.Items {
		found[object.Name] = object.ResourceVersion
	}
	gomega.Expect(found).To(gomega.Equal(t.stored), "the ConfigMaps and their versions")
	gomega.Expect(t.server.checkRunning()).To(gomega.Succeed())
}

func (t *APITraffic) checkWatch() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.missed != nil {
		return gomega.StopTrying("the watch cannot go on from where it was").Wrap(t.missed)
	}
	return checkSeen(t.acknowledged, t.seen)
}

// checkSeen says what speaks against a watch that told of each write once, in the order in which etcd stored them.
func checkSeen(acknowledged, seen []string) error {
	before := uint64(0)
	for i, version := range acknowledged {
		now, err := strconv.ParseUint(version, 10, 64)
		if err != nil {
			return fmt.Errorf("reading the version that write %d made: %w", i, err)
		}
		switch {
		case now <= before:
			return fmt.Errorf("write %d made version %d, after %d", i, now, before)
		case i >= len(seen):
			return fmt.Errorf("the watch told of %d writes out of %d", len(seen), len(acknowledged))
		case seen[i] != version:
			return fmt.Errorf("write %d made version %s, and the watch told of %s there", i, version, seen[i])
		}
		before = now
	}
	if extra := len(seen) - len(acknowledged); extra > 0 {
		return fmt.Errorf("the watch told of %d more than what was acknowledged", extra)
	}
	return nil
}

// end may be called more than once.
func (t *APITraffic) end() {
	t.stopWriting()
	t.writing.Wait()
	t.stopWatching()
	t.watching.Wait()
}

func (t *APITraffic) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "acknowledged %d, failed %d, longest gap %s; the watch told of %d, began %d times, missed: %v",
		len(t.acknowledged), len(t.failed), t.gap.Round(time.Millisecond), len(t.seen), t.watches, t.missed)
	for _, told := range slices.Sorted(maps.Keys(t.problems)) {
		fmt.Fprintf(&text, "\n  %d × %s", t.problems[told], told)
	}
	return text.String()
}
