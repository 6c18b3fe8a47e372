package kit

import (
	"time"

	"golang.org/x/time/rate"
)

// How much one replica answers at most. Who may create an object can ask in a loop (`--dry-run=server`), and each
// answer costs a dozen reads. Requests to the API server wait for no limit on this side (QPS is -1 in
// controller-runtime:pkg/client/config), so that passes wait for no answer. What they share is the account's place in
// the API server's priority and fairness, of which few answers at once take little.
const (
	admitsASecond  = 20
	admitsInABurst = 60 // a directory that a tool applies
	admitsAtOnce   = 8
)

// Webhook is what answers about all kinds have in common.
type Webhook struct {
	rate *rate.Limiter
	busy chan struct{}
	now  func() time.Time
}

// NewWebhook makes one for an install that the API server asks about objects.
func NewWebhook() *Webhook {
	return &Webhook{rate: rate.NewLimiter(admitsASecond, admitsInABurst), busy: make(chan struct{}, admitsAtOnce),
		now: time.Now}
}

// begin reports whether one more answer is within the bound. It never waits. Where it is, end has to follow.
func (w *Webhook) begin() bool {
	select {
	case w.busy <- struct{}{}:
	default:
		return false
	}
	if !w.rate.AllowN(w.now(), 1) {
		w.end()
		return false
	}
	return true
}

func (w *Webhook) end() { <-w.busy }
