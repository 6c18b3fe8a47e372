// Package kit holds what the wings share: the frame of a pass, what makes one begin, the writers of status and events,
// what is remembered of objects, and the series of metrics.
package kit

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
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
	Domain   string           // DNS domain of this Kubernetes; empty when it is not known
	Unseen   *UnseenWrites

	PlatformIDs apply.PlatformIDs
	Tracer      trace.Tracer            // of passes; nil where traces are off
	Images      resources.ImageDefaults // as far as the spec of a cluster says nothing
}

// Install is one install of the operator.
type Install struct {
	Operator string           // namespace/name by which it claims clusters
	Now      func() time.Time // see ServerClock
	Domain   string           // DNS domain of this Kubernetes; empty when it is not known
	Lease    *Lease           // nil where no leader is elected
	Webhook  *Webhook         // answers the API server about objects before it stores them; nil: it does not ask
	Watches  []string         // the namespaces that it looks after; empty for all

	PlatformIDs apply.PlatformIDs
	Tracer      trace.Tracer            // of passes; nil where traces are off
	Images      resources.ImageDefaults // as far as the spec of a cluster says nothing
}

// NewFrame makes a frame that reads and writes through a manager.
func NewFrame(mgr ctrl.Manager, install Install) Frame {
	return Frame{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Operator: install.Operator, Now: install.Now, Own: time.Now, Domain: install.Domain,
		Unseen:      NewUnseenWrites(time.Now),
		PlatformIDs: install.PlatformIDs, Tracer: install.Tracer, Images: install.Images,
	}
}
