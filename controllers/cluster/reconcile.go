// Package cluster makes the passes over clusters: it wires the reader, the planner, the writer and the report together.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Reconciler makes passes: it looks, decides on one change, makes it and reports. Nothing is remembered between passes
// that decides anything.
type Reconciler struct {
	kit.Frame
	Observer     *observe.Observer // reads from the cache
	LiveObserver *observe.Observer // reads from the API server
	Bystander    *observe.Observer // reads from the cache, and nothing that only a status shows
	Applier      *apply.Applier
	Dialer       *observe.PodDialer
	Secrets      *observe.SecretCache
	Pinger       *observe.Pinger // asks members between two passes whether they serve
	Metrics      *Metrics
	Standing     *Standing

	changed chan event.GenericEvent // clusters of which the pinger has news

	written kit.Pace       // when each status was last written
	doubts  kit.Pace       // when a look first found no quorum that was published to answer
	brake   brake          // changes that are applied again and again
	lagging kit.Kept[bool] // clusters whose cache was found behind: their next pass reads live
}

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods;persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile is one pass over one cluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if r.Unseen.IsBehind(ctx, r.Client, request.NamespacedName) {
		return ctrl.Result{RequeueAfter: kit.AfterChange}, nil
	}
	if !r.Standing.leads(request.NamespacedName) {
		return r.standBy(ctx, request.NamespacedName)
	}
	observer := r.observer(request.NamespacedName)
	cluster, err := find(ctx, observer, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if cluster == nil {
		return ctrl.Result{}, r.forget(request.NamespacedName)
	}
	view, err := observeWith(ctx, observer, cluster)
	if err != nil {
		return ctrl.Result{}, errors.Join(fmt.Errorf("looking at %s: %w", request, err),
			r.publishUnreadable(ctx, cluster, view.Observation, err))
	}
	r.forgetDoubtfulSecrets(request.Namespace, view.Observation)
	decision, attempt := r.decide(ctx, cluster, &view)
	tracePass(ctx, decision, attempt)
	if attempt.stale {
		r.lagging.Set(request.NamespacedName, true)
		return ctrl.Result{RequeueAfter: attempt.recheck}, nil
	}
	backups, err := r.backupsOf(ctx, cluster, view.Observation)
	if err != nil {
		return ctrl.Result{}, errors.Join(attempt.Err, err)
	}
	in := report.Input{
		Cluster: cluster, Observation: view.Observation, Decision: decision, Outcome: attempt.Outcome,
		Warnings: admission.Warnings(r.Images.WithDigests(cluster)), Backups: backups,
	}
	if view.IsAnothers() && !attempt.Applied {
		return r.leave(ctx, in, attempt.recheck)
	}
	r.Metrics.Keep(request.NamespacedName, r.Operator, true)
	later, err := r.publish(ctx, in)
	if err = errors.Join(attempt.Err, err, r.publishRestores(ctx, in)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: cmp.Or(words.Sooner(attempt.recheck, later), afterAny)}, nil
}

// mountPatience is how long a Pod that has its node may take to mount what it needs before its Secret is read anew.
const mountPatience = 5 * time.Second

// forgetDoubtfulSecrets makes the next pass read anew a Secret that is in the way, or holds another CA, which a person
// may put right, and that of a member whose Pod does not start, because it may be gone.
func (r *Reconciler) forgetDoubtfulSecrets(namespace string, o facts.Observation) {
	secrets := slices.Clone(o.Objects)
	for _, replica := range o.Current.Members {
		secrets = append(secrets, replica.Secret)
		if waitsForMount(replica.Pod, o.Now) {
			r.Secrets.Forget(types.NamespacedName{Namespace: namespace, Name: replica.Secret.Name})
		}
	}
	for _, object := range secrets {
		isInTheWay := object.State == facts.ObjectForeign || object.State == facts.ObjectTerminating
		if object.Kind == resources.KindSecret && (isInTheWay || object.IsAnother()) {
			r.Secrets.Forget(types.NamespacedName{Namespace: namespace, Name: object.Name})
		}
	}
}

// waitsForMount reports a Pod that has its node for long and whose container never ran.
func waitsForMount(pod *facts.Pod, now time.Time) bool {
	return pod != nil && pod.Phase == facts.PodPending && pod.Scheduled && !pod.Started &&
		now.Sub(pod.Created) > mountPatience
}

// forget drops what is kept of a cluster that is gone.
func (r *Reconciler) forget(key types.NamespacedName) error {
	r.Unseen.Forget(key)
	r.written.Forget(key)
	r.doubts.Forget(key)
	r.brake.Forget(key)
	r.Metrics.Forget(key)
	r.Metrics.Keep(key, "", false)
	r.Secrets.ForgetCluster(key)
	r.Pinger.Forget(key)
	return r.Dialer.Forget(key)
}
