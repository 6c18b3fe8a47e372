package s3server

import (
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Stranger is another host, to which nothing should ever be sent. It says yes to everything.
type Stranger struct {
	// Endpoint is a URL without a path, of another address than the servers'.
	Endpoint string

	mu   sync.Mutex
	seen []Request
}

// NewStranger starts one, which ends with the test.
func NewStranger(t testing.TB) *Stranger {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Stranger{Endpoint: "http://" + listener.Addr().String()}
	serve(t, listener, s, func() {})
	return s
}

// ServeHTTP takes what comes.
func (s *Stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, parseRequest(r))
	s.mu.Unlock()
	drain(r)
	w.Header().Set("ETag", wrongETag)
	_, _ = io.WriteString(w, "not what you wanted")
}

// Requests are all that came.
func (s *Stranger) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}
