package kit

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/apply"
)

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
