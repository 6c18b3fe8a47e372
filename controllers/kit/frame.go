// Package kit holds what the wings share: the frame of a pass, what makes one begin, the writers of status and events,
// what is remembered of objects, and the series of metrics.
package kit

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
)

// How long until the next pass, where the decision does not say.
const (
	AfterChange   = 5 * time.Millisecond   // the cache has to hear of what was just written
	AfterStale    = 100 * time.Millisecond // the world moved under the decision
	AfterRejected = 10 * time.Second       // the platform, or an object of another owner, is in the way
)

// Frame is what all reconcilers have in common: each looks at one object, decides on one change, makes it, and tells.
type Frame struct {
	Client   client.Client // reads from the cache, writes to the API server
	Live     client.Reader // reads from the API server
	Recorder events.EventRecorder
	Operator string // namespace/name by which this install claims clusters
	Now      func() time.Time
	Own      func() time.Time // the clock of this machine; nil: Now is
	Unseen   *UnseenWrites
	Tracer   trace.Tracer // of passes; nil where traces are off
	apply.Platform
}

// Install is one install of the operator.
type Install struct {
	Operator string           // namespace/name by which it claims clusters
	Now      func() time.Time // see ServerClock
	Lease    *Lease           // nil where no leader is elected
	Webhook  *Webhook         // answers the API server about objects before it stores them; nil: it does not ask
	Watches  []string         // the namespaces that it looks after; empty for all
	Tracer   trace.Tracer     // of passes; nil where traces are off
	apply.Platform
}

// NewFrame makes a frame that reads and writes through a manager.
func NewFrame(mgr ctrl.Manager, install Install) Frame {
	return Frame{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Operator: install.Operator, Now: install.Now, Own: time.Now,
		Unseen: NewUnseenWrites(time.Now), Tracer: install.Tracer, Platform: install.Platform,
	}
}

// Limits of passes. The back-off is for errors only; expected waits say themselves when to look again.
const (
	passTimeout    = 30 * time.Second
	firstBackoff   = 200 * time.Millisecond
	longestBackoff = 30 * time.Second
)

// Kind is what a controller of the operator is about.
type Kind struct {
	Name     string // of the controller
	Object   client.Object
	Word     string // for the log
	Parallel int    // passes at once
	IsTold   func(client.Object) bool
	// Everywhere has each replica make passes, also those that do not lead.
	Everywhere bool
}

// ControllerOf begins a controller with what all of the operator's have.
func ControllerOf(mgr ctrl.Manager, k Kind) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		Named(k.Name).
		For(k.Object, builder.WithPredicates(Changed(k.IsTold))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: k.Parallel,
			NeedLeaderElection:      new(!k.Everywhere),
			ReconciliationTimeout:   passTimeout,
			RecoverPanic:            new(true),
			LogConstructor:          loggerOf(mgr.GetLogger(), k.Word),
			EnableWarmup:            new(true), // a standby has its caches filled when it takes over
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				firstBackoff, longestBackoff),
		})
}

// loggerOf names the object in each line, and nothing that is the same in all of them.
func loggerOf(logger logr.Logger, word string) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return logger
		}
		return logger.WithValues("namespace", request.Namespace, word, request.Name)
	}
}

// Changed lets through what changes the spec or asks for something by annotation, deletion included. Our own writes of
// the status begin no pass, unless it was taken away.
func Changed(isTold func(client.Object) bool) predicate.Predicate {
	statusLost := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectNew != nil && !isTold(e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)
}

// ByLabel maps an object to the one that a label of it names, in the same namespace.
func ByLabel(label string) handler.EventHandler {
	return ByLabels(func(labels map[string]string) string { return labels[label] })
}

// ByLabels does the same where the name is found otherwise in its labels.
func ByLabels(nameIn func(labels map[string]string) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := nameIn(object.GetLabels())
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
	})
}

// Lease is the Lease by which the replicas of an install elect their leader, and what this process calls itself in it.
type Lease struct {
	types.NamespacedName
	Identity string
	// Now is this machine's own clock. The holder wrote renewTime by it, so that the two compare whatever time other
	// machines have.
	Now func() time.Time
	// IsSilent reports whether the holder did not renew the Lease for so long, and waits until that can be said. It is
	// false where the Lease cannot be read.
	IsSilent func(ctx context.Context, long time.Duration) bool
}

// Kept is what is remembered of objects until they are gone. It decides nothing but how soon something is done. It is
// safe for concurrent use; the zero value is empty.
type Kept[V any] struct {
	mu       sync.Mutex
	byObject map[types.NamespacedName]V
}

// Get is what is remembered of an object.
func (k *Kept[V]) Get(key types.NamespacedName) (value V, isKept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	value, isKept = k.byObject[key]
	return value, isKept
}

// Set remembers something of an object.
func (k *Kept[V]) Set(key types.NamespacedName, value V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byObject == nil {
		k.byObject = map[types.NamespacedName]V{}
	}
	k.byObject[key] = value
}

// Forget drops what is remembered of an object, and reports whether there was something.
func (k *Kept[V]) Forget(key types.NamespacedName) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, isKept := k.byObject[key]
	delete(k.byObject, key)
	return isKept
}

// Pace remembers when something was last done for an object.
type Pace struct{ Kept[time.Time] }

// Rest is how long is left until the interval since the last time is over; zero when it is.
func (p *Pace) Rest(key types.NamespacedName, now time.Time, interval time.Duration) time.Duration {
	last, isKept := p.Get(key)
	if !isKept {
		return 0
	}
	return max(0, interval-now.Sub(last))
}

// leastOffset is how far this machine's clock has to be off before it is corrected: the header has whole seconds.
const leastOffset = 3 * time.Second

// ServerClock is the API server's clock, as far as the Date header of its answers tells. Deadlines count from times
// that the API server wrote, so that they are compared with the time there. Before the first answer it is this
// machine's clock.
type ServerClock struct{ offset atomic.Int64 }

// Now is the time by the API server's clock.
func (c *ServerClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Wrap reads the date of each answer.
func (c *ServerClock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.learn(time.Until(date))
		}
		return response, nil
	})
}

func (c *ServerClock) learn(offset time.Duration) {
	if offset.Abs() < leastOffset {
		offset = 0
	}
	c.offset.Store(int64(offset))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
