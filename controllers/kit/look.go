package kit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Begin reads what a pass is about. It is not ready while the cache does not show what was written, and when it is
// gone: then what is kept of it is dropped.
func (f *Frame) Begin(ctx context.Context, key types.NamespacedName, into client.Object,
	forget func(types.NamespacedName)) (bool, ctrl.Result, error) {
	if f.Unseen.IsBehind(ctx, f.Client, key) {
		return false, ctrl.Result{RequeueAfter: AfterChange}, nil
	}
	err := f.Client.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		f.Unseen.Forget(key)
		forget(key)
		return false, ctrl.Result{}, nil
	case err != nil:
		return false, ctrl.Result{}, fmt.Errorf("reading %T %s: %w", into, key, err)
	}
	return true, ctrl.Result{}, nil
}

// isSeen asks the cache, which answers from memory. What cannot be compared counts as seen.
func (w unseenWrite) isSeen(ctx context.Context, cached client.Reader) bool {
	object := w.empty()
	err := cached.Get(ctx, w.key, object)
	isDelete := w.resourceVersion == ""
	switch {
	case apierrors.IsNotFound(err):
		return isDelete
	case err != nil:
		return true
	case isDelete:
		return object.GetUID() != w.deleted || object.GetDeletionTimestamp() != nil
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), w.resourceVersion)
	return err != nil || order >= 0
}
