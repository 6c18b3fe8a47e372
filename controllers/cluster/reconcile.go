// Package cluster makes the passes over clusters: it wires the reader, the planner, the writer and the report together.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil/client/dial"
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
	Leadership   *Leadership

	changed chan event.GenericEvent // clusters of which the pinger has news

	written kit.Pace         // when each status was last written
	said    kit.Kept[string] // the message of the step that the last write replaced
	doubts  kit.Pace         // when a look first found no quorum that was published to answer
	brake   brake            // changes that are applied again and again
	lagging kit.Kept[bool]   // clusters whose cache was found behind: their next pass reads live
}

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdrestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdrestores/status,verbs=patch
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
	if !r.Leadership.leads(request.NamespacedName) {
		return r.standBy(ctx, request.NamespacedName)
	}
	observer := r.observer(request.NamespacedName)
	cluster, err := find(ctx, observer, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if cluster == nil {
		later, err := r.publishOrphans(ctx, request.NamespacedName)
		return ctrl.Result{RequeueAfter: later}, errors.Join(r.forget(request.NamespacedName), err)
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
	status := report.Status(in)
	later, err := r.publish(ctx, in, status)
	if err = errors.Join(attempt.Err, err, r.publishRestores(ctx, in, status.Evidence)); err != nil {
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
	r.said.Forget(key)
	r.doubts.Forget(key)
	r.brake.Forget(key)
	r.Metrics.Forget(key)
	r.Metrics.Keep(key, "", false)
	r.Secrets.ForgetCluster(key)
	r.Pinger.Forget(key)
	return r.Dialer.Forget(key)
}

// parallelPasses bounds the passes at once.
const parallelPasses = 16

// Add adds the controller of clusters to a manager. Install is what this operator is and which clock it reads.
func Add(mgr ctrl.Manager, install kit.Install) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	r := newReconciler(kit.NewFrame(mgr, install), dial.EtcdDialer{})
	r.Metrics = registered
	if install.Lease != nil {
		r.Applier.Leads = kit.LeadsBy(r.Live, install.Lease)
		r.Leadership = &Leadership{Elected: mgr.Elected(), IsSilent: install.Lease.IsSilent}
		if err := mgr.Add(r.lookAtAll(lookAgain(r.changed))); err != nil {
			return fmt.Errorf("adding what begins to lead: %w", err)
		}
	}
	for _, o := range []*observe.Observer{r.Observer, r.LiveObserver} {
		o.Progress = observe.AskProgress()
		o.Warning = func(ctx context.Context, namespace string, uid types.UID) *corev1.Event {
			return observe.LastWarning(ctx, r.Live, namespace, uid)
		}
	}
	if err := mgr.Add(r.Pinger); err != nil {
		return fmt.Errorf("adding what asks members between looks: %w", err)
	}
	if err := errors.Join(kit.ServeAdmission(mgr, install, r.admit), kit.ServeAdmission(mgr, install, r.admitScale),
		kit.ServeAdmission(mgr, install, r.admitRestore)); err != nil {
		return err
	}
	return r.setup(mgr)
}

// newReconciler wires what reads and what writes to each other: a Secret that was written is not believed from memory
// any more.
func newReconciler(frame kit.Frame, dialer etcd.Dialer) *Reconciler {
	secrets := observe.NewSecretCache(frame.Live, frame.Now)
	pods := observe.NewPodDialer(dialer, secrets)
	changed := make(chan event.GenericEvent)
	pinger := observe.NewPinger(lookAgain(changed))
	writer := kit.NotingClient{Client: frame.Client, Secrets: secrets, Unseen: frame.Unseen}
	observer := func(reader client.Reader) *observe.Observer {
		sources := observe.Sources{Reader: reader}
		return &observe.Observer{
			Reader: reader, Live: frame.Live, Secrets: secrets, Dial: pods, Now: frame.Now, Own: frame.Own,
			Operator: frame.Operator, Platform: frame.Platform.Platform, Backups: frame.Client,
			Pinger: pinger, WantedBackup: sources.WantedBackup, Requests: sources.Requests, Optional: frame.Live,
		}
	}
	bystander := observer(frame.Client)
	bystander.AsksNoHashes = true
	return &Reconciler{
		Frame: frame, Observer: observer(frame.Client), LiveObserver: observer(frame.Live),
		Bystander: bystander, Dialer: pods, Secrets: secrets, Pinger: pinger, changed: changed,
		Applier: &apply.Applier{
			Client: writer, Live: frame.Live, Now: frame.Now, Operator: frame.Operator,
			Platform: frame.Platform, Source: sourcesFrom(frame.Live),
		},
	}
}

func (r *Reconciler) setup(mgr ctrl.Manager) error {
	err := kit.ControllerOf(mgr, kit.Kind{
		Name: "etcdcluster", Object: &v1alpha1.EtcdCluster{}, Word: "cluster", Parallel: parallelPasses,
		Everywhere: true,
		IsTold: func(o client.Object) bool {
			cluster, ok := o.(*v1alpha1.EtcdCluster)
			return ok && cluster.Status.NextStep != nil
		},
	}).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.NetworkPolicy{}).
		// a volume need not have an owner
		Watches(&corev1.PersistentVolumeClaim{}, kit.ByLabels(v1alpha1.ClusterOf)).
		Watches(&v1alpha1.EtcdRestore{}, handler.EnqueueRequestsFromMapFunc(clusterOf),
			builder.WithPredicates(kit.Changed(isRestoreTold))).
		Watches(&v1alpha1.EtcdBackupSchedule{}, handler.EnqueueRequestsFromMapFunc(clusterOf),
			builder.WithPredicates(whatBacksUp)).
		Watches(&v1alpha1.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(clusterOf),
			builder.WithPredicates(whatBacksUp)).
		WatchesRawSource(source.Channel(r.changed, &handler.EnqueueRequestForObject{})).
		Complete(r.Traced(&v1alpha1.EtcdCluster{}, r))
	if err != nil {
		return fmt.Errorf("setting up the controller of clusters: %w", err)
	}
	return nil
}

