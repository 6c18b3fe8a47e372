package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/backup"
)

// EtcdBackupReconciler makes passes over backups, as the one of clusters does: it looks, decides on one change, makes it and
// reports. It reads no Secret: what the store is reached with is mounted into the Job's Pod by the kubelet.
type EtcdBackupReconciler struct {
	Client   client.Client // reads from the cache, writes to the API server
	Live     client.Reader // reads from the API server
	Recorder events.EventRecorder
	Metrics  *BackupMetrics
	Operator string // namespace/name by which this install claims clusters

	// AgentImage is the image that backups run from; empty when it is not known.
	AgentImage func(context.Context) (string, error)
	// Progress asks a Pod how far it is; nil when it does not say.
	Progress func(ctx context.Context, address string) *backup.Progress
	Now      func() time.Time

	unseen  *unseenWrites
	written pace // when each status was last written
}

// What they are for: `patch` of etcdbackups writes the record's annotation alone, since the spec cannot change and there is no
// narrower verb; `patch` of jobs gives a Job that ended a time to live, which would cost its last words when set before;
// `list` of events tells why a Pod is refused or its volumes are not mounted, which Kubernetes says nowhere else;
// `update` of finalizers is asked for by OwnerReferencesPermissionEnforcement.
//
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=list

// Reconcile is one pass over one backup.
func (r *EtcdBackupReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if r.unseen.isBehind(ctx, r.Client, request.NamespacedName) {
		return ctrl.Result{RequeueAfter: afterChange}, nil
	}
	b := &v1alpha1.EtcdBackup{}
	if err := r.Client.Get(ctx, request.NamespacedName, b); err != nil {
		return ctrl.Result{}, r.lost(request.NamespacedName, err)
	}
	seen, err := r.look(ctx, b)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("looking at the backup %s: %w", request, err)
	}
	decision := backup.Next(seen.Observation)
	logger := log.FromContext(ctx).WithValues("cluster", b.Spec.ClusterRef.Name, "stage", decision.Stage, "reason", decision.Reason)
	if decision.Ignored {
		r.Metrics.Forget(request.NamespacedName)
		return ctrl.Result{RequeueAfter: decision.Recheck}, nil
	}
	if decision.Outcome != nil {
		return r.conclude(ctx, b, seen, decision)
	}
	if decision.Change != nil {
		logger.Info("backup", "change", fmt.Sprintf("%T", decision.Change), "message", decision.Message)
		var done bool
		if decision, done, err = r.act(ctx, b, seen, decision); done || err != nil {
			return ctrl.Result{RequeueAfter: decision.Recheck}, err
		}
	}
	later, err := r.publish(ctx, b, seen.Observation, decision)
	return ctrl.Result{RequeueAfter: soonest(decision.Recheck, later)}, err
}

// act makes the change. It is done when the next look has to tell what came of it; otherwise the decision says what is to be
// published: that the change is refused.
func (r *EtcdBackupReconciler) act(
	ctx context.Context, b *v1alpha1.EtcdBackup, seen backupView, decision backup.Decision,
) (backup.Decision, bool, error) {
	err := r.apply(ctx, b, seen, decision.Change)
	var (
		later    apply.Later
		rejected apply.Rejected
	)
	switch {
	case err == nil, errors.Is(err, apply.ErrStale):
		return decision, true, nil
	case errors.As(err, &later):
		return decision.Refused(later.Reason, later.Message, afterRejected), false, nil
	case errors.As(err, &rejected):
		return decision.Refused(rejected.Reason, rejected.Message, afterRejected), false, nil
	}
	return decision, false, err
}

// conclude tells what came of the backup, and only then touches its Job: whoever forbids that changes nothing of the outcome.
func (r *EtcdBackupReconciler) conclude(ctx context.Context, b *v1alpha1.EtcdBackup, seen backupView, decision backup.Decision) (ctrl.Result, error) {
	later, err := r.publish(ctx, b, seen.Observation, decision)
	if decision.Change == nil || err != nil {
		return ctrl.Result{RequeueAfter: later}, err
	}
	refused, done, err := r.act(ctx, b, seen, decision)
	if err == nil && !done {
		log.FromContext(ctx).Info("the Job of a backup that has ended could not be given a time to live", "reason", refused.Reason, "message", refused.Message)
		return ctrl.Result{RequeueAfter: afterUnreleased}, nil
	}
	return ctrl.Result{RequeueAfter: soonest(decision.Recheck, later)}, err
}

// afterUnreleased is when a Job is tried to be released again: it is in nobody's way meanwhile.
const afterUnreleased = 10 * time.Minute

// lost ends what is kept of a backup that is gone.
func (r *EtcdBackupReconciler) lost(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the backup %s: %w", key, err)
	}
	r.unseen.forget(key)
	r.written.forget(key)
	r.Metrics.Forget(key)
	return nil
}

// soonest is the earlier of two times to look again; zero asks for nothing.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
