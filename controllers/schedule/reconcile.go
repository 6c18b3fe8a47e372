// Package schedule makes the passes over EtcdBackupSchedules, and does what they do beside making backups.
package schedule

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

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

	// AgentImage is the image that its Jobs run from; empty when it is not known.
	AgentImage func(context.Context) (string, error)
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
