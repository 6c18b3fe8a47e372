package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/etcdsteward/etcd-steward/controllers/pages"
)

// tellWhatIsMissing says of a watch that a role does not allow what to do about it. A user who upgrades the image alone
// meets this: the new release watches more than the former roles allow. The former release goes on, since the new one
// does not become ready.
func tellWhatIsMissing(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, withRemedy(err))
}

// withRemedy leaves an error that is not about a right as it is.
func withRemedy(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w. The operator lacks a right that this release needs, and tries again. Apply the roles of "+
		"this release in the way that it was installed: "+
		pages.Docs+"docs/install.md#upgrade. If a namespace was deleted, take it "+
		"out of --namespace", err)
}
