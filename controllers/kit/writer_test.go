package kit

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/observe"
)

// countingReader holds one Secret of the operator, and counts how often it is read.
type countingReader struct {
	client.Reader
	reads int
}

func (r *countingReader) Get(_ context.Context, key types.NamespacedName, object client.Object, _ ...client.GetOption) error {
	r.reads++
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	return nil
}

// fixedWriter takes every write, or fails each with one error.
type fixedWriter struct {
	client.Client
	err error
}

func (w fixedWriter) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	object.SetResourceVersion("7")
	return w.err
}

func (w fixedWriter) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return w.err
}

func (w fixedWriter) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	object.SetResourceVersion("7")
	return w.err
}

func TestASecretThatWasWrittenIsReadAnewEvenIfTheWriteFailed(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "demo-ca"}
	for _, err := range []error{nil, errors.New("lost")} {
		for verb, write := range map[string]func(client.Client, *corev1.Secret) error{
			"create": func(c client.Client, s *corev1.Secret) error { return c.Create(t.Context(), s) },
			"delete": func(c client.Client, s *corev1.Secret) error { return c.Delete(t.Context(), s) },
			"patch":  func(c client.Client, s *corev1.Secret) error { return c.Patch(t.Context(), s, client.MergeFrom(s)) },
		} {
			reader := &countingReader{}
			cache := observe.NewSecretCache(reader, time.Now)
			writer := NotingClient{Client: fixedWriter{err: err}, Secrets: cache, Unseen: NewUnseenWrites(time.Now)}
			secret, getErr := cache.Get(t.Context(), key)
			if getErr != nil {
				t.Fatal(getErr)
			}
			if got := write(writer, secret.DeepCopy()); !errors.Is(got, err) {
				t.Errorf("%s: the error is %v", verb, got)
			}
			if _, err := cache.Get(t.Context(), key); err != nil || reader.reads != 2 {
				t.Errorf("%s: read %d times, %v", verb, reader.reads, err)
			}
		}
	}
}
