// Package backup makes the passes over EtcdBackups.
package backup

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Reconciler makes passes over backups, as the one of clusters does: it looks, decides on one change, makes it and
// reports. It reads no Secret but the one that its records are signed with: what the store is reached with is mounted
// into the Job's Pod by the kubelet.
type Reconciler struct {
	kit.Frame
	Metrics *Metrics
	Secrets *observe.SecretCache // for the keys that records are signed with

	// Progress asks a Pod how far it is; nil when it does not say.
	Progress func(ctx context.Context, address string) *backupplan.Progress

	written kit.Pace // when each status was last written
}

// What they are for: `patch` of etcdbackups writes the record's annotation alone, since the spec cannot change and
// there is no narrower verb; `patch` of jobs gives a Job that ended a time to live, which would cost its last words
// when set before; `delete` of jobs ends one in whose Pod a container of others goes on running; `list` of events tells
// why a Pod is refused or its volumes are not mounted, which Kubernetes says nowhere else; `update` of finalizers is
// asked for by OwnerReferencesPermissionEnforcement.
//
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=events,verbs=list

// Reconcile is one pass over one backup.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.EtcdBackup{}
	if ready, result, err := r.Begin(ctx, request.NamespacedName, b, r.forget); !ready || err != nil {
		return result, err
	}
	seen, err := r.look(ctx, b)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("looking at the backup %s: %w", request, err)
	}
	decision := backupplan.Next(seen.Observation)
	logger := log.FromContext(ctx).WithValues("cluster", b.Spec.ClusterRef.Name, "stage", decision.Stage, "reason",
		decision.Reason)
	if decision.Ignored {
		r.Metrics.Forget(request.NamespacedName)
		return ctrl.Result{RequeueAfter: decision.Recheck}, nil
	}
	if decision.Outcome != nil {
		return r.conclude(ctx, b, seen, decision)
	}
	if decision.Change != nil {
		logger.Info("backup", "change", fmt.Sprintf("%T", decision.Change), "message", decision.Message)
		refused, err := kit.Answered(ctx, decision.Change, r.apply(ctx, b, seen, decision.Change))
		if refused == nil || err != nil {
			return ctrl.Result{RequeueAfter: decision.Recheck}, err
		}
		decision = decision.Refused(refused.Reason, refused.Message, kit.AfterRejected)
	}
	later, err := r.publish(ctx, b, seen.Observation, decision)
	return ctrl.Result{RequeueAfter: words.Sooner(decision.Recheck, later)}, err
}

// conclude tells what came of the backup, and only then touches its Job: a refusal of that changes nothing of the
// outcome.
func (r *Reconciler) conclude(ctx context.Context, b *v1alpha1.EtcdBackup, seen view,
	decision backupplan.Decision) (ctrl.Result, error) {
	later, err := r.publish(ctx, b, seen.Observation, decision)
	if decision.Change == nil || err != nil {
		return ctrl.Result{RequeueAfter: words.Sooner(decision.Recheck, later)}, err
	}
	refused, err := kit.Answered(ctx, decision.Change, r.apply(ctx, b, seen, decision.Change))
	if refused != nil {
		log.FromContext(ctx).Info("what is left to do for a backup that has ended was refused", "reason",
			refused.Reason, "message", refused.Message)
		return ctrl.Result{RequeueAfter: afterUnreleased}, nil
	}
	return ctrl.Result{RequeueAfter: words.Sooner(decision.Recheck, later)}, err
}

// afterUnreleased is when a Job is tried to be released again: it is in no one's way meanwhile.
const afterUnreleased = 10 * time.Minute

func (r *Reconciler) forget(key types.NamespacedName) {
	r.written.Forget(key)
	r.Metrics.Forget(key)
}

// parallelPasses bounds the passes at once; one may wait a second for a Pod to tell its progress.
const parallelPasses = 8

// Add adds the controller of backups to a manager. Install is what this operator is and which clock it reads.
func Add(mgr ctrl.Manager, install kit.Install) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	frame := kit.NewFrame(mgr, install)
	r := &Reconciler{Frame: frame, Metrics: registered, Progress: observe.AskProgress(),
		Secrets: observe.NewSecretCache(frame.Live, frame.Now)}
	if err := kit.ServeAdmission(mgr, install, r.admit); err != nil {
		return err
	}
	err = kit.ControllerOf(mgr, kit.Kind{
		Name: "etcdbackup", Object: &v1alpha1.EtcdBackup{}, Word: "backup", Parallel: parallelPasses,
		IsTold: func(o client.Object) bool {
			b, ok := o.(*v1alpha1.EtcdBackup)
			return ok && len(b.Status.Conditions) > 0
		},
	}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, kit.ByLabel(v1alpha1.LabelBackup)).
		Complete(r.Traced(&v1alpha1.EtcdBackup{}, r))
	if err != nil {
		return fmt.Errorf("setting up the controller of backups: %w", err)
	}
	return nil
}
