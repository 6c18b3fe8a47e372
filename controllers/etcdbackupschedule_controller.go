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
	"github.com/etcdsteward/etcd-steward/controllers/schedule"
)

// EtcdBackupScheduleReconciler makes passes over schedules, as the one of backups does: it looks, decides on one change, makes
// it and reports. All that it makes are EtcdBackups.
type EtcdBackupScheduleReconciler struct {
	Client   client.Client // reads from the cache, writes to the API server
	Live     client.Reader // reads from the API server
	Recorder events.EventRecorder
	Metrics  *BackupMetrics
	Operator string // namespace/name by which this install claims clusters
	Now      func() time.Time

	unseen *unseenWrites
}

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackupschedules,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackupschedules/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups,verbs=create

// Reconcile is one pass over one schedule.
func (r *EtcdBackupScheduleReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if r.unseen.isBehind(ctx, r.Client, request.NamespacedName) {
		return ctrl.Result{RequeueAfter: afterChange}, nil
	}
	s := &v1alpha1.EtcdBackupSchedule{}
	if err := r.Client.Get(ctx, request.NamespacedName, s); err != nil {
		return ctrl.Result{}, r.lost(request.NamespacedName, err)
	}
	seen, err := r.look(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("looking at the schedule %s: %w", request, err)
	}
	decision := schedule.Next(seen)
	if decision.Ignored {
		r.Metrics.ForgetSchedule(request.NamespacedName)
		return ctrl.Result{RequeueAfter: decision.Recheck}, nil
	}
	if decision.Change != nil {
		log.FromContext(ctx).Info("schedule", "cluster", s.Spec.ClusterRef.Name, "change", fmt.Sprintf("%T", decision.Change), "message", decision.Message)
		var done bool
		if decision, done, err = r.act(ctx, s, decision); done || err != nil {
			return ctrl.Result{RequeueAfter: decision.Recheck}, err
		}
	}
	later, err := r.publish(ctx, s, seen, decision)
	return ctrl.Result{RequeueAfter: soonest(decision.Recheck, later)}, err
}

// act makes the change. It is done when the next look has to tell what came of it; otherwise the decision says that the
// change is refused.
func (r *EtcdBackupScheduleReconciler) act(
	ctx context.Context, s *v1alpha1.EtcdBackupSchedule, decision schedule.Decision,
) (schedule.Decision, bool, error) {
	err := r.apply(ctx, s, decision.Change)
	var (
		later    apply.Later
		rejected apply.Rejected
	)
	switch {
	case err == nil:
		r.tell(s, schedule.Made(decision.Change))
		return decision, true, nil
	case errors.Is(err, apply.ErrStale):
		return decision, true, nil
	case errors.As(err, &later):
		return decision.Refused(later.Reason, later.Message, afterRejected), false, nil
	case errors.As(err, &rejected):
		return decision.Refused(rejected.Reason, rejected.Message, afterRejected), false, nil
	}
	return decision, false, err
}

// lost ends what is kept of a schedule that is gone.
func (r *EtcdBackupScheduleReconciler) lost(key types.NamespacedName, err error) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the schedule %s: %w", key, err)
	}
	r.unseen.forget(key)
	r.Metrics.ForgetSchedule(key)
	return nil
}
