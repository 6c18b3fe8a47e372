package contract

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// metricData has a list for each minor, from which a page says what comes and goes.
const metricData = "../testdata/metrics"

var (
	metricName = regexp.MustCompile(`(?m)^# TYPE (etcd_\w+) `)
	// passing are served only once something happened that a short play need not bring about, or after many seconds.
	passing = regexp.MustCompile(`_failures_total$|_snapshot_|_disconnected_|_active_peers$|_lease_object_counts$|_round_trip_time_seconds$`)
)

// The lists are what real members serve after a few writes.
func TestTheListsOfMetricsAreWhatRealEtcdServes(t *testing.T) {
	for _, version := range needs.ReleasesAndNext() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newRealWorld(t, version)
			p := &play{TB: t, world: w}
			p.startAll("a", "b", "c")
			p.accepted(p.writing("a"))
			served := func() []string {
				var names []string
				for _, name := range submatches(metricName, []byte(w.metricsOf("a"))) {
					if !passing.MatchString(name) {
						names = append(names, name)
					}
				}
				return names
			}
			file := filepath.Join(metricData, minorIn(t, version)+".txt")
			if !*update {
				want := listIn(t, file)
				p.until("all of the list is served", func() bool {
					return !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(served(), name) })
				})
			}
			compareWith(t, file, served())
		})
	}
}
