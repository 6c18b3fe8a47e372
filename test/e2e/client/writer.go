// Package client is the client that writes through every story: unique keys, one put at a time, and a reckoning at the
// end of everything it was told was stored.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

// What the client promises itself: one attempt is bounded, and a page that is read back.
const (
	attemptTimeout = time.Second
	readTimeout    = 5 * time.Second
	retryPause     = 20 * time.Millisecond
)

// Options say how a writer writes.
type Options struct {
	Endpoints []string    // URLs, at least one; SetEndpoints replaces them
	TLS       *tls.Config // nil without TLS
	Connect   Connect     // nil: by the machine's own DNS
	User      string      // who logs in by a password; empty: the certificate alone says who it is
	Password  string
	Prefix    string  // of the keys, unique to this writer
	PerSecond float64 // puts per second at most; default 20

	// FailedAfter is how long after its first attempt a put that is not acknowledged has failed; default 5 s.
	FailedAfter time.Duration

	// LetGoAfter so many attempts in a row that were not answered the connection is closed and a new one is made; 0 is
	// never. Behind a Service it takes that to get away from a member that stopped answering: gRPC's own keepalive is
	// not below 10 s, and a process that hangs keeps its connections open.
	LetGoAfter int

	// Settings are what gRPC is told beside the endpoints; nil are those of a client that waits for nothing long.
	Settings *Settings
}

// Settings of a client that gRPC or clientv3 have defaults for. Zero leaves the default.
type Settings struct {
	KeepAlive         [2]time.Duration // the time without an answer until a ping, which gRPC makes 10 s at least; and until it is given up
	MinConnectTimeout time.Duration    // until an attempt to connect is given up; by default 20 s
}

// Connect reaches the host and port of an endpoint, for a client that does not have the members' DNS.
type Connect func(ctx context.Context, address string) (net.Conn, error)

// Writer puts unique keys one after the other until it is stopped. It is safe for concurrent use.
type Writer struct {
	etcd        *clientv3.Client
	line        *line
	failedAfter time.Duration
	letGoAfter  int
	prefix      string
	limit       *rate.Limiter
	began       time.Time
	stop        context.CancelFunc
	ended       chan struct{}

	mu       sync.Mutex
	stopped  time.Time // when the writing was told to end
	acks     []ack
	clusters map[uint64]bool // by which etcd cluster puts were acknowledged
	member   uint64          // that acknowledged last
	backward []string        // acknowledgements whose revision was not above the one before
	failed   int
	retried  int
	problems map[string]int
}

// ack is one acknowledged put.
type ack struct {
	number   int
	revision int64
	at       time.Time
	latency  time.Duration // from the first attempt
}

// Start dials and begins to write. The writer ends with ctx, or with Finish.
func Start(ctx context.Context, o Options) (*Writer, error) {
	line := &line{connect: o.Connect}
	if len(o.Endpoints) == 1 {
		o.Connect = line.dial
	}
	etcd, err := Dial(o)
	if err != nil {
		return nil, err
	}
	if o.PerSecond == 0 {
		o.PerSecond = 20
	}
	ctx, stop := context.WithCancel(ctx)
	w := &Writer{
		etcd: etcd, line: line, prefix: o.Prefix, letGoAfter: o.LetGoAfter,
		failedAfter: cmp.Or(o.FailedAfter, 5*time.Second),
		limit:       rate.NewLimiter(rate.Limit(o.PerSecond), 1), began: time.Now(),
		stop: stop, ended: make(chan struct{}), problems: map[string]int{}, clusters: map[uint64]bool{},
	}
	go w.run(ctx)
	return w, nil
}

