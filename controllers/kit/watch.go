package kit

import (
	"context"
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
)

// Limits of passes. The back-off is for errors only; expected waits say themselves when to look again.
const (
	passTimeout    = 30 * time.Second
	firstBackoff   = 200 * time.Millisecond
	longestBackoff = 30 * time.Second
)

// Kind is what a controller of the operator is about.
type Kind struct {
	Name     string // of the controller
	Object   client.Object
	Word     string // for the log
	Parallel int    // passes at once
	IsTold   func(client.Object) bool
	// Everywhere has each replica make passes, also those that do not lead.
	Everywhere bool
}

// ControllerOf begins a controller with what all of the operator's have.
func ControllerOf(mgr ctrl.Manager, k Kind) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		Named(k.Name).
		For(k.Object, builder.WithPredicates(changed(k.IsTold))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: k.Parallel,
			NeedLeaderElection:      new(!k.Everywhere),
			ReconciliationTimeout:   passTimeout,
			RecoverPanic:            new(true),
			LogConstructor:          loggerOf(mgr.GetLogger(), k.Word),
			EnableWarmup:            new(true), // a standby has its caches filled when it takes over
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				firstBackoff, longestBackoff),
		})
}

// loggerOf names the object in each line, and nothing that is the same in all of them.
func loggerOf(logger logr.Logger, word string) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return logger
		}
		return logger.WithValues("namespace", request.Namespace, word, request.Name)
	}
}

// changed lets through what changes the spec or asks for something by annotation, deletion included. Our own writes of
// the status begin no pass, unless it was taken away.
func changed(isTold func(client.Object) bool) predicate.Predicate {
	statusLost := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectNew != nil && !isTold(e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)
}

// ByLabel maps an object to the one that a label of it names, in the same namespace.
func ByLabel(label string) handler.EventHandler {
	return ByLabels(func(labels map[string]string) string { return labels[label] })
}

// ByLabels does the same where the name is found otherwise in its labels.
func ByLabels(nameIn func(labels map[string]string) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := nameIn(object.GetLabels())
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
	})
}
