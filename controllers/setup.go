// Package controllers runs the passes: it wires the reader, the planner, the writer and the report together, and says what
// makes a pass begin.
package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
	etcd "github.com/etcdsteward/etcd-steward/pkg/etcdutil/client"
)

// fieldOwner is whom the API server calls the owner of what the operator writes.
const fieldOwner = client.FieldOwner("etcd-steward")

// Limits of passes. The back-off is for errors only; expected waits say themselves when to look again.
const (
	parallelPasses = 16
	passTimeout    = 30 * time.Second
	firstBackoff   = 200 * time.Millisecond
	longestBackoff = 30 * time.Second
)

// Add adds the controller of clusters to a manager. Operator is the namespace/name by which this install claims clusters,
// agentImage tells what restores run from.
func Add(mgr ctrl.Manager, operator string, agentImage func(context.Context) (string, error)) error {
	registered, err := NewMetrics(metrics.Registry)
	if err != nil {
		return err
	}
	secrets := NewSecretCache(mgr.GetAPIReader(), time.Now)
	dialer := NewMemberDialer(etcd.EtcdDialer{}, secrets)
	unseen := newUnseenWrites(time.Now)
	writer := notingClient{Client: mgr.GetClient(), secrets: secrets, unseen: unseen}
	observer := func(reader client.Reader) *observe.Observer {
		return &observe.Observer{
			Reader: reader, Live: mgr.GetAPIReader(), Secrets: secrets, Dial: dialer, Now: time.Now, Operator: operator,
			Wish: beginnings{reader: reader}.wish,
		}
	}
	r := &EtcdClusterReconciler{
		Client:   writer,
		Observer: observer(mgr.GetClient()),
		Live:     observer(mgr.GetAPIReader()),
		Applier:  &apply.Applier{Client: writer, Live: mgr.GetAPIReader(), Now: time.Now, Operator: operator, Source: beginnings{mgr.GetAPIReader(), agentImage}.source},
		Dialer:   dialer,
		Secrets:  secrets,
		Recorder: mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Metrics:  registered,
		Now:      time.Now,
		unseen:   unseen,
	}
	return r.setup(mgr)
}

func (r *EtcdClusterReconciler) setup(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("etcdcluster").
		For(&v1alpha1.EtcdCluster{}, builder.WithPredicates(clusterChanged())).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(clusterOfVolume)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: parallelPasses,
			ReconciliationTimeout:   passTimeout,
			RecoverPanic:            new(true),
			LogConstructor:          loggerOf(mgr.GetLogger()),
			EnableWarmup:            new(true), // a standby has its caches filled when it takes over
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, longestBackoff),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of clusters: %w", err)
	}
	return nil
}

// loggerOf names the cluster in each line, and nothing that is the same in all of them.
func loggerOf(logger logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return logger
		}
		return logger.WithValues("namespace", request.Namespace, "cluster", request.Name)
	}
}

// clusterChanged lets through what changes the spec or asks for something by annotation, deletion included. Our own writes
// of the status begin no pass, unless somebody took it away.
func clusterChanged() predicate.Predicate {
	statusLost := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			cluster, ok := e.ObjectNew.(*v1alpha1.EtcdCluster)
			return ok && cluster.Status.NextStep == nil
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)
}

// clusterOfVolume maps a volume, which need not have an owner, to the cluster of that name.
func clusterOfVolume(_ context.Context, volume client.Object) []reconcile.Request {
	name := volume.GetLabels()[v1alpha1.LabelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: volume.GetNamespace(), Name: name}}}
}
