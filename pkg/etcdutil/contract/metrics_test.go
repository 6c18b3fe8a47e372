package contract

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// The alerts and dashboards read no other metrics of etcd than those of the page.
func TestRealEtcdServesTheMetricsThatTheDocsKnow(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| etcd").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("only %d metrics of etcd are on the page", len(rows))
	}
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			p := &play{TB: t, world: w}
			p.startAll("a", "b", "c")
			p.accepted(p.writing("a"))
			for _, row := range rows { // what members say of each other is counted after some seconds
				p.until(version+" serves "+row[1], func() bool { return strings.Contains(w.metricsOf("a"), "\n# TYPE "+row[1]+" ") })
			}
		})
	}
}

// A defragmentation that meets a snapshot holds all locks of the member until that was sent.
func TestRealEtcdSaysWhileItSendsASnapshotAndIsDefragmentedAfterThat(t *testing.T) {
	for _, version := range needs.Releases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			p := &play{TB: t, world: w}
			p.startAll("a")
			etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + w.address("a")}, Context: t.Context()})
			if err != nil {
				t.Fatal(err)
			}
			defer etcd.Close()
			for range 4 {
				if _, err := etcd.Put(t.Context(), "large", strings.Repeat("x", 1<<20)); err != nil {
					t.Fatal(err)
				}
			}
			isSending := func() bool {
				sends, err := p.dial("a").StreamsSnapshot(t.Context())
				return err == nil && sends
			}
			if isSending() {
				t.Error("it sends one before it was asked to")
			}
			snapshot, err := etcd.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.until("it says that it sends one", isSending)
			if _, err := io.Copy(io.Discard, snapshot); err != nil {
				t.Fatal(err)
			}
			p.until("it says that it sends none", func() bool { return !isSending() })
			for _, compacted := range []int64{0, 5} {
				if got, err := p.dial("a").Compacted(t.Context()); err != nil || got != compacted {
					t.Errorf("it says that history was compacted to %d, want %d: %v", got, compacted, err)
				}
				p.accepted(func() error { return p.dial("a").Compact(t.Context(), 5) }) // also once it is
			}
			before := p.status("a").DBSize
			p.accepted(func() error { return p.dial("a").Defragment(t.Context()) })
			if after := p.status("a").DBSize; after >= before {
				t.Errorf("%d bytes before, %d after", before, after)
			}
		})
	}
}

// metricsOf is what Prometheus reads of a member.
func (w *realWorld) metricsOf(name string) string {
	w.t.Helper()
	answer, err := http.Get("http://" + w.address(name) + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}
