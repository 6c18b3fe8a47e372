// Package schedule makes the passes over EtcdBackupSchedules, and does what they do beside making backups.
package schedule

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/kit"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Reconciler makes passes over schedules, as the one of backups does: it looks, decides on one change, makes
// it and reports. It makes EtcdBackups, and Jobs that look after its store.
type Reconciler struct {
	kit.Frame
	Metrics *Metrics
	Secrets observe.SecretReader // for the keys that records are signed with
}

// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackupschedules,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackupschedules/status,verbs=patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackups,verbs=create;delete;patch
// +kubebuilder:rbac:groups=etcdsteward.dev,resources=etcdbackupschedules/finalizers,verbs=update

// Reconcile is one pass over one schedule.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.EtcdBackupSchedule{}
	if ready, result, err := r.Begin(ctx, request.NamespacedName, s, r.Metrics.Forget); !ready || err != nil {
		return result, err
	}
	seen, err := r.look(ctx, s)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("looking at the schedule %s: %w", request, err)
	}
	decision := scheduleplan.Next(seen)
	if decision.Ignored {
		r.Metrics.Forget(request.NamespacedName)
		return ctrl.Result{RequeueAfter: decision.Recheck}, nil
	}
	if decision.Change != nil {
		log.FromContext(ctx).Info("schedule", "cluster", s.Spec.ClusterRef.Name, "change",
			fmt.Sprintf("%T", decision.Change), "message", decision.Message)
		err := r.apply(ctx, s, decision.Change)
		if err == nil {
			r.Tell(s, scheduleplan.Made(decision.Change))
		}
		refused, err := kit.Answered(ctx, decision.Change, err)
		if refused == nil || err != nil {
			return ctrl.Result{RequeueAfter: decision.Recheck}, err
		}
		decision = decision.Refused(seen, refused.Reason, refused.Message, kit.AfterRejected)
	}
	decision, done, err := r.doChores(ctx, s, decision)
	if done || err != nil {
		return ctrl.Result{RequeueAfter: kit.AfterChange}, err
	}
	later, err := r.publish(ctx, s, seen, decision)
	return ctrl.Result{RequeueAfter: words.Sooner(decision.Recheck, later)}, err
}

// parallelPasses bounds the passes at once; one waits for nothing but the API server.
const parallelPasses = 2

// Add adds the controller of schedules to a manager. Install is what this operator is and which clock it reads.
func Add(mgr ctrl.Manager, install kit.Install) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	frame := kit.NewFrame(mgr, install)
	r := &Reconciler{Frame: frame, Metrics: registered, Secrets: observe.NewSecretCache(frame.Live, frame.Now)}
	if err := kit.ServeAdmission(mgr, install, r.admit); err != nil {
		return err
	}
	err = kit.ControllerOf(mgr, kit.Kind{
		Name: "etcdbackupschedule", Object: &v1alpha1.EtcdBackupSchedule{}, Word: "schedule", Parallel: parallelPasses,
		IsTold: func(o client.Object) bool {
			s, ok := o.(*v1alpha1.EtcdBackupSchedule)
			return ok && len(s.Status.Conditions) > 0
		},
	}).
		Owns(&batchv1.Job{}).
		Watches(&v1alpha1.EtcdBackup{}, kit.ByLabel(v1alpha1.LabelSchedule)).
		Watches(&corev1.Pod{}, kit.ByLabel(v1alpha1.LabelSchedule)).
		Complete(r.Traced(&v1alpha1.EtcdBackupSchedule{}, r))
	if err != nil {
		return fmt.Errorf("setting up the controller of schedules: %w", err)
	}
	return nil
}
