package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// defaultStall is how long a store may leave a request standing.
const defaultStall = 30 * time.Second

// completeLimit is for the requests in which a store puts the parts of an object together: some copy all of them before
// they answer.
const completeLimit = 2 * time.Minute

// watched ends a request whose body the store stops taking, or that it does not answer. An upload keeps several parts
// under way, so that only here is seen what each of them does.
type watched struct {
	next  http.RoundTripper
	stall time.Duration
}

func (w watched) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	watch := &watch{limit: w.limitOf(request)}
	watch.timer = time.AfterFunc(watch.limit, func() {
		if !watch.answered.Load() {
			cancel(ErrStalled)
		}
	})
	request = request.WithContext(ctx)
	if request.Body != nil && request.Body != http.NoBody {
		request.Body = watchedBody{request.Body, watch}
	}
	response, err := w.next.RoundTrip(request)
	watch.answered.Store(true)
	watch.timer.Stop()
	if err != nil {
		if errors.Is(context.Cause(ctx), ErrStalled) {
			err = ErrStalled
		}
		cancel(nil)
		return nil, err
	}
	response.Body = releasing{response.Body, cancel}
	return response, nil
}

// limitOf tells completing a multipart upload (S3), and committing a list of blocks (Azure), from all other requests.
func (w watched) limitOf(request *http.Request) time.Duration {
	query := request.URL.Query()
	if request.Method == http.MethodPost && query.Has("uploadId") || query.Get("comp") == "blocklist" {
		return max(w.stall, completeLimit)
	}
	return w.stall
}

type watch struct {
	limit    time.Duration
	timer    *time.Timer
	answered atomic.Bool
}

// watchedBody is a request's body whose every byte taken buys time.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.timer.Reset(b.watch.limit)
	}
	return n, err
}

// releasing gives the request's context back with its answer.
type releasing struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (r releasing) Close() error {
	err := r.ReadCloser.Close()
	r.cancel(nil)
	return err
}
