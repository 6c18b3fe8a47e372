package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
)

// tellWhatIsMissing says of a watch that failed for what an install lacks what to do about it. A user who upgrades the
// image alone meets this: the new release watches more than its roles and definitions allow. The former one goes on,
// since the new one does not become ready.
func tellWhatIsMissing(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, withRemedy(err))
}

// withRemedy leaves an error that is not about the install as it is.
func withRemedy(err error) error {
	if !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return err
	}
	return fmt.Errorf("%w. This replica is not ready before it can watch that, and tries again. Apply the roles and "+
		"definitions of this release together with its image: kubectl apply -k config/default, or helm upgrade", err)
}
