package contract

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

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
