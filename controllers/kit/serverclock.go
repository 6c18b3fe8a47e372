package kit

import (
	"net/http"
	"sync/atomic"
	"time"
)

// leastOffset is how far this machine's clock has to be off before it is corrected: the header has whole seconds.
const leastOffset = 3 * time.Second

// ServerClock is the API server's clock, as far as the Date header of its answers tells. Deadlines count from times
// that the API server wrote, so that they are compared with the time there. Before the first answer it is this
// machine's clock.
type ServerClock struct{ offset atomic.Int64 }

// Now is the time by the API server's clock.
func (c *ServerClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Wrap reads the date of each answer.
func (c *ServerClock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.learn(time.Until(date))
		}
		return response, nil
	})
}

func (c *ServerClock) learn(offset time.Duration) {
	if offset.Abs() < leastOffset {
		offset = 0
	}
	c.offset.Store(int64(offset))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
