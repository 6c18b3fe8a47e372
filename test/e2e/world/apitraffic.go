package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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

// watchesPerClient is how many informers of one kind a node or two have.
const watchesPerClient = 200

// APITraffic is a client of an API server: it creates and changes ConfigMaps in a namespace of its own, one request after
// the other, and has many watches of them meanwhile.
type APITraffic struct {
	server     *APIServer
	title      string
	configMaps typedcorev1.ConfigMapInterface
	watches    []*apiWatch

	stopWriting, stopWatching context.CancelFunc
	writing, watching         sync.WaitGroup

	current *corev1.ConfigMap // as it was acknowledged last; nil until one is

	mu           sync.Mutex
	acknowledged []string          // the versions that writes made, in order
	stored       map[string]string // the version of each ConfigMap, as it was acknowledged last
	last         time.Time         // when a write was acknowledged
	gap          time.Duration     // the longest without one
	failed       []string          // what the requests were told that no retry mended
	told         told              // what attempts were told that were not acknowledged
}

// Write starts a client and waits until it writes. It ends with the story at the latest. Its report has the title.
func (a *APIServer) Write(ctx context.Context, title string) *APITraffic {
	ginkgo.GinkgoHelper()
	namespace := a.makeNamespace(ctx)
	t := &APITraffic{
		server: a, title: title, configMaps: a.connect().ConfigMaps(namespace),
		last: time.Now(), stored: map[string]string{}, told: told{},
	}
	list, err := t.configMaps.List(ctx, metav1.ListOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(list.Items).To(gomega.BeEmpty(), "only the writer makes ConfigMaps")
	var writing, watching context.Context
	writing, t.stopWriting = context.WithCancel(context.Background())
	watching, t.stopWatching = context.WithCancel(context.Background())
	watched := a.connect().ConfigMaps(namespace) // the rate of one client is limited, and watches are not to hold writes up
	for range watchesPerClient {
		w := &apiWatch{configMaps: watched, resume: list.ResourceVersion, told: told{}}
		t.watches = append(t.watches, w)
		t.watching.Go(func() { w.run(watching) })
	}
	t.writing.Go(func() { t.write(writing) })
	ginkgo.DeferCleanup(func() {
		t.end()
		if ginkgo.CurrentSpecReport().Failed() {
			ginkgo.GinkgoWriter.Printf("\n---- the client of the API server, %s\n%s\n", t.title, t)
		}
	})
	t.Flow(ctx)
	return t
}

// connect is a client with a rate of its own. All of them share connections.
func (a *APIServer) connect() typedcorev1.CoreV1Interface {
	ginkgo.GinkgoHelper()
	clients, err := kubernetes.NewForConfig(a.config)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return clients.CoreV1()
}

// makeNamespace tries until the API server writes: its etcd may only just be there again.
func (a *APIServer) makeNamespace(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	var namespace *corev1.Namespace
	gomega.Eventually(ctx, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "written-"}}
		namespace, err = a.client.CoreV1().Namespaces().Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}).WithTimeout(Patience).Should(gomega.Succeed(), "the API server writes")
	return namespace.Name
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
			t.refused(err)
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

func (t *APITraffic) refused(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told.add(err)
}

// Flow waits until writes go on now, and each watch tells of them.
func (t *APITraffic) Flow(ctx context.Context) {
	ginkgo.GinkgoHelper()
	before := t.counted()
	gomega.Eventually(ctx, t.counted).WithTimeout(Patience).Should(gomega.BeNumerically(">=", before+flow),
		"writes and watches do not go on")
}

// counted is how many writes are acknowledged and told by each watch.
func (t *APITraffic) counted() int {
	t.mu.Lock()
	least := len(t.acknowledged)
	t.mu.Unlock()
	for _, w := range t.watches {
		least = min(least, w.count())
	}
	return least
}

// Rest ends the writing and expects that a retry mended each request that failed, that each watch told of each write
// once and in order, and that what is stored is what was acknowledged. The watches stay.
func (t *APITraffic) Rest(ctx context.Context) {
	ginkgo.GinkgoHelper()
	t.stopWriting()
	t.writing.Wait()
	defer t.report()
	gomega.Expect(t.failed).To(gomega.BeEmpty(), "requests that no retry mended")
	gomega.Eventually(ctx, t.checkWatches).WithTimeout(Patience).Should(gomega.Succeed())
	t.ExpectStored(ctx)
	gomega.Expect(t.server.process.checkRunning()).To(gomega.Succeed())
}

// Finish is Rest, and ends the watches.
func (t *APITraffic) Finish(ctx context.Context) {
	ginkgo.GinkgoHelper()
	t.Rest(ctx)
	t.end()
}

// ExpectStored expects what was acknowledged to be there.
func (t *APITraffic) ExpectStored(ctx context.Context) {
	ginkgo.GinkgoHelper()
	list, err := t.configMaps.List(ctx, metav1.ListOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	found := map[string]string{}
	for _, object := range list.Items {
		found[object.Name] = object.ResourceVersion
	}
	gomega.Expect(found).To(gomega.Equal(t.stored), "the ConfigMaps and their versions")
}

// AwaitExpired waits until each watch was told that what came after its version is not known any more, so that a client
// lists again. It says how the watches came to that.
func (t *APITraffic) AwaitExpired(ctx context.Context) {
	ginkgo.GinkgoHelper()
	defer t.report()
	gomega.Eventually(ctx, func() int {
		unaware := 0
		for _, w := range t.watches {
			if !w.isExpired() {
				unaware++
			}
		}
		return unaware
	}).WithTimeout(Patience).Should(gomega.BeZero(), "watches that do not know that the history is another one")
	t.end()
}

func (t *APITraffic) checkWatches() error {
	t.mu.Lock()
	acknowledged := slices.Clone(t.acknowledged)
	t.mu.Unlock()
	for i, w := range t.watches {
		if err := w.check(acknowledged); err != nil {
			return fmt.Errorf("watch %d: %w", i, err)
		}
	}
	return nil
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

func (t *APITraffic) report() {
	ginkgo.AddReportEntry("the client of the API server, "+t.title, t.String())
}

func (t *APITraffic) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("writes: %d acknowledged, %d failed, longest gap %s; attempts were told:%s\n%s",
		len(t.acknowledged), len(t.failed), t.gap.Round(time.Millisecond), t.told, summarize(t.watches))
}

// OnlyTold are the kinds of errors that attempts to write were told, and none of those of another client.
func OnlyTold(than *APITraffic, clients ...*APITraffic) []string {
	var kinds []string
	for _, t := range clients {
		for kind := range t.told {
			if than.told[kind] == 0 {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
