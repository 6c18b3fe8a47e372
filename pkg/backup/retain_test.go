package backup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the zones that these tests ask for, on every machine
)

var noon = time.Date(2026, time.March, 27, 12, 0, 0, 0, time.UTC) // a Friday

func ago(d time.Duration, revision int64) Kept {
	return Kept{Key: fmt.Sprint(revision), Revision: revision, Time: noon.Add(-d)}
}

func (b Kept) proven() Kept             { b.Proven = true; return b }
func (b Kept) held() Kept               { b.Held = true; return b }
func (b Kept) incarnation(n int64) Kept { b.Incarnation = n; b.Key += fmt.Sprint("i", n); return b }

func keysOf(backups []Kept) []string {
	keys := []string{}
	for _, b := range backups {
		keys = append(keys, b.Key)
	}
	return keys
}

func TestThePolicyKeepsWhatItSays(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		policy  Policy
		backups []Kept
		gone    []string
	}{
		"no rule keeps all":             {Policy{}, []Kept{ago(1000*day, 1), ago(0, 2)}, nil},
		"the last two":                  {Policy{KeepLast: 2}, []Kept{ago(3*day, 1), ago(2*day, 2), ago(day, 3)}, []string{"1"}},
		"revisions are numbers":         {Policy{KeepLast: 1}, []Kept{ago(2*day, 9), ago(day, 10)}, []string{"9"}},
		"the newest stays":              {Policy{KeepWithin: day}, []Kept{ago(900*day, 1), ago(800*day, 2)}, []string{"1"}},
		"a clock that ran backwards":    {Policy{KeepLast: 1}, []Kept{ago(day, 1), ago(2*day, 2)}, []string{"1"}},
		"a later incarnation is newer":  {Policy{KeepLast: 1}, []Kept{ago(2*day, 500), ago(day, 7).incarnation(1)}, []string{"500"}},
		"an idle cluster goes by time":  {Policy{KeepLast: 1}, []Kept{{Key: "a", Revision: 5, Time: noon.Add(-day)}, {Key: "b", Revision: 5, Time: noon}}, []string{"a"}},
		"the newest of each day":        {Policy{KeepDaily: 2}, []Kept{ago(2*day, 1), ago(26*time.Hour, 2), ago(25*time.Hour, 3), ago(time.Hour, 4), ago(0, 5)}, []string{"1", "2", "4"}},
		"days without one do not count": {Policy{KeepDaily: 2}, []Kept{ago(90*day, 1), ago(30*day, 2), ago(0, 3)}, []string{"1"}},
		"the newest of each week":       {Policy{KeepWeekly: 2}, []Kept{ago(14*day, 1), ago(6*day, 2), ago(5*day, 3), ago(day, 4), ago(0, 5)}, []string{"1", "2", "4"}},
		"rules add up":                  {Policy{KeepLast: 1, KeepWeekly: 2, KeepWithin: 36 * time.Hour}, []Kept{ago(14*day, 1), ago(5*day, 2), ago(3*day, 3), ago(day, 4), ago(0, 5)}, []string{"1", "3"}},
		"one that is read stays":        {Policy{KeepLast: 1}, []Kept{ago(2*day, 1).held(), ago(day, 2), ago(0, 3)}, []string{"2"}},
		"ages count from the newest":    {Policy{KeepWithin: 7 * day}, []Kept{ago(68*day, 1), ago(66*day, 2), ago(60*day, 3)}, []string{"1"}},
		"a clock ahead loses nothing":   {Policy{KeepWithin: 7 * day}, []Kept{ago(5*day, 1), ago(-900*day, 2)}, nil},
		"a time ahead is now":           {Policy{KeepDaily: 1}, []Kept{ago(time.Hour, 1), ago(-30*day, 2)}, []string{"1"}},
		"the newest proven one stays": {Policy{KeepLast: 2}, []Kept{ago(4*day, 1).proven(), ago(3*day, 2).proven(), ago(2*day, 3), ago(day, 4), ago(0, 5)},
			[]string{"1", "3"}},
		"proven or not, the last stay": {Policy{KeepLast: 2}, []Kept{ago(2*day, 1).proven(), ago(day, 2).proven(), ago(0, 3)}, []string{"1"}},
		"the newest proven of a day": {Policy{KeepDaily: 2}, []Kept{ago(27*time.Hour, 1).proven(), ago(26*time.Hour, 2).proven(), ago(25*time.Hour, 3), ago(2*time.Hour, 4).proven(),
			ago(time.Hour, 5), ago(0, 6)}, []string{"1", "3", "5"}},
		"nothing": {Policy{KeepLast: 1}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tc.backups)
			if got := keysOf(tc.policy.Obsolete(tc.backups, noon)); !slices.Equal(got, append([]string{}, tc.gone...)) {
				t.Errorf("removes %v, want %v", got, tc.gone)
			}
			if !slices.Equal(before, tc.backups) {
				t.Error("it changed its argument")
			}
			slices.Reverse(tc.backups)
			if got := keysOf(tc.policy.Obsolete(tc.backups, noon)); !slices.Equal(got, append([]string{}, tc.gone...)) {
				t.Errorf("in another order it removes %v", got)
			}
		})
	}
}

