package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"
)

// What a Recorder asks for: few keys, so that clients meet at each of them.
const (
	recordedKeys  = 10
	watchPatience = 30 * time.Second // for a watch to be told the last of what was written
)

// Recorder is many clients that put, read, list, compare and swap, and delete the same few keys at once, and one that watches them.
// It keeps every request and answer, so that a model of etcd can judge them. The database must be empty at its start.
type Recorder struct {
	prefix  string
	began   time.Time
	clients []*recorded
	stop    context.CancelFunc
	ended   sync.WaitGroup
	watcher *watcher
	unwatch context.CancelFunc
	told    sync.WaitGroup // of the watcher
	streams atomic.Int64   // the last that was given away
	values  atomic.Int64   // the same: each value is written once, so that it tells which put it is of
	deletes chan struct{}  // who holds it may delete: of a delete that failed none can say when it took effect
}

// recorded is one of the clients. Its requests come one after the other.
type recorded struct {
	*Recorder
	etcd  *clientv3.Client
	limit *rate.Limiter

	mu         sync.Mutex
	stream     int // of requests that follow each other; a write that was not answered may still take effect, and ends it
	operations []operation
}

// Record dials, reads the empty database, and begins. PerSecond is of each client.
func Record(ctx context.Context, o Options, clients int) (*Recorder, error) {
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	following, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	r := &Recorder{prefix: o.Prefix, began: time.Now(), stop: stop, unwatch: unwatch, deletes: make(chan struct{}, 1)}
	for range clients {
		etcd, err := Dial(o)
		if err != nil {
			r.Close()
			return nil, err
		}
		r.clients = append(r.clients, &recorded{Recorder: r, etcd: etcd, limit: rate.NewLimiter(rate.Limit(o.PerSecond), 1),
			stream: int(r.streams.Add(1))})
	}
	if err := r.readEmpty(ctx); err != nil {
		r.Close()
		return nil, err
	}
	etcd, err := Dial(watching(o))
	if err != nil {
		r.Close()
		return nil, err
	}
	r.watcher = &watcher{etcd: etcd, began: r.began}
	r.told.Go(func() { r.watcher.run(following, o.Prefix) })
	for _, c := range r.clients {
		r.ended.Go(func() { c.run(asking) })
	}
	return r, nil
}

// watching has the keepalive that docs/connect.md asks of every client. A watch sends nothing, so without one it waits for
// a member whose node is gone until the kernel gives up.
func watching(o Options) Options {
	o.Settings = &Settings{KeepAlive: [2]time.Duration{10 * time.Second, 3 * time.Second}, MinConnectTimeout: attemptTimeout}
	return o
}

// readEmpty has the history begin with a read of a database in which nothing was written, as the model does.
func (r *Recorder) readEmpty(ctx context.Context) error {
	first := r.clients[0]
	for !first.ask(listRequest(r.prefix)).isAnswered() {
		if ctx.Err() != nil {
			return fmt.Errorf("reading the empty database: %w", ctx.Err())
		}
	}
	if revision := first.operations[len(first.operations)-1].Output.Revision; revision != 1 {
		return fmt.Errorf("the database is at revision %d, and a history begins with an empty one", revision)
	}
	return nil
}

// SetEndpoints tells all clients where members are now. No endpoints are no news.
func (r *Recorder) SetEndpoints(endpoints []string) {
	if len(endpoints) == 0 {
		return
	}
	for _, c := range r.clients {
		c.etcd.SetEndpoints(endpoints...)
	}
	r.watcher.etcd.SetEndpoints(endpoints...)
}

// run asks until it is told to end, and lets the last request come to its end. After one that was not answered it only
// reads until it is answered again: with every write of unknown end the model has more to try.
func (c *recorded) run(ctx context.Context) {
	for isAnswered := false; c.limit.Wait(ctx) == nil; {
		if !isAnswered {
			isAnswered = c.ask(listRequest(c.prefix)).isAnswered()
			continue
		}
		isAnswered = c.askAny()
	}
}

// askAny is a request by chance.
func (c *recorded) askAny() bool {
	key := fmt.Sprintf("%s%d", c.prefix, rand.IntN(recordedKeys))
	switch chance := rand.IntN(100); {
	case chance < 45:
		return c.ask(putRequest(key, c.newValue())).isAnswered()
	case chance < 60:
		return c.ask(getRequest(key)).isAnswered()
	case chance < 70:
		return c.ask(listRequest(c.prefix)).isAnswered()
	case chance < 90:
		return c.swap(key)
	default:
		return c.remove(key)
	}
}

// swap puts unless another client has put meanwhile.
func (c *recorded) swap(key string) bool {
	read := c.ask(getRequest(key))
	if !read.isAnswered() {
		return false
	}
	var revision int64
	if kvs := read.Output.Range.KVs; len(kvs) > 0 {
		revision = kvs[0].ModRevision
	}
	return c.ask(compareAndPut(key, revision, c.newValue())).isAnswered()
}

