package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
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
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// frame is what the controllers of EtcdBackups and of EtcdBackupSchedules have in common: each looks at one object, decides
// on one change, makes it, and tells.
type frame struct {
	Client   client.Client // reads from the cache, writes to the API server
	Live     client.Reader // reads from the API server
	Recorder events.EventRecorder
	Operator string // namespace/name by which this install claims clusters
	Now      func() time.Time

	unseen *unseenWrites
}

func newFrame(mgr ctrl.Manager, operator string) frame {
	return frame{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(v1alpha1.Group + "/controller"),
		Operator: operator, Now: time.Now, unseen: newUnseenWrites(time.Now),
	}
}

// kind is what a controller of the operator is about.
type kind struct {
	name     string // of the controller
	object   client.Object
	word     string // for the log
	parallel int    // passes at once
	isTold   func(client.Object) bool
}

// controllerOf begins a controller with what all of the operator's have.
func controllerOf(mgr ctrl.Manager, k kind) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		Named(k.name).
		For(k.object, builder.WithPredicates(changed(k.isTold))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: k.parallel,
			ReconciliationTimeout:   passTimeout,
			RecoverPanic:            new(true),
			LogConstructor:          loggerOf(mgr.GetLogger(), k.word),
			EnableWarmup:            new(true), // a standby has its caches filled when it takes over
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, longestBackoff),
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

// changed lets through what changes the spec or asks for something by annotation, deletion included. Our own writes of the
// status begin no pass, unless somebody took it away.
func changed(isTold func(client.Object) bool) predicate.Predicate {
	statusLost := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return e.ObjectNew != nil && !isTold(e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, statusLost)
}

// byLabel maps an object to the one that a label of it names, in the same namespace.
func byLabel(label string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := object.GetLabels()[label]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
	})
}

// begin reads what a pass is about. It is not ready while the cache does not show what was written, and when it is gone:
// then what is kept of it is dropped.
func (f *frame) begin(ctx context.Context, key types.NamespacedName, into client.Object, forget func(types.NamespacedName)) (bool, ctrl.Result, error) {
	if f.unseen.isBehind(ctx, f.Client, key) {
		return false, ctrl.Result{RequeueAfter: afterChange}, nil
	}
	err := f.Client.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		f.unseen.forget(key)
		forget(key)
		return false, ctrl.Result{}, nil
	case err != nil:
		return false, ctrl.Result{}, fmt.Errorf("reading %T %s: %w", into, key, err)
	}
	return true, ctrl.Result{}, nil
}

// refusal is why a change was not made, for people; nil when the next look tells what came of it.
type refusal struct{ reason, message string }

// answerOf says what the answer to a change means.
func answerOf(err error) (*refusal, error) {
	var (
		later    apply.Later
		rejected apply.Rejected
	)
	switch {
	case err == nil, errors.Is(err, apply.ErrStale):
		return nil, nil
	case errors.As(err, &later):
		return &refusal{later.Reason, later.Message}, nil
	case errors.As(err, &rejected):
		return &refusal{rejected.Reason, rejected.Message}, nil
	}
	return nil, err
}

// annotate changes only the object that was looked at, as it was then.
func (f *frame) annotate(ctx context.Context, was client.Object, annotation, value string) error {
	updated := was.DeepCopyObject().(client.Object)
	annotations := updated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = value
	updated.SetAnnotations(annotations)
	err := f.Client.Patch(ctx, updated, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}), fieldOwner)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return apply.ErrStale
	case err != nil:
		return apply.Answer(err, fmt.Sprintf("recording on %s %s", kindOf(was), was.GetName()))
	}
	f.unseen.wrote(client.ObjectKeyFromObject(was), updated)
	return nil
}

// create makes an object for another. One that is there already is for the next look to tell: ours and not seen yet, or
// somebody else's.
func (f *frame) create(ctx context.Context, owner, object client.Object) error {
	err := f.Client.Create(ctx, object, fieldOwner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return apply.ErrStale
	case err != nil:
		return apply.Answer(err, fmt.Sprintf("creating the %s %s", kindOf(object), object.GetName()))
	}
	f.unseen.wrote(client.ObjectKeyFromObject(owner), object)
	return nil
}

// writeStatus stores the status of an object that differs from what it was. It is written only when it is stored; later asks
// to look again first.
func (f *frame) writeStatus(ctx context.Context, was, updated client.Object) (written bool, later time.Duration, err error) {
	err = f.Client.Status().Patch(ctx, updated, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}), fieldOwner)
	switch {
	case apierrors.IsNotFound(err):
		return false, 0, nil
	case apierrors.IsConflict(err): // it moved on, and its next pass says what is true then
		return false, afterStale, nil
	case err != nil:
		return false, 0, fmt.Errorf("writing the status of %s %s: %w", kindOf(was), client.ObjectKeyFromObject(was), err)
	}
	f.unseen.wrote(client.ObjectKeyFromObject(was), updated)
	return true, 0, nil
}

func (f *frame) tell(about client.Object, all []words.Event) {
	for _, event := range all {
		kind := corev1.EventTypeNormal
		if event.Warning {
			kind = corev1.EventTypeWarning
		}
		f.Recorder.Eventf(about, nil, kind, event.Reason, event.Action, "%s", event.Note)
	}
}

// kindOf is the kind of an object, for people.
func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

// absentAsNil reads an object; nil when there is none.
func absentAsNil[T client.Object](ctx context.Context, reader client.Reader, namespace, name string, into T) (T, error) {
	var none T
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("reading %T %s/%s: %w", into, namespace, name, err)
	}
	return into, nil
}

// soonest is the earlier of two times to look again; zero asks for nothing.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
