package observe

import (
	"sync"
	"time"
)

// deniedFor is how long a right that the operator lacks is not asked for again. Rights come with an install, and rarely
// after it.
const deniedFor = 5 * time.Minute

// denials are the kinds that the API server did not let the operator read, and until when that is believed. An install
// for one namespace has no rights on nodes, and must not ask for them in each look.
type denials struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (d *denials) isDenied(kind string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now.Before(d.until[kind])
}

func (d *denials) add(kind string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = map[string]time.Time{}
	}
	d.until[kind] = now.Add(deniedFor)
}