// lookAgain returns what begins a pass over a cluster of which a member does not do what was seen last.
func lookAgain(changed chan<- event.GenericEvent) func(context.Context, types.NamespacedName) {
	return func(ctx context.Context, key types.NamespacedName) {
		cluster := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		select {
		case changed <- event.GenericEvent{Object: cluster}:
		case <-ctx.Done():
		}
	}
}

func isRestoreTold(o client.Object) bool {
	restore, ok := o.(*v1alpha1.EtcdRestore)
	return ok && len(restore.Status.Conditions) > 0
}

// clusterOf maps an EtcdRestore to the cluster whose passes carry it out, and what backs a cluster up to the cluster
// whose status shows that.
func clusterOf(_ context.Context, object client.Object) []reconcile.Request {
	var cluster v1alpha1.ClusterReference
	switch o := object.(type) {
	case *v1alpha1.EtcdRestore:
		cluster = o.Spec.ClusterRef
	case *v1alpha1.EtcdBackup:
		cluster = o.Spec.ClusterRef
	case *v1alpha1.EtcdBackupSchedule:
		cluster = o.Spec.ClusterRef
	default:
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(),
		Name: cluster.Name}}}
}

// whatBacksUp lets through what changes the answer to how well a cluster is backed up, and not each step of a backup.
var whatBacksUp = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!slices.Equal(lastGood(e.ObjectOld), lastGood(e.ObjectNew))
	},
}

// lastGood says when what backs a cluster up was last complete, and last proven, and why a backup does not get on.
func lastGood(object client.Object) []string {
	switch o := object.(type) {
	case *v1alpha1.EtcdBackup:
		_, why := backupplan.Waits(o)
		return []string{shown(o.Status.CompletedAt), shown(o.Status.VerifiedAt), why}
	case *v1alpha1.EtcdBackupSchedule:
		return []string{shown(o.Status.LastSuccessfulTime), shown(o.Status.LastProvenTime)}
	}
	return nil
}

func shown(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}
