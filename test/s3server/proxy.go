package s3server

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands before a server, with the server's credentials, bucket and certificate. It passes everything
// on as it is until faults are injected.
type Proxy struct {
	Access

	closed   chan struct{}
	upstream *httputil.ReverseProxy
	classify func(*http.Request) Request

	mu     sync.Mutex
	faults []*Injected
	seen   []Request
}

// Injected is a fault in a proxy.
type Injected struct {
	fault   Fault
	proxy   *Proxy
	passed  int // matching requests that were let through before it
	count   int
	reached chan struct{}

	release  sync.Once
	released chan struct{}
}

// Proxy starts one on the server's host, which ends with the test.
func (s *Server) Proxy(t testing.TB) *Proxy {
	t.Helper()
	p := &Proxy{Access: s.Access, closed: make(chan struct{}), classify: parseRequest}
	target, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.upstream = newUpstream(target, s.CA)
	return p.listen(t, target, s.pair)
}

// Backend is a server that speaks another protocol than S3's over HTTP, and signs nothing: a proxy may stand before it as well.
type Backend struct {
	Endpoint, Bucket string
	Classify         func(*http.Request) Request // gives a request the name of the operation of S3 that does the same
}

// Before starts a proxy before such a server. Addresses that the server sends its clients to are the proxy's.
func Before(t testing.TB, b Backend) *Proxy {
	t.Helper()
	p := &Proxy{Access: Access{Bucket: b.Bucket}, closed: make(chan struct{}), classify: b.Classify}
	target, err := url.Parse(b.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p.upstream = newUpstream(target, nil)
	p.upstream.Rewrite = func(r *httputil.ProxyRequest) { r.SetURL(target) }
	spoil := p.upstream.ModifyResponse
	p.upstream.ModifyResponse = func(r *http.Response) error {
		if to := r.Header.Get("Location"); to != "" {
			r.Header.Set("Location", strings.Replace(to, b.Endpoint, p.Endpoint, 1))
		}
		return spoil(r)
	}
	return p.listen(t, target, nil)
}

// listen starts it on its server's host.
func (p *Proxy) listen(t testing.TB, target *url.URL, pair *KeyPair) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(target.Hostname(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	p.Endpoint = target.Scheme + "://" + listener.Addr().String()
	if pair != nil {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair.Certificate}, MinVersion: tls.VersionTLS12})
	}
	serve(t, listener, p, func() { close(p.closed) })
	return p
}

// serve answers until the test ends; release lets go of the requests that are held.
func serve(t testing.TB, listener net.Listener, handler http.Handler, release func()) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		release()
		_ = server.Close()
	})
}

// newUpstream passes requests on with the host that was signed, and what comes back as it comes.
func newUpstream(target *url.URL, ca []byte) *httputil.ReverseProxy {
	transport := Trusting(ca)
	transport.DisableCompression, transport.ExpectContinueTimeout = true, time.Second
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(r *http.Response) error {
			if play, faulty := r.Request.Context().Value(playKey{}).(*play); faulty && play.fault.answer != nil {
				return play.fault.answer(play, r)
			}
			return nil
		},
		// A request that failed on its way gets no answer, as when a cable is pulled.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// ServeHTTP answers one request: by the fault that is meant for it, or as the server does.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	injected := p.pick(p.classify(r))
	if injected == nil {
		p.upstream.ServeHTTP(w, r)
		return
	}
	play := &play{fault: &injected.fault, released: injected.released, ended: p.closed, gone: r.Context().Done()}
	if play.fault.instead != nil {
		play.fault.instead(play, w, r)
		return
	}
	p.upstream.ServeHTTP(w, play.prepare(r))
}

// pick writes a request down and finds the first fault for it.
func (p *Proxy) pick(r Request) *Injected {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r)
	for _, i := range p.faults {
		if i.takes(r) {
			return i
		}
	}
	return nil
}

// takes counts a request against the fault's own measure; the proxy is locked.
func (i *Injected) takes(r Request) bool {
	f := i.fault
	if len(f.on) > 0 && !slices.Contains(f.on, r.Operation) {
		return false
	}
	if f.only != nil && !f.only(r) {
		return false
	}
	if i.passed < f.after {
		i.passed++
		return false
	}
	if f.times > 0 && i.count >= f.times {
		return false
	}
	i.count++
	if i.count == 1 {
		close(i.reached)
	}
	return true
}

// Inject adds a fault, behind those that are there.
func (p *Proxy) Inject(f Fault) *Injected {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := &Injected{fault: f, proxy: p, reached: make(chan struct{}), released: make(chan struct{})}
	p.faults = append(p.faults, i)
	return i
}

// Heal takes all faults away. Requests that are held stay so until they are released.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// Requests are all that came, in their order.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// Count is how many requests the fault met.
func (i *Injected) Count() int {
	i.proxy.mu.Lock()
	defer i.proxy.mu.Unlock()
	return i.count
}

// Reached is closed once it met one.
func (i *Injected) Reached() <-chan struct{} { return i.reached }

// Release lets go of the requests that stalled, and of all that would: they go on as if nothing had been.
func (i *Injected) Release() { i.release.Do(func() { close(i.released) }) }

// String names the fault.
func (i *Injected) String() string { return fmt.Sprintf("%s, met %d times", i.fault.name, i.Count()) }
