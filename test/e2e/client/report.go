package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Report is the reckoning of a writer.
type Report struct {
	Acknowledged int
	Failed       int            // not acknowledged in time after the first attempt
	Retried      int            // attempts that were issued again
	LongestGap   time.Duration  // without an acknowledgement, from the start to the end
	P99          time.Duration  // of a put, from its first attempt
	Lost         []string       // keys that were acknowledged, and are not there or differ
	Backward     []string       // acknowledgements whose revision was not above the one before
	Clusters     int            // etcd clusters that acknowledged; more than one is a cluster that was silently begun anew
	Problems     map[string]int // what attempts were told
}

func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "acknowledged %d, failed %d, retried %d, longest gap %s, p99 %s, lost %d",
		r.Acknowledged, r.Failed, r.Retried, r.LongestGap.Round(time.Millisecond), r.P99.Round(time.Millisecond), len(r.Lost))
	for problem, times := range r.Problems {
		fmt.Fprintf(&text, "\n  %d × %s", times, problem)
	}
	return text.String()
}

// Stop ends the writing, and may be called more than once. The connection stays, for Finish to read by.
func (w *Writer) Stop() {
	w.mu.Lock()
	if w.stopped.IsZero() {
		w.stopped = time.Now()
	}
	w.mu.Unlock()
	w.stop()
	<-w.ended
}

// Finish ends the writing, reads every acknowledged key back linearizably, and closes the connection.
func (w *Writer) Finish(ctx context.Context) (Report, error) {
	w.Stop()
	defer w.etcd.Close()
	r := w.Now()
	lost, err := w.missing(ctx)
	if err != nil {
		return r, err
	}
	r.Lost = lost
	return r, nil
}

// Abandon ends the writing where there is nothing left to read from.
func (w *Writer) Abandon() {
	w.Stop()
	_ = w.etcd.Close()
}

// Now is the reckoning so far, with nothing read back.
func (w *Writer) Now() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Report{Acknowledged: len(w.acks), Failed: w.failed, Retried: w.retried, Problems: map[string]int{}}
	r.Backward, r.Clusters = slices.Clone(w.backward), len(w.clusters)
	for problem, times := range w.problems {
		r.Problems[problem] = times
	}
	latencies := make([]time.Duration, 0, len(w.acks))
	for _, a := range w.acks {
		latencies = append(latencies, a.latency)
	}
	until := w.stopped
	if until.IsZero() {
		until = time.Now()
	}
	r.LongestGap = longestGap(w.acks, w.began, until)
	slices.Sort(latencies)
	if n := len(latencies); n > 0 {
		r.P99 = latencies[min(n-1, n*99/100)]
	}
	return r
}

// LongestGap is the longest time without an acknowledgement in a span of time, whose two ends bound it like acknowledgements.
func (w *Writer) LongestGap(from, to time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return longestGap(w.acks, from, to)
}

func longestGap(acks []ack, from, to time.Time) time.Duration {
	gap, last := time.Duration(0), from
	for _, a := range acks {
		if a.at.After(last) && a.at.Before(to) {
			gap, last = max(gap, a.at.Sub(last)), a.at
		}
	}
	return max(gap, to.Sub(last))
}

// Latencies are those of the puts that were acknowledged in a time, each from its first attempt.
func (w *Writer) Latencies(from, to time.Time) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var latencies []time.Duration
	for _, a := range w.acks {
		if !a.at.Before(from) && !a.at.After(to) {
			latencies = append(latencies, a.latency)
		}
	}
	return latencies
}

// page is how many keys are read at once.
const page = 5000

// missing lists what was acknowledged and cannot be read. Every page is a linearizable read.
func (w *Writer) missing(ctx context.Context) ([]string, error) {
	stored := map[string]string{}
	from, end := w.prefix, clientv3.GetPrefixRangeEnd(w.prefix)
	for {
		answer, err := w.read(ctx, from, end)
		if err != nil {
			return nil, err
		}
		for _, kv := range answer.Kvs {
			stored[string(kv.Key)] = string(kv.Value)
			from = string(kv.Key) + "\x00"
		}
		if !answer.More {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var lost []string
	for _, a := range w.acks {
		if stored[w.key(a.number)] != w.value(a.number) {
			lost = append(lost, w.key(a.number))
		}
	}
	return lost, nil
}

// read tries again while ctx lasts: the story may just have moved a leader.
func (w *Writer) read(ctx context.Context, from, end string) (*clientv3.GetResponse, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, readTimeout)
		answer, err := w.etcd.Get(attempt, from, clientv3.WithRange(end), clientv3.WithLimit(page))
		cancel()
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil || !isRetryable(err):
			return nil, fmt.Errorf("reading back what was acknowledged, from %s: %w", from, err)
		}
		pause(ctx, retryPause)
	}
}
