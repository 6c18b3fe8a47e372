package kit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/apply"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// NotingClient notes what is written through it: a Secret that was written is not believed from memory any more, and
// the next pass waits until the cache shows the rest.
type NotingClient struct {
	client.Client
	Secrets interface {
		Forget(key types.NamespacedName)
	}
	Unseen *UnseenWrites
}

// Create implements client.Client.
func (c NotingClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, object, opts...)
	return c.note(object, err, (&client.CreateOptions{}).ApplyOptions(opts).DryRun)
}

// Update implements client.Client.
func (c NotingClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	err := c.Client.Update(ctx, object, opts...)
	return c.note(object, err, (&client.UpdateOptions{}).ApplyOptions(opts).DryRun)
}

// Patch implements client.Client.
func (c NotingClient) Patch(ctx context.Context, object client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, object, patch, opts...)
	return c.note(object, err, (&client.PatchOptions{}).ApplyOptions(opts).DryRun)
}

// Delete implements client.Client.
func (c NotingClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, object, opts...)
	c.forget(object)
	if options := (&client.DeleteOptions{}).ApplyOptions(opts); err == nil && len(options.DryRun) == 0 {
		c.Unseen.Deleted(clusterOf(object), object, uidOf(object, options))
	}
	return err
}

func (c NotingClient) note(object client.Object, err error, dryRun []string) error {
	c.forget(object)
	if err == nil && len(dryRun) == 0 {
		c.Unseen.Wrote(clusterOf(object), object)
	}
	return err
}

func (c NotingClient) forget(object client.Object) {
	if _, ok := object.(*corev1.Secret); ok {
		c.Secrets.Forget(client.ObjectKeyFromObject(object))
	}
}

// clusterOf is the cluster that an object says it belongs to.
func clusterOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: v1alpha1.ClusterOf(object.GetLabels())}
}

// uidOf is which object of that name was deleted, as far as the caller said.
func uidOf(object client.Object, options *client.DeleteOptions) types.UID {
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		return *options.Preconditions.UID
	}
	return object.GetUID()
}

// Annotate writes annotations. One without a value goes.
func (f *Frame) Annotate(ctx context.Context, was client.Object, annotations map[string]string) error {
	return f.Edit(ctx, was, func(updated client.Object) {
		all := updated.GetAnnotations()
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, annotations)
		maps.DeleteFunc(all, func(key, value string) bool {
			_, isOurs := annotations[key]
			return isOurs && value == ""
		})
		updated.SetAnnotations(all)
	})
}

// Edit changes only the object that was looked at, as it was then.
func (f *Frame) Edit(ctx context.Context, was client.Object, edit func(client.Object)) error {
	updated := was.DeepCopyObject().(client.Object)
	edit(updated)
	err := f.Client.Patch(ctx, updated, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}),
		apply.FieldOwner)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return apply.ErrStale
	case err != nil:
		return apply.Answer(err, fmt.Sprintf("recording on %s %s", kindOf(was), was.GetName()))
	}
	f.Unseen.Wrote(client.ObjectKeyFromObject(was), updated)
	return nil
}

// Create makes an object for another. One that is there already is for the next look to tell: ours and not seen yet, or
// of another owner.
func (f *Frame) Create(ctx context.Context, owner, object client.Object) error {
	err := f.Client.Create(ctx, object, apply.FieldOwner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return apply.ErrStale
	case err != nil:
		return apply.Answer(err, fmt.Sprintf("creating the %s %s", kindOf(object), object.GetName()))
	}
	f.Unseen.Wrote(client.ObjectKeyFromObject(owner), object)
	return nil
}

// Delete deletes an object, with what it owns, as it was seen and no other one of its name. That it is gone is as good.
func (f *Frame) Delete(ctx context.Context, owner, object client.Object, uid types.UID) error {
	err := f.Client.Delete(ctx, object, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return apply.Answer(err, fmt.Sprintf("deleting the %s %s", kindOf(object), object.GetName()))
	}
	f.Unseen.Deleted(client.ObjectKeyFromObject(owner), object, uid)
	return nil
}

// Refusal is why a change was not made, for people; nil when the next look tells what came of it.
type Refusal struct{ Reason, Message string }

// Answered says what the answer to a change means that was tried, and tells it in the trace of the pass.
func Answered(ctx context.Context, change any, err error) (*Refusal, error) {
	traceChange(ctx, change, err)
	var (
		later    apply.Later
		rejected apply.Rejected
	)
	switch {
	case err == nil, errors.Is(err, apply.ErrStale):
		return nil, nil
	case errors.As(err, &later):
		return &Refusal{later.Reason, later.Message}, nil
	case errors.As(err, &rejected):
		return &Refusal{rejected.Reason, rejected.Message}, nil
	}
	return nil, err
}

// kindOf is the kind of an object, for people.
func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

// WriteStatus stores the status of an object that differs from what it was. It is written only when it is stored; later
// asks to look again first.
func (f *Frame) WriteStatus(ctx context.Context,
	was, updated client.Object) (written bool, later time.Duration, err error) {
	err = f.Client.Status().Patch(ctx, updated, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}),
		apply.FieldOwner)
	switch {
	case apierrors.IsNotFound(err):
		return false, 0, nil
	case apierrors.IsConflict(err): // it switched over, and its next pass says what is true then
		return false, AfterStale, nil
	case err != nil:
		return false, 0, fmt.Errorf("writing the status of %s %s: %w", kindOf(was), client.ObjectKeyFromObject(was),
			err)
	}
	f.Unseen.Wrote(client.ObjectKeyFromObject(was), updated)
	return true, 0, nil
}

// Tell tells people of an object what happened.
func (f *Frame) Tell(about client.Object, told []words.Event) {
	for _, event := range told {
		f.Recorder.Eventf(about, podOf(about, event.Member), event.Type(), event.Reason, event.Action, "%s", event.Note)
	}
}

// podOf is the Pod that an event is about as well. The API server tells series of events apart by it, and would drop
// what happens to a second member soon after the first.
func podOf(about client.Object, member string) runtime.Object {
	if member == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: about.GetNamespace(), Name: member}
}
