package policy

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kube "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// observer asks about each write of a test what the policies would have said.
type observer struct {
	t    testing.TB
	mu   sync.Mutex
	made map[client.ObjectKey]bool // what was created here: a real server knows by whom
}

// Observed is a client in memory that the operator under test writes by. What the policies would have refused, fails the
// test.
func Observed(t testing.TB, inner client.WithWatch) client.WithWatch {
	t.Helper()
	o := &observer{t: t, made: map[client.ObjectKey]bool{}}
	return interceptor.NewClient(inner, interceptor.Funcs{Create: o.create, Patch: o.patch, Apply: o.apply, Delete: o.remove})
}

func (o *observer) create(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
	asked := object.DeepCopyObject().(client.Object)
	if err := c.Create(ctx, object, opts...); err != nil {
		return err
	}
	o.mu.Lock()
	o.made[client.ObjectKeyFromObject(object)] = true
	o.mu.Unlock()
	o.ask(ctx, Request{Operation: admission.Create, Object: asked})
	return nil
}

func (o *observer) patch(ctx context.Context, c client.WithWatch, object client.Object, p client.Patch, opts ...client.PatchOption) error {
	old := o.there(ctx, c, object)
	if err := c.Patch(ctx, object, p, opts...); err != nil {
		return err
	}
	o.ask(ctx, Request{Operation: admission.Update, Old: old, Object: object})
	return nil
}

func (o *observer) apply(ctx context.Context, c client.WithWatch, config kube.ApplyConfiguration, opts ...client.ApplyOption) error {
	like := &unstructured.Unstructured{}
	if text, err := json.Marshal(config); err != nil || like.UnmarshalJSON(text) != nil {
		o.t.Errorf("this cannot be read: %v", config)
	}
	typed, err := known().New(like.GroupVersionKind())
	if err != nil {
		o.t.Errorf("the policies know no such kind: %v", err)
		return err
	}
	object := typed.(client.Object)
	object.SetNamespace(like.GetNamespace())
	object.SetName(like.GetName())
	old := o.there(ctx, c, object)
	if err := c.Apply(ctx, config, opts...); err != nil {
		return err
	}
	o.ask(ctx, Request{Operation: admission.Update, Old: old, Object: o.there(ctx, c, object)})
	return nil
}

func (o *observer) remove(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
	old := o.there(ctx, c, object)
	if err := c.Delete(ctx, object, opts...); err != nil {
		return err
	}
	o.ask(ctx, Request{Operation: admission.Delete, Old: old,
		Options: (&client.DeleteOptions{}).ApplyOptions(opts).AsDeleteOptions()})
	return nil
}

// there is the object as it is, and with what a real server knows of who made it.
func (o *observer) there(ctx context.Context, c client.Client, like client.Object) client.Object {
	object := reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(like), object); err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made[client.ObjectKeyFromObject(like)] {
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "etcd-steward"}})
	}
	return object
}

func (o *observer) ask(ctx context.Context, r Request) {
	if err := Ask(ctx, r); err != nil {
		o.t.Errorf("an API server with config/policy would have refused this: %v", err)
	}
}
