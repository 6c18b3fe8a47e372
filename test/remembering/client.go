// Package remembering makes controller-runtime's client in memory fast. That one turns each answer into JSON and back, which
// was most of what the tests of whole passes did: between two writes a pass reads the same lists again and again.
package remembering

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// remembered is what was answered about each kind since the last write to it, by the question.
type remembered struct {
	mu      sync.Mutex
	answers map[string]map[string]runtime.Object
	writes  int
}

// Client answers what inner does, and asks it again only after a write to that kind. All writes have to go through it. Errors
// are not remembered.
func Client(inner client.WithWatch) client.WithWatch {
	r := &remembered{answers: map[string]map[string]runtime.Object{}}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return r.answer(o, fmt.Sprint(key, opts), func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			question := fmt.Sprint(o.Namespace, " ", o.LabelSelector, " ", o.FieldSelector, " ", o.Limit, o.Continue)
			return r.answer(list, question, func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return r.write(kindOf(o), func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return r.write(kindOf(o), func() error { return c.Delete(ctx, o, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
			return r.write(kindOf(o), func() error { return c.DeleteAllOf(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return r.write(kindOf(o), func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return r.write(kindOf(o), func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return r.write("", func() error { return c.Apply(ctx, o, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object,
			opts ...client.SubResourceCreateOption) error {
			return r.write(kindOf(o), func() error { return c.SubResource(sub).Create(ctx, o, body, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return r.write(kindOf(o), func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return r.write(kindOf(o), func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration,
			opts ...client.SubResourceApplyOption) error {
			return r.write("", func() error { return c.SubResource(sub).Apply(ctx, o, opts...) })
		},
	})
}

// answer fills what is asked for.
func (r *remembered) answer(into runtime.Object, question string, ask func() error) error {
	kind := kindOf(into)
	question = fmt.Sprintf("%T %s", into, question)
	r.mu.Lock()
	known, writes := r.answers[kind][question], r.writes
	r.mu.Unlock()
	if known != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	if err := ask(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writes == writes {
		if r.answers[kind] == nil {
			r.answers[kind] = map[string]runtime.Object{}
		}
		r.answers[kind][question] = into.DeepCopyObject()
	}
	return nil
}

// kindOf is what an object, or each of a list, is. Those without a type of their own say it themselves.
func kindOf(o runtime.Object) string {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if name := reflect.TypeOf(o).Elem().Name(); !strings.HasPrefix(name, "PartialObject") && !strings.HasPrefix(name, "Unstructured") {
		kind = name
	}
	return strings.TrimSuffix(kind, "List")
}

// write forgets the answers about a kind, or about all, also where it fails: an object may have been changed by half. What is
// asked meanwhile is not remembered, since nothing says whether it was answered before or after.
func (r *remembered) write(kind string, do func() error) error {
	r.forget(kind)
	defer r.forget(kind)
	return do()
}

func (r *remembered) forget(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.answers, kind)
	if kind == "" {
		clear(r.answers)
	}
	r.writes++
}
