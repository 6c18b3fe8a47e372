package kit

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Lease is the Lease by which the replicas of an install elect their leader, and what this process calls itself in it.
type Lease struct {
	types.NamespacedName
	Identity string
	// Now is this machine's own clock. The holder wrote renewTime by it, so that the two compare whatever time other
	// machines have.
	Now func() time.Time
	// IsSilent reports whether the holder did not renew the Lease for so long, and waits until that can be said. It is
	// false where the Lease cannot be read.
	IsSilent func(ctx context.Context, long time.Duration) bool
}
