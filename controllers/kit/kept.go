package kit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Kept is what is remembered of objects until they are gone. It decides nothing but how soon something is done. It is
// safe for concurrent use; the zero value is empty.
type Kept[V any] struct {
	mu       sync.Mutex
	byObject map[types.NamespacedName]V
}

// Get is what is remembered of an object.
func (k *Kept[V]) Get(key types.NamespacedName) (value V, isKept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	value, isKept = k.byObject[key]
	return value, isKept
}

// Set remembers something of an object.
func (k *Kept[V]) Set(key types.NamespacedName, value V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byObject == nil {
		k.byObject = map[types.NamespacedName]V{}
	}
	k.byObject[key] = value
}

// Forget drops what is remembered of an object, and reports whether there was something.
func (k *Kept[V]) Forget(key types.NamespacedName) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, isKept := k.byObject[key]
	delete(k.byObject, key)
	return isKept
}

// Pace remembers when something was last done for an object.
type Pace struct{ Kept[time.Time] }

// Rest is how long is left until the interval since the last time is over; zero when it is.
func (p *Pace) Rest(key types.NamespacedName, now time.Time, interval time.Duration) time.Duration {
	last, isKept := p.Get(key)
	if !isKept {
		return 0
	}
	return max(0, interval-now.Sub(last))
}
