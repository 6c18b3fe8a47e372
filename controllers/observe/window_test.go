package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/plan/world"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// windowed is a cluster of the simulator whose windows are those of a spec, since a month of 2027.
func windowed(schedule, zone string, since time.Month) (*v1alpha1.EtcdCluster, *world.World) {
	cluster := &v1alpha1.EtcdCluster{Spec: v1alpha1.EtcdClusterSpec{Maintenance: &v1alpha1.MaintenanceSpec{
		Window: &v1alpha1.WindowSpec{Schedule: schedule, TimeZone: zone, Duration: metav1.Duration{Duration: time.Hour}}}}}
	w := world.New(1, world.Spec3(3))
	w.Now = time.Date(2027, since, 1, 12, 0, 0, 0, time.UTC)
	w.Windows = func(now time.Time) facts.Window { found, _ := windowOf(cluster, now); return found }
	return cluster, w
}

// Each week a user asks for other settings, and each fourth week a member loses its data. The simulator itself holds that no member
// which serves is stopped outside of a window.
func TestForAYearEachChangeWaitsForItsWindowAndNoRepairDoes(t *testing.T) {
	for _, row := range []struct {
		name, schedule, zone string
		since                time.Month
		weeks                int
		opens                []string // among others
	}{
		{"in Berlin, in an hour that is skipped once, and repeated once", "30 2 * * 0", "Europe/Berlin", time.January, 52,
			[]string{"2027-03-21T01:30:00Z", "2027-03-28T01:30:00Z", "2027-04-04T00:30:00Z", "2027-10-31T00:30:00Z", "2027-11-07T01:30:00Z"}},
		{"in New York, in an hour that is skipped", "30 2 * * 0", "America/New_York", time.March, 4,
			[]string{"2027-03-07T07:30:00Z", "2027-03-14T07:30:00Z", "2027-03-21T06:30:00Z"}},
		{"in New York, in an hour that is repeated", "30 1 * * 0", "America/New_York", time.October, 8,
			[]string{"2027-10-31T05:30:00Z", "2027-11-07T05:30:00Z", "2027-11-14T06:30:00Z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.weeks > 10 {
				needs.Full(t, "a year of a cluster takes long")
			}
			cluster, w := windowed(row.schedule, row.zone, row.since)
			w.Settle(600)
			var opened []string
			for week := range row.weeks {
				w.Spec.Settings.Inputs = fmt.Sprintf("of week %d", week)
				lost, passes := "", 20
				if week%4 == 1 {
					lost, passes = w.Observe().Current.Voters()[week%3].Name, 400
					w.DeletePod(lost)
					w.DeleteVolume(lost)
				}
				d, _ := w.Settle(passes)
				if waits, voters := d.Reason == facts.ReasonWindow, facts.Names(w.Observe().Current.Voters()); !waits ||
					len(voters) != 3 || slices.Contains(voters, lost) || !strings.Contains(d.Message, voters[0]) {
					t.Fatalf("week %d, %s: %s; the members are %v", week, w.Now, d.Message, voters)
				}
				next, _ := windowOf(cluster, w.Now)
				w.Now = next.Next.UTC().Add(-time.Second)
				if d := w.Pass(); d.Reason != facts.ReasonWindow || d.Recheck != time.Second {
					t.Fatalf("a second before %s: %s, and looks again after %s", next.Says(), d.Message, d.Recheck)
				}
				opened = append(opened, next.Next.UTC().Format(time.RFC3339))
				if d, rests := w.Settle(1200); !rests || d.Verdict != plan.Settled || w.Now.Sub(next.Next) > time.Hour {
					t.Fatalf("week %d, %s: %s", week, w.Now, d.Message)
				}
				w.Now = next.Next.UTC().Add(36 * time.Hour)
			}
			if len(w.Violations) > 0 {
				t.Fatalf("%d windows: %v", len(opened), w.Violations)
			}
			for _, want := range row.opens {
				if !slices.Contains(opened, want) {
					t.Errorf("no window opened at %s, but at %v", want, opened)
				}
			}
		})
	}
}
