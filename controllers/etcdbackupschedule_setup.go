package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
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
)

// parallelSchedules bounds the passes over schedules, which wait for nobody but the API server.
const parallelSchedules = 2

// addSchedules adds the controller of schedules, which tells how they are kept in the metrics of backups.
func addSchedules(mgr ctrl.Manager, operator string, registered *BackupMetrics) error {
	r := &EtcdBackupScheduleReconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Metrics:  registered,
		Operator: operator,
		Now:      time.Now,
		unseen:   newUnseenWrites(time.Now),
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("etcdbackupschedule").
		For(&v1alpha1.EtcdBackupSchedule{}, builder.WithPredicates(scheduleChanged())).
		Watches(&v1alpha1.EtcdBackup{}, handler.EnqueueRequestsFromMapFunc(scheduleOfBackup)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: parallelSchedules,
			ReconciliationTimeout:   passTimeout,
			RecoverPanic:            new(true),
			LogConstructor:          scheduleLoggerOf(mgr.GetLogger()),
			EnableWarmup:            new(true),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, longestBackoff),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of schedules: %w", err)
	}
	return nil
}

func scheduleLoggerOf(logger logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return logger
		}
		return logger.WithValues("namespace", request.Namespace, "schedule", request.Name)
	}
}

// scheduleChanged is clusterChanged for schedules.
func scheduleChanged() predicate.Predicate {
	statusLost := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			s, ok := e.ObjectNew.(*v1alpha1.EtcdBackupSchedule)
			return ok && len(s.Status.Conditions) == 0
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)
}

// scheduleOfBackup maps an EtcdBackup to the schedule that made it.
func scheduleOfBackup(_ context.Context, b client.Object) []reconcile.Request {
	name := b.GetLabels()[v1alpha1.LabelSchedule]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: b.GetNamespace(), Name: name}}}
}
