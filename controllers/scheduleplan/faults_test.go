package scheduleplan

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIsWrongWithTheTimesOfAScheduleIsToldByItsField(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		schedule Schedule
		want     string // fields and words
	}{
		"nothing":               {Schedule{Expression: "0 3 * * *", TestExpression: "@weekly", TimeZone: "Europe/Berlin"}, ""},
		"no test restores":      {Schedule{Expression: "@daily"}, ""},
		"four fields":           {Schedule{Expression: "0 3 * *"}, "spec.schedule five fields"},
		"a day that never is":   {Schedule{Expression: "0 0 30 2 *"}, "spec.schedule no time"},
		"a zone that is none":   {Schedule{Expression: "@daily", TestExpression: "@weekly", TimeZone: "Mars"}, "spec.timeZone Europe/Berlin"},
		"seconds":               {Schedule{Expression: "@every 90s"}, "spec.schedule whole minutes"},
		"a test restore":        {Schedule{Expression: "@daily", TestExpression: "weekly"}, "spec.testRestore.schedule five fields"},
		"it is suspended, also": {Schedule{Expression: "daily", Suspended: true}, "spec.schedule five fields"},
	} {
		row.schedule.Created = now
		faults := Faults(row.schedule, now)
		if (len(faults) == 0) != (row.want == "") || len(faults) > 1 {
			t.Errorf("%s: %+v", name, faults)
			continue
		}
		for _, fault := range faults {
			field, words, _ := strings.Cut(row.want, " ")
			if fault.Field != field || !strings.Contains(fault.Message, words) || fault.Value == "" {
				t.Errorf("%s: %+v", name, fault)
			}
		}
	}
}
