package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher watches all that a Recorder writes, from the first write on. A watch that ends is followed by one from where it was.
type watcher struct {
	etcd  *clientv3.Client
	began time.Time

	mu      sync.Mutex
	watches []watchOperation
	seen    int64 // the revision of the last event
}

func (w *watcher) run(ctx context.Context, prefix string) {
	for w.seen = 1; ctx.Err() == nil; pause(ctx, retryPause) {
		q := watchRequest{Key: prefix, Revision: w.seen + 1, WithPrefix: true, WithPrevKV: true}
		w.mu.Lock()
		w.watches = append(w.watches, watchOperation{Request: q})
		w.mu.Unlock()
		for answer := range w.etcd.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(q.Revision)) {
			w.keep(answer)
		}
	}
}

func (w *watcher) keep(answer clientv3.WatchResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := &w.watches[len(w.watches)-1]
	last.Responses = append(last.Responses, watchAnswer(answer, time.Since(w.began).Nanoseconds()))
	if n := len(answer.Events); n > 0 {
		w.seen = answer.Events[n-1].Kv.ModRevision
	}
}

// await waits until the watch was told of a revision.
func (w *watcher) await(revision int64) error {
	for end := time.Now().Add(watchPatience); ; time.Sleep(retryPause) {
		w.mu.Lock()
		seen := w.seen
		w.mu.Unlock()
		switch {
		case seen >= revision:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("the watch was told nothing after revision %d in %s, and %d was written", seen, watchPatience, revision)
		}
	}
}
