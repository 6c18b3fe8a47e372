package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// parallelBackups bounds the passes over backups; each may wait a second for a Pod to tell its progress.
const parallelBackups = 8

// AddBackups adds the controllers of backups and of their schedules to a manager. Operator is the namespace/name by which this install claims
// clusters, agentImage tells what backups run from.
func AddBackups(mgr ctrl.Manager, operator string, agentImage func(context.Context) (string, error)) error {
	registered, err := NewBackupMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	r := &EtcdBackupReconciler{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Recorder:   mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Metrics:    registered,
		Operator:   operator,
		AgentImage: agentImage,
		Progress:   askProgress(newProgressClient()),
		Now:        time.Now,
		unseen:     newUnseenWrites(time.Now),
	}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return addSchedules(mgr, operator, registered)
}

func (r *EtcdBackupReconciler) setup(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("etcdbackup").
		For(&v1alpha1.EtcdBackup{}, builder.WithPredicates(backupChanged())).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(backupOfPod)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: parallelBackups,
			ReconciliationTimeout:   passTimeout,
			RecoverPanic:            new(true),
			LogConstructor:          backupLoggerOf(mgr.GetLogger()),
			EnableWarmup:            new(true),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, longestBackoff),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of backups: %w", err)
	}
	return nil
}

func backupLoggerOf(logger logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return logger
		}
		return logger.WithValues("namespace", request.Namespace, "backup", request.Name)
	}
}

// backupChanged is clusterChanged for backups.
func backupChanged() predicate.Predicate {
	statusLost := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			b, ok := e.ObjectNew.(*v1alpha1.EtcdBackup)
			return ok && len(b.Status.Conditions) == 0
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)
}

// backupOfPod maps a Pod that works for a backup to it.
func backupOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[v1alpha1.LabelBackup]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}
