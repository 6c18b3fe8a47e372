package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/admission"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/report"
	"github.com/etcdsteward/etcd-steward/controllers/resources"
)

// EtcdClusterReconciler makes passes: it looks, decides on one change, makes it and reports. Nothing is remembered between
// passes that decides anything.
type EtcdClusterReconciler struct {
	Client   client.Client     // reads from the cache, writes to the API server
	Observer *observe.Observer // reads from the cache
	Live     *observe.Observer // reads from the API server
	Applier  *apply.Applier
	Dialer   *MemberDialer
	Secrets  *SecretCache
	Recorder events.EventRecorder
	Metrics  *Metrics

	Now func() time.Time

	unseen  *unseenWrites
	written pace     // when each status was last written
	brake   brake    // changes that are applied again and again
	lagging laggards // clusters whose cache was found behind: their next pass reads live
}

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods;persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile is one pass over one cluster.
func (r *EtcdClusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if r.unseen.isBehind(ctx, r.Client, request.NamespacedName) {
		return ctrl.Result{RequeueAfter: afterChange}, nil
	}
	observer := r.observer(request.NamespacedName)
	cluster := &v1alpha1.EtcdCluster{}
	if err := observer.Reader.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, r.lost(request.NamespacedName, err)
	}
	view, err := observer.Observe(ctx, cluster, faultOf(cluster))
	if err != nil {
		return ctrl.Result{}, errors.Join(fmt.Errorf("looking at %s: %w", request, err), r.publishUnreadable(ctx, cluster, view, err))
	}
	r.forgetSecretsInTheWay(request.Namespace, view.Observation)
	decision, attempt := r.decide(ctx, cluster, &view)
	if attempt.stale {
		r.lagging.add(request.NamespacedName)
		return ctrl.Result{RequeueAfter: attempt.recheck}, nil
	}
	if decision.Reason == plan.ReasonOtherOperator { // its status is the other operator's to write
		return ctrl.Result{RequeueAfter: attempt.recheck}, nil
	}
	backups, err := r.backupsOf(ctx, cluster, view.Observation)
	if err != nil {
		return ctrl.Result{}, errors.Join(attempt.Err, err)
	}
	in := report.Input{
		Cluster: cluster, Observation: view.Observation, Decision: decision, Outcome: attempt.Outcome, Warnings: admission.Warnings(cluster), Backups: backups,
	}
	later, err := r.publish(ctx, in)
	if err = errors.Join(attempt.Err, err, r.publishRestores(ctx, in)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: sooner(attempt.recheck, later)}, nil
}

// forgetSecretsInTheWay makes the next pass see at once that somebody took away a Secret that is not ours.
func (r *EtcdClusterReconciler) forgetSecretsInTheWay(namespace string, o plan.Observation) {
	secrets := slices.Clone(o.Objects)
	for _, replica := range o.Replicas {
		secrets = append(secrets, replica.Secret)
	}
	for _, object := range secrets {
		if object.Kind == resources.KindSecret && (object.State == plan.ObjectForeign || object.State == plan.ObjectTerminating) {
			r.Secrets.Forget(types.NamespacedName{Namespace: namespace, Name: object.Name})
		}
	}
}

// observer reads from the cache, unless the last decision proved that the cache is behind, or shows less than there is:
// of a name that somebody else took, for one, it shows nothing.
func (r *EtcdClusterReconciler) observer(key types.NamespacedName) *observe.Observer {
	if r.lagging.take(key) {
		return r.Live
	}
	return r.Observer
}

// lost ends what is kept of a cluster that is gone.
func (r *EtcdClusterReconciler) lost(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	r.unseen.forget(key)
	r.written.forget(key)
	r.brake.forget(key)
	r.Metrics.Forget(key)
	r.Secrets.ForgetCluster(key)
	return r.Dialer.Forget(key)
}

// decide takes the first change that is not refused: a rule whose change Kubernetes or etcd refuses gives way to later
// ones, if it may. The view is told what was refused.
func (r *EtcdClusterReconciler) decide(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen *observe.View) (plan.Decision, attempt) {
	var refused attempt
	for {
		decision := plan.Next(seen.Observation)
		tried := r.act(ctx, cluster, *seen, decision)
		logPass(ctx, decision, tried)
		switch {
		case tried.Change == nil && refused.Change != nil:
			return decision, refused
		case !tried.Rejected || !plan.MayYield(decision.Rule):
			return decision, tried
		}
		if refused.Change == nil || tried.NeedsHuman && !refused.NeedsHuman {
			refused = tried
			refused.Rule = decision.Rule
		}
		seen.Refused = append(seen.Refused, plan.Note{
			Rule: decision.Rule, Reason: tried.Reason, Message: tried.Message, NeedsHuman: tried.NeedsHuman,
		})
	}
}

// act carries out the change of a decision, unless the user only wants to see it.
func (r *EtcdClusterReconciler) act(ctx context.Context, cluster *v1alpha1.EtcdCluster, seen observe.View, decision plan.Decision) attempt {
	rest := r.brake.rest(keyOf(cluster), decision.Change, r.Now())
	if decision.Verdict != plan.Act || cluster.Spec.IsDryRun() {
		return attempt{recheck: decision.Recheck}
	}
	if rest > 0 {
		return attempt{recheck: rest}
	}
	if concernsSecrets(decision.Change) { // which may be remembered as they were before somebody else changed them
		r.Secrets.ForgetCluster(keyOf(cluster))
	}
	look := r.look(cluster, seen.Refused)
	made := attemptOf(decision.Change, r.Applier.Apply(ctx, cluster, apply.View(seen), decision.Change, look))
	if made.Applied {
		made.recheck = max(made.recheck, r.brake.applied(keyOf(cluster), decision.Change, r.Now()))
	}
	return made
}

func concernsSecrets(change plan.Change) bool {
	switch change.(type) {
	case plan.Bootstrap, plan.LayNext, plan.MoveLife, plan.ApplyObjects, plan.PrepareMember, plan.DeleteSecret, plan.FollowPolicy, plan.AdoptData:
		return true
	case plan.StartPreflight, plan.DeletePreflight, plan.RecordRestored, plan.DeleteRestores:
		return false
	case plan.BeginBirth, plan.BeginNext, plan.DropNext, plan.MarkFlushed, plan.MarkFormer, plan.VoidBirth, plan.NextBirth, plan.RecordBirth, plan.RecordMembers, plan.SealPods, plan.LabelRole,
		plan.SetBudget, plan.StartPods, plan.SetChoices, plan.DressPods, plan.RestoreInputs, plan.EvictPod, plan.DeletePods, plan.DeleteVolumes, plan.AddLearner, plan.Promote,
		plan.MoveLeader, plan.DisarmAlarms, plan.RemoveMember:
	}
	return false
}

// look reads the whole world live, for the proof that a change is still right. What was refused in this pass still is.
func (r *EtcdClusterReconciler) look(seen *v1alpha1.EtcdCluster, refused []plan.Note) apply.Look {
	return func(ctx context.Context) (apply.View, error) {
		cluster := &v1alpha1.EtcdCluster{}
		err := r.Live.Reader.Get(ctx, client.ObjectKeyFromObject(seen), cluster)
		switch {
		case apierrors.IsNotFound(err), err == nil && cluster.UID != seen.UID:
			return apply.View{}, apply.ErrStale
		case err != nil:
			return apply.View{}, fmt.Errorf("reading %s live: %w", client.ObjectKeyFromObject(seen), err)
		}
		view, err := r.Live.Observe(ctx, cluster, faultOf(cluster))
		view.Refused = refused
		return apply.View(view), err
	}
}
