package scheduleplan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func mustWindow(t *testing.T, schedule, zone string, lasts time.Duration) Window {
	t.Helper()
	w, fault := ReadWindow(&v1alpha1.WindowSpec{Schedule: schedule, TimeZone: zone,
		Duration: metav1.Duration{Duration: lasts}})
	if fault != nil {
		t.Fatalf("%+v", fault)
	}
	return w
}

// A year in steps of half an hour, in which clocks are put forward and back. What is open is summed up by days.
func TestAWindowIsOpenForAsLongAsItSaysOnEachOfItsDaysOfAYear(t *testing.T) {
	const step = 30 * time.Minute
	for _, row := range []struct {
		name, schedule, zone string
		lasts, sum           time.Duration
		odd                  map[string]time.Duration // days on which it is open for longer, or less
	}{
		{"each night in Berlin, also where clocks skip its hour, and twice where they repeat it", "30 2 * * *", "Europe/Berlin",
			30 * time.Minute, 366 * 30 * time.Minute, map[string]time.Duration{"2027-10-31": time.Hour}},
		{"each night in New York, likewise", "30 1 * * *", "America/New_York", 30 * time.Minute, 366 * 30 * time.Minute,
			map[string]time.Duration{"2027-11-07": time.Hour}},
		{"the hour that New York skips", "30 2 * * *", "America/New_York", 30 * time.Minute, 365 * 30 * time.Minute, nil},
		{"two windows that overlap where an hour is repeated are one", "30 2 * * *", "Europe/Berlin", 2 * time.Hour,
			365*2*time.Hour + time.Hour, map[string]time.Duration{"2027-10-31": 3 * time.Hour}},
		{"on Sundays, in hours that do not care for clocks", "0 2 * * 0", "Europe/Berlin", time.Hour, 53 * time.Hour,
			map[string]time.Duration{"2027-10-31": 2 * time.Hour}},
		{"once a year", "0 12 24 12 *", "", 168 * time.Hour, 168 * time.Hour, nil},
		{"all the time", "@hourly", "Europe/Berlin", time.Hour, 365 * 24 * time.Hour, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := mustWindow(t, row.schedule, row.zone, row.lasts)
			begin := time.Date(2027, 1, 1, 0, 0, 0, 0, w.clock.zone)
			sum, days, next := time.Duration(0), map[string]time.Duration{}, w.At(time.Time{}, begin.Add(-time.Second)).Next
			for now := begin; now.Before(begin.AddDate(1, 0, 0)); now = now.Add(step) {
				at := w.At(time.Time{}, now)
				if !at.Next.After(now) || !at.Until.IsZero() && (at.Until.Sub(now) > row.lasts || !at.Until.After(now)) {
					t.Fatalf("at %s it is open until %s, and opens next at %s", now, at.Until, at.Next)
				}
				if !now.Before(next) && at.Until.IsZero() {
					t.Fatalf("it was to open at %s, and is closed at %s", next, now)
				}
				if next = at.Next; !at.Until.IsZero() {
					sum += step
					days[now.Format(time.DateOnly)] += step
				}
			}
			if sum != row.sum {
				t.Errorf("it is open for %s, want %s", sum, row.sum)
			}
			for day, long := range days {
				if want, isOdd := row.odd[day]; isOdd && long != want || !isOdd && row.lasts < 2*time.Hour && row.schedule != "@hourly" && long != row.lasts {
					t.Errorf("on %s it is open for %s", day, long)
				}
			}
		})
	}
}

func TestAWindowThatDoesNotOpenInEachYearIsRefused(t *testing.T) {
	for schedule, isRefused := range map[string]bool{
		"0 2 29 2 *": true, "0 2 30 2 *": true, "@every 24h": true, "0 2 29 2 1": false, "0 2 31 12 *": false,
		"0 0 1 1 *": false, "30 2 28 3 *": false, "@yearly": false,
	} {
		_, fault := ReadWindow(&v1alpha1.WindowSpec{Schedule: schedule, TimeZone: "Europe/Berlin"})
		if (fault != nil) != isRefused {
			t.Errorf("%s: %+v", schedule, fault)
		}
	}
}
