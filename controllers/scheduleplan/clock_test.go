package scheduleplan

import (
	"strings"
	"testing"
	"time"
)

func mustClock(t testing.TB, expression, zone string) clock {
	t.Helper()
	c, wrong := readClock("spec.schedule", expression, zone)
	if wrong != nil {
		t.Fatalf("%s in %s: %+v", expression, zone, wrong)
	}
	return c
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// Times are written as the zone's clocks show them, so that a row reads as a wall would.
func TestRunsFollowTheClockOnTheWallOverBothSwitches(t *testing.T) {
	for _, row := range []struct {
		name, cron, zone, from string
		want                   []string
	}{
		{"nightly over the switch to summer", "0 4 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T04:00:00+01:00", "2026-03-29T04:00:00+02:00", "2026-03-30T04:00:00+02:00"}},
		{"nightly over the switch to winter", "0 4 * * *", "Europe/Berlin", "2026-10-23T12:00:00Z",
			[]string{"2026-10-24T04:00:00+02:00", "2026-10-25T04:00:00+01:00", "2026-10-26T04:00:00+01:00"}},
		{"a night whose hour does not exist has its run nevertheless", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"the skipped hour's run as seen just after the switch", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:10:00Z",
			[]string{"2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"the same west of Greenwich", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"an hour that is repeated has its run in both, as a CronJob", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"}},
		{"hourly over the switch to summer", "0 * * * *", "America/New_York", "2026-03-08T05:30:00Z",
			[]string{"2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"}},
		{"hourly over the switch to winter", "0 * * * *", "America/New_York", "2026-11-01T04:30:00Z",
			[]string{"2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T02:00:00-05:00"}},
		{"every quarter of an hour over the switch to summer", "*/15 * * * *", "America/New_York", "2026-03-08T06:40:00Z",
			[]string{"2026-03-08T01:45:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:15:00-04:00"}},
		{"a day that begins at one", "0 0 * * *", "Africa/Cairo", "2026-04-22T12:00:00Z",
			[]string{"2026-04-23T00:00:00+02:00", "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"}},
		{"half an hour of summer", "15 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z",
			[]string{"2026-10-04T02:45:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"no zone is UTC", "0 3 * * *", "", "2026-03-28T12:00:00Z", []string{"2026-03-29T03:00:00Z", "2026-03-30T03:00:00Z"}},
		{"a word", "@weekly", "Asia/Kolkata", "2026-03-01T00:00:00Z", []string{"2026-03-08T00:00:00+05:30"}},
		{"every ninety minutes", "@every 90m", "Europe/Berlin", "2026-03-28T23:10:00Z",
			[]string{"2026-03-29T00:40:00Z", "2026-03-29T02:10:00Z", "2026-03-29T03:40:00Z"}},
		{"a day of the month or of the week", "0 0 13 * 5", "", "2026-02-01T00:00:00Z",
			[]string{"2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"}},
		{"a leap day", "0 0 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, now := mustClock(t, row.cron, row.zone), at(t, row.from)
			for _, want := range row.want {
				now = c.after(now)
				if !now.Equal(at(t, want)) {
					t.Fatalf("got %s, want %s", now.In(c.zone), want)
				}
			}
		})
	}
}

func TestTheNewestMissedRunIsTheOneThatWalkingFindsOverEighteenMonths(t *testing.T) {
	for _, row := range [][2]string{
		{"0 3 * * *", "Europe/Berlin"}, {"30 2 * * *", "America/New_York"}, {"*/20 9-17 * * 1-5", "Australia/Lord_Howe"}, {"0 0 1 */3 *", "Africa/Cairo"},
		{"0 0 29 2 *", ""}, {"@every 25h", ""},
	} {
		c, base := mustClock(t, row[0], row[1]), at(t, "2025-06-01T00:00:00Z")
		walked, next := time.Time{}, c.after(base)
		for now := base; now.Before(base.AddDate(1, 6, 0)); now = now.Add(41*time.Hour + 13*time.Minute) {
			for !next.After(now) {
				walked, next = next, c.after(next)
			}
			if got := c.newest(base, now); !got.Equal(walked) {
				t.Fatalf("%s in %s at %s: got %s, want %s", row[0], row[1], now, got, walked)
			}
			if got := c.next(base, now); !got.Equal(next) {
				t.Fatalf("%s in %s at %s: next is %s, want %s", row[0], row[1], now, got, next)
			}
		}
	}
}

func TestWhatCannotBeReadIsSaidAndNeverPanics(t *testing.T) {
	for _, row := range []struct{ cron, zone, reason, says string }{
		{"", "", ReasonScheduleInvalid, "empty spec string"},
		{"0 3 * *", "", ReasonScheduleInvalid, `spec.schedule is "0 3 * *"`},
		{"0 0 3 * * *", "", ReasonScheduleInvalid, "expected exactly 5 fields"},
		{"61 3 * * *", "", ReasonScheduleInvalid, "above maximum"},
		{"0 3 * * MO", "", ReasonScheduleInvalid, "MO"},
		{"*/0 * * * *", "", ReasonScheduleInvalid, "step of range should be a positive number"},
		{"@reboot", "", ReasonScheduleInvalid, "@reboot"},
		{"@every 90s", "", ReasonScheduleInvalid, "whole minutes"},
		{"@every 10ms", "", ReasonScheduleInvalid, "whole minutes"},
		{"@every soon", "", ReasonScheduleInvalid, "soon"},
		{"TZ=UTC 0 3 * * *", "", ReasonScheduleInvalid, "it must name no time zone"},
		{"CRON_TZ=UTC 0 3 * * *", "", ReasonScheduleInvalid, "it must name no time zone"},
		{"TZ=0", "", ReasonScheduleInvalid, "it must name no time zone"},
		{"\x00", "", ReasonScheduleInvalid, "cannot be read"},
		{"0 3 * * *", "Europe/Atlantis", ReasonTimeZoneUnknown, `spec.timeZone is "Europe/Atlantis"`},
		{"0 3 * * *", "Local", ReasonTimeZoneUnknown, "Europe/Berlin"},
		{"0 3 * * *", "local", ReasonTimeZoneUnknown, "Europe/Berlin"},
		{"0 3 * * *", "../etc/passwd", ReasonTimeZoneUnknown, "Europe/Berlin"},
	} {
		_, wrong := readClock("spec.schedule", row.cron, row.zone)
		if wrong == nil || wrong.Reason != row.reason || !strings.Contains(wrong.Message, row.says) {
			t.Errorf("%q in %q: %+v", row.cron, row.zone, wrong)
		}
	}
}

func FuzzAnythingIsReadOrRefusedAndTimeGoesOn(f *testing.F) {
	for _, seed := range []string{"0 3 * * *", "@every 1h", "*/5 1-3,7 1 2 ?", "TZ=0", "@", "0 0 30 2 *", "1-1/1 * * * *"} {
		f.Add(seed, "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, expression, zone string) {
		c, wrong := readClock("spec.schedule", expression, zone)
		if wrong != nil {
			return
		}
		now := at(t, "2026-03-28T23:00:00Z")
		for range 5 {
			next := c.after(now)
			if next.IsZero() {
				return
			}
			if !next.After(now) || next.Second() != 0 {
				t.Fatalf("%q in %q: %s after %s", expression, zone, next, now)
			}
			now = next
		}
	})
}

// The library goes back and forth around midnights that do not exist.
func TestEveryDayHasItsRunWhereClocksAreChangedAtMidnight(t *testing.T) {
	for _, zone := range []string{
		"Africa/Cairo", "Asia/Beirut", "America/Havana", "America/Asuncion", "America/Santiago", "America/Sao_Paulo", "Asia/Gaza", "Atlantic/Azores", "Asia/Tehran",
	} {
		for _, expression := range []string{"0 0 * * *", "59 23 * * *", "30 0 * * *", "0 0 * * 0,1,2,3,4,5,6"} {
			c := mustClock(t, expression, zone)
			days, now := map[string]bool{}, at(t, "2015-01-01T12:00:00Z")
			for end := now.AddDate(4, 0, 0); now.Before(end); {
				next := c.after(now)
				if !next.After(now) || next.Sub(now) > 50*time.Hour {
					t.Fatalf("%s in %s: %s after %s", expression, zone, next, now)
				}
				now = next
				days[now.In(c.zone).Format(time.DateOnly)] = true
			}
			for day := at(t, "2015-01-03T12:00:00Z"); day.Before(now.AddDate(0, 0, -1)); day = day.AddDate(0, 0, 1) {
				if !days[day.In(c.zone).Format(time.DateOnly)] {
					t.Errorf("%s in %s: no run on %s", expression, zone, day.In(c.zone).Format(time.DateOnly))
				}
			}
		}
	}
}

// A schedule of every minute after years of downtime, and one that is dense and rare at once.
func BenchmarkAPassAfterALongDowntime(b *testing.B) {
	now := at(b, "2031-12-31T12:00:00Z")
	for _, expression := range []string{"* * * * *", "* * * 1 *", "0 0 30 2 *", "0 0 29 2 *"} {
		b.Run(expression, func(b *testing.B) {
			for b.Loop() {
				Next(Observation{
					Now: now, Cluster: Cluster{Exists: true},
					Schedule: Schedule{Name: "s", Expression: expression, TimeZone: "Europe/Berlin", Created: now.AddDate(-5, 0, 0)},
				})
			}
		})
	}
}
