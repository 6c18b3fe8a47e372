package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// defaultStall is how long a store may leave a request standing.
const defaultStall = 30 * time.Second

// completeLimit is for the requests in which a store puts the parts of an object together: some copy all of them before
// they answer.
const completeLimit = 2 * time.Minute

// maxDescription bounds every answer that is no object, such as a page of a list: the libraries read them into memory
// whole.
const maxDescription = 16 << 20

var errEndless = fmt.Errorf("%w: an answer of it is longer than %d MiB and no object", ErrStore, maxDescription>>20)

// watched ends a request whose body the store stops taking, or that it does not answer. An upload keeps several parts
// under way, so that only here is seen what each of them does.
type watched struct {
	next  http.RoundTripper
	stall time.Duration
	mood  *mood // may be nil
}

// mood is whether the last thing that the store said was to slow down. The libraries wait then, and say nothing while
// they do.
type mood struct{ patient atomic.Bool }

func (m *mood) note(status int) {
	if m != nil {
		m.patient.Store(status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable)
	}
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
	w.mood.note(response.StatusCode)
	if !isObject(request, response) {
		response.Body = &bounded{response.Body, maxDescription}
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

// isObject tells the bytes of an object, which whoever asked for them counts himself, from all other answers: lists of
// S3 and its uploads, of Azure and of GCS, and what GCS says of an object.
func isObject(request *http.Request, response *http.Response) bool {
	query := request.URL.Query()
	isDescription := query.Has("list-type") || query.Has("uploads") || query.Has("comp") || query.Get("alt") == "json"
	return request.Method == http.MethodGet && response.StatusCode/100 == 2 && !isDescription
}

// bounded fails where an answer goes on.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errEndless
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
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

// errRedirected marks a store that wanted the request, and with it the data, sent to somebody else.
var errRedirected = errors.New("the store redirects to another host")

// newHTTPClient speaks to the store alone. With a CA file it trusts exactly that; redirects within the host are
// followed, as S3 knows them, and others are refused. It has no overall deadline, since big objects take long: a
// request ends when it stands still.
func newHTTPClient(o Options) (*http.Client, error) {
	if o.CAFile == "" {
		return newClient(nil, o), nil
	}
	roots := x509.NewCertPool()
	if err := addCA(roots, o.CAFile); err != nil {
		return nil, err
	}
	return newClient(roots, o), nil
}

// newIdentityClient speaks to whoever gives out identities. That is the cloud, whose certificate is of the system's
// CAs, or stands behind what the store stands behind, and so it trusts both.
func newIdentityClient(o Options) (*http.Client, error) {
	roots, err := identityRoots(o.CAFile)
	if err != nil {
		return nil, err
	}
	o.mood = nil // how they are says nothing of the store
	return newClient(roots, o), nil
}

func identityRoots(caFile string) (*x509.CertPool, error) {
	if caFile == "" {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's CAs: %w", err)
	}
	return roots, addCA(roots, caFile)
}

func addCA(roots *x509.CertPool, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the store's CA: %w", err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("read the store's CA: %s has no certificate", file)
	}
	return nil
}

func newClient(roots *x509.CertPool, o Options) *http.Client {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   uploadConcurrency + 1,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		// nothing of ours is stored compressed, and a few bytes could become any number of them
		DisableCompression: true,
	}
	if o.Stall <= 0 {
		o.Stall = defaultStall
	}
	return &http.Client{Transport: watched{next: transport, stall: o.Stall, mood: o.mood}, CheckRedirect: stayOnHost}
}

func stayOnHost(request *http.Request, via []*http.Request) error {
	if len(via) >= 3 {
		return errors.New("the store redirects in a circle")
	}
	first := via[0].URL
	if request.URL.Host != first.Host || request.URL.Scheme != first.Scheme {
		return errRedirected
	}
	return nil
}