// Dial makes a clientv3 client that, unless it is told other settings, does not hold a member that was away against it
// for long. gRPC verifies each member's certificate for the host of its endpoint.
func Dial(o Options) (*clientv3.Client, error) {
	config := clientv3.Config{Endpoints: o.Endpoints, TLS: o.TLS, Username: o.User, Password: o.Password,
		Logger: zap.NewNop()}
	params := grpc.ConnectParams{MinConnectTimeout: attemptTimeout,
		Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}}
	if o.Settings != nil {
		config.DialKeepAliveTime, config.DialKeepAliveTimeout = o.Settings.KeepAlive[0], o.Settings.KeepAlive[1]
		params = grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: o.Settings.MinConnectTimeout}
	}
	if params.MinConnectTimeout > 0 {
		config.DialOptions = append(config.DialOptions, grpc.WithConnectParams(params))
	}
	if o.Connect != nil {
		config.DialOptions = append(config.DialOptions, grpc.WithContextDialer(o.Connect))
	}
	etcd, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("dialling etcd at %v: %w", o.Endpoints, err)
	}
	return etcd, nil
}

// SetEndpoints tells the writer where members are now. No endpoints are no news: a resolver keeps what it knew.
func (w *Writer) SetEndpoints(endpoints []string) {
	if len(endpoints) > 0 {
		w.etcd.SetEndpoints(endpoints...)
	}
}

func (w *Writer) run(ctx context.Context) {
	defer close(w.ended)
	for number := 0; w.limit.Wait(ctx) == nil; number++ {
		w.put(ctx, number)
	}
}

func (w *Writer) key(number int) string   { return fmt.Sprintf("%s%09d", w.prefix, number) }
func (w *Writer) value(number int) string { return fmt.Sprintf("value of %s", w.key(number)) }

// put issues the same put until it is acknowledged or has failed. A put that the end of the story interrupts is neither.
func (w *Writer) put(ctx context.Context, number int) {
	began := time.Now()
	for tried := 1; ; tried++ {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		answer, err := w.etcd.Put(attempt, w.key(number), w.value(number))
		cancel()
		switch {
		case err == nil:
			w.acknowledge(number, began, answer.Header)
			return
		case ctx.Err() != nil:
			return
		}
		w.problem(err)
		if !isRetryable(err) || time.Since(began) > w.failedAfter {
			w.fail()
			return
		}
		if w.letGoAfter > 0 && tried%w.letGoAfter == 0 {
			w.LetGo()
		}
		pause(ctx, retryPause)
	}
}

// LetGo closes the connection; the next attempt makes a new one.
func (w *Writer) LetGo() { w.line.hangUp() }

// Member is who acknowledged last.
func (w *Writer) Member() etcdutil.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return etcdutil.ID(w.member)
}

// isRetryable reports an answer after which a client issues the same put again: unavailable, too late, or another leader.
// What raft says of a member that stops, or of a leader that is just handing over, etcd passes on without a code.
func isRetryable(err error) bool {
	if text := err.Error(); strings.Contains(text, "raft: stopped") || strings.Contains(text, "raft proposal dropped") {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	}
	var etcdError rpctypes.EtcdError
	if errors.As(err, &etcdError) && (etcdError.Code() == codes.Unavailable || etcdError.Code() == codes.DeadlineExceeded) {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rpctypes.ErrLeaderChanged) || errors.Is(err, rpctypes.ErrNoLeader)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// acknowledge writes down what etcd promised. Puts come one after the other, so each has a higher revision than the last:
// one that has not comes from a cluster that forgot.
func (w *Writer) acknowledge(number int, began time.Time, header *pb.ResponseHeader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if n := len(w.acks); n > 0 && header.Revision <= w.acks[n-1].revision {
		w.backward = append(w.backward, fmt.Sprintf("%s at revision %d, after %d", w.key(number), header.Revision, w.acks[n-1].revision))
	}
	w.clusters[header.ClusterId], w.member = true, header.MemberId
	w.acks = append(w.acks, ack{number: number, revision: header.Revision, at: now, latency: now.Sub(began)})
}

func (w *Writer) fail() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed++
}

func (w *Writer) problem(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retried++
	w.problems[err.Error()]++
}

// Acknowledged is how many puts etcd has said are stored.
func (w *Writer) Acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acks)
}

// AcknowledgedBetween is how many puts were acknowledged in a span of time.
func (w *Writer) AcknowledgedBetween(from, to time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, a := range w.acks {
		if !a.at.Before(from) && a.at.Before(to) {
			n++
		}
	}
	return n
}
