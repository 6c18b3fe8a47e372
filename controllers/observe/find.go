package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Find reads one object; nil when there is none.
func Find[T any, P interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, namespace, name string) (P, error) {
	object := P(new(T))
	err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %T %s/%s: %w", object, namespace, name, err)
	}
	return object, nil
}
