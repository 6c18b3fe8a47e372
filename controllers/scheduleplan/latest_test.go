package scheduleplan

import (
	"strings"
	"testing"
	"time"
)

func TestTheLatestTimeOfAScheduleIsOneOfTheHoursThatCount(t *testing.T) {
	now := time.Date(2026, 11, 28, 3, 30, 0, 0, time.UTC) // a Saturday
	for expression, want := range map[string]string{
		"0 3 * * 6": "2026-11-28T03:00:00Z", "0 1 * * *": "", "0 4 * * *": "", "@hourly": "2026-11-28T03:00:00Z",
		"15 * * * *": "2026-11-28T03:15:00Z", "@every 10m": "2026-11-28T03:30:00Z", "@every 168h": "",
	} {
		at, next, why := Around("spec.x.schedule", expression, "", now.Add(-2*time.Hour), now)
		got := ""
		if !at.IsZero() {
			got = at.Format(time.RFC3339)
		}
		if !next.After(now) {
			t.Errorf("%s: the next is %s", expression, next)
		}
		if got != want || why != "" {
			t.Errorf("%s: %q, want %q; %s", expression, got, want, why)
		}
	}
	at, next, _ := Around("spec.x.schedule", "0 4 * * 6", "Europe/Berlin", now.Add(-2*time.Hour), now)
	if at.Hour() != 3 || next.Sub(at) != 7*24*time.Hour {
		t.Errorf("four in Berlin is %s, and then %s", at, next)
	}
}

func TestAScheduleThatCannotBeReadIsToldByItsOwnField(t *testing.T) {
	for want, row := range map[string][2]string{
		`spec.x.schedule is "61 * * * *"`: {"61 * * * *", ""},
		`spec.x.timeZone is "Nowhere"`:    {"@daily", "Nowhere"},
		"put it into spec.x.timeZone":     {"TZ=UTC 0 3 * * *", ""},
	} {
		at, _, why := Around("spec.x.schedule", row[0], row[1], time.Time{}, time.Now())
		if !at.IsZero() || !strings.Contains(why, want) {
			t.Errorf("%s: %s, %q", row, at, why)
		}
	}
}