// remove deletes, or reads if another client deletes just now.
func (c *recorded) remove(key string) bool {
	select {
	case c.deletes <- struct{}{}:
	default:
		return c.ask(getRequest(key)).isAnswered()
	}
	defer func() { <-c.deletes }()
	return c.ask(deleteRequest(key)).isAnswered()
}

func (r *Recorder) newValue() string { return fmt.Sprintf("v%d", r.values.Add(1)) }

// ask sends a request, once, and keeps it with its answer.
func (c *recorded) ask(q request) operation {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	o := operation{ClientID: c.stream, Input: q, Call: time.Since(c.began).Nanoseconds()}
	answer, err := c.send(ctx, q)
	o.Return, o.Output = time.Since(c.began).Nanoseconds(), answer
	if err != nil {
		o.Output = response{Error: err.Error()}
		if q.Txn != nil {
			c.stream = int(c.streams.Add(1))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations = append(c.operations, o)
	return o
}

func (c *recorded) send(ctx context.Context, q request) (response, error) {
	if q.Range != nil {
		var options []clientv3.OpOption
		if q.Range.End != "" {
			options = append(options, clientv3.WithRange(q.Range.End))
		}
		answer, err := c.etcd.Get(ctx, q.Range.Start, options...)
		if err != nil {
			return response{}, err
		}
		return rangeAnswer(answer), nil
	}
	var conditions []clientv3.Cmp
	for _, cond := range q.Txn.Conditions {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(cond.Key), "=", cond.ExpectedRevision))
	}
	var then []clientv3.Op
	for _, op := range q.Txn.OperationsOnSuccess {
		if op.Put != nil {
			then = append(then, clientv3.OpPut(op.Put.Key, op.Put.Value.Value))
		} else {
			then = append(then, clientv3.OpDelete(op.Delete.Key))
		}
	}
	answer, err := c.etcd.Txn(ctx).If(conditions...).Then(then...).Commit()
	if err != nil {
		return response{}, err
	}
	return txnAnswer(answer), nil
}

// Counts are how many requests there were until now, and how many of them were not answered in time.
func (r *Recorder) Counts() (all, failed int) {
	for _, c := range r.clients {
		c.mu.Lock()
		for _, o := range c.operations {
			all++
			if !o.isAnswered() {
				failed++
			}
		}
		c.mu.Unlock()
	}
	return all, failed
}

// AnsweredSince says whether each client had so many answers since then.
func (r *Recorder) AnsweredSince(then time.Time, each int) bool {
	for _, c := range r.clients {
		if len(c.answers(then)) < each {
			return false
		}
	}
	return true
}

// LongestGap is the longest time in which any one of the clients was told nothing, in a span whose ends bound it like answers.
func (r *Recorder) LongestGap(from, to time.Time) time.Duration {
	var gap time.Duration
	for _, c := range r.clients {
		gap = max(gap, longestGap(c.answers(from), from, to))
	}
	return gap
}

// answers are those from a time on.
func (c *recorded) answers(from time.Time) []ack {
	c.mu.Lock()
	defer c.mu.Unlock()
	var answers []ack
	for _, o := range c.operations {
		if at := c.began.Add(time.Duration(o.Return)); o.isAnswered() && !at.Before(from) {
			answers = append(answers, ack{at: at})
		}
	}
	return answers
}

// Finish ends the asking, waits until the watch was told all that was written, and closes the connections.
func (r *Recorder) Finish() error {
	r.stop()
	r.ended.Wait()
	defer r.Close()
	return r.watcher.await(r.lastRevision())
}

// lastRevision is the newest that any client has seen.
func (r *Recorder) lastRevision() int64 {
	var last int64
	for _, c := range r.clients {
		c.mu.Lock()
		for _, o := range c.operations {
			last = max(last, o.Output.Revision)
		}
		c.mu.Unlock()
	}
	return last
}

// Close ends the asking and hangs up, and may be called more than once.
func (r *Recorder) Close() {
	r.stop()
	r.ended.Wait()
	r.unwatch()
	r.told.Wait()
	for _, c := range r.clients {
		_ = c.etcd.Close()
	}
	if r.watcher != nil {
		_ = r.watcher.etcd.Close()
	}
}

// Write writes the history of each client into a directory of its own, as etcd's robustness tests do.
func (r *Recorder) Write(directory string) error {
	for i, c := range r.clients {
		path := filepath.Join(directory, fmt.Sprintf("client-%d", i+1), "operations.json")
		if err := writeLines(path, c.operations); err != nil {
			return err
		}
	}
	path := filepath.Join(directory, fmt.Sprintf("client-%d", len(r.clients)+1), "watch.json")
	return writeLines(path, r.watcher.watches)
}

// Problems are what requests were told that were not answered in time, and how often.
func (r *Recorder) Problems() map[string]int {
	problems := map[string]int{}
	for _, c := range r.clients {
		c.mu.Lock()
		for _, o := range c.operations {
			if !o.isAnswered() {
				problems[strings.TrimSpace(o.Output.Error)]++
			}
		}
		c.mu.Unlock()
	}
	return problems
}