func TestDaysBeginWhereTheScheduleLives(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	// The night in which clocks go forward: 23:30 and 01:30 there are 22:30 and 00:30 UTC of the same and the next day.
	late := Kept{Key: "late", Revision: 1, Time: time.Date(2026, time.March, 28, 22, 30, 0, 0, time.UTC)}
	early := Kept{Key: "early", Revision: 2, Time: time.Date(2026, time.March, 28, 23, 30, 0, 0, time.UTC)}
	now := time.Date(2026, time.March, 29, 12, 0, 0, 0, time.UTC)
	if got := (Policy{KeepDaily: 2, Location: berlin}).Obsolete([]Kept{late, early}, now); len(got) != 0 {
		t.Errorf("in Berlin these are two days, and %v goes", keysOf(got))
	}
	if got := (Policy{KeepDaily: 2}).Obsolete([]Kept{late, early}, now); len(got) != 1 || got[0].Key != "late" {
		t.Errorf("in UTC these are one day, and %v goes", keysOf(got))
	}
}

func TestTheHourThatClocksRepeatIsOneDayAndAWeekMayBeginInTheOldYear(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	at := func(key string, revision int64, utc string) Kept {
		when, err := time.Parse(time.RFC3339, utc)
		must(t, err)
		return Kept{Key: key, Revision: revision, Time: when}
	}
	for name, tc := range map[string]struct {
		policy  Policy
		backups []Kept
		gone    []string
	}{
		"02:30 comes twice, and the day has 25 hours": {
			Policy{KeepDaily: 3, Location: berlin}, []Kept{
				at("24th, 23:59", 1, "2026-10-24T21:59:00Z"), at("25th, 00:00", 2, "2026-10-24T22:00:00Z"), at("25th, 02:30", 3, "2026-10-25T00:30:00Z"),
				at("25th, 02:30 again", 4, "2026-10-25T01:30:00Z"), at("25th, 23:30", 5, "2026-10-25T22:30:00Z"), at("26th, 00:30", 6, "2026-10-25T23:30:00Z"),
			}, []string{"25th, 00:00", "25th, 02:30", "25th, 02:30 again"},
		},
		"the day on which clocks go forward has 23 hours": {
			Policy{KeepDaily: 2, Location: berlin}, []Kept{
				at("28th, 23:30", 1, "2026-03-28T22:30:00Z"), at("29th, 01:30", 2, "2026-03-29T00:30:00Z"), at("29th, 03:30", 3, "2026-03-29T01:30:00Z"),
				at("29th, 23:30", 4, "2026-03-29T21:30:00Z"),
			}, []string{"29th, 01:30", "29th, 03:30"},
		},
		"the week of the first of January begins in December": {
			Policy{KeepWeekly: 2, Location: berlin}, []Kept{
				at("Sunday, 27th", 1, "2026-12-27T12:00:00Z"), at("Monday, 28th, 00:30", 2, "2026-12-27T23:30:00Z"), at("Friday, 1st", 3, "2027-01-01T12:00:00Z"),
				at("Sunday, 3rd, 23:30", 4, "2027-01-03T22:30:00Z"),
			}, []string{"Monday, 28th, 00:30", "Friday, 1st"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := tc.backups[len(tc.backups)-1].Time.Add(time.Minute)
			if got := keysOf(tc.policy.Obsolete(tc.backups, now)); !slices.Equal(got, tc.gone) {
				t.Errorf("removes %q, want %q", got, tc.gone)
			}
		})
	}
}

// A year of hourly backups, some of which fail, with the policy applied after each.
func TestOverAYearThePolicyNeverLosesTheNewest(t *testing.T) {
	policy := Policy{KeepLast: 3, KeepDaily: 7, KeepWeekly: 4, KeepWithin: 6 * time.Hour}
	r := rand.New(rand.NewPCG(1, 4))
	var kept []Kept
	revision, incarnation, failing := int64(1), int64(0), 0
	for hour := range 365 * 24 {
		now := noon.Add(time.Duration(hour) * time.Hour)
		if failing == 0 && r.IntN(200) == 0 {
			failing = r.IntN(400)
		}
		failing = max(0, failing-1)
		revision += int64(r.IntN(3))
		if r.IntN(3000) == 0 {
			incarnation, revision = incarnation+1, 1
		}
		skew := time.Duration(r.IntN(120)-60) * time.Second
		if failing == 0 || len(kept) == 0 { // one that failed is not in the store
			kept = append(kept, Kept{Key: fmt.Sprint(hour), Incarnation: incarnation, Revision: revision, Time: now.Add(skew), Proven: r.IntN(3) == 0})
		}
		newest := slices.MinFunc(kept, newer)
		isProven := func(b Kept) bool { return b.Proven }
		wasProven := slices.ContainsFunc(kept, isProven)
		gone := policy.Obsolete(kept, now)
		kept = slices.DeleteFunc(kept, func(b Kept) bool { return slices.Contains(gone, b) })
		if !slices.Contains(kept, newest) {
			t.Fatalf("hour %d: the newest one, %s, is gone", hour, newest.Key)
		}
		if wasProven && !slices.ContainsFunc(kept, isProven) {
			t.Fatalf("hour %d: no proven one is left", hour)
		}
		if again := policy.Obsolete(kept, now); len(again) > 0 {
			t.Fatalf("hour %d: asked again it removes %v", hour, keysOf(again))
		}
		if len(kept) > 3+7+4+8 {
			t.Fatalf("hour %d: %d are kept", hour, len(kept))
		}
		if failing == 0 && hour > 60*24 && daysOf(kept) < 4 {
			t.Fatalf("hour %d: only %d days are left", hour, daysOf(kept))
		}
	}
}

func daysOf(backups []Kept) int {
	days := map[string]bool{}
	for _, b := range backups {
		days[b.Time.Format(time.DateOnly)] = true
	}
	return len(days)
}
