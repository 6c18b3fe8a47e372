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
	// Silence reads the Lease and says for how long this process has seen no renewal of it; zero where it cannot read
	// it.
	Silence func(context.Context) time.Duration
}
