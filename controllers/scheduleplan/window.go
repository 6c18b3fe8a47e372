package scheduleplan

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

// The schedules of an EtcdCluster, which are read as those of backups are.

// Around are the newest time of the schedule in a field that lies after one time and not after now, and the first after
// now; zero where there is none. Why says, as a sentence, why it cannot be read.
func Around(field, expression, timeZone string, after, now time.Time) (latest, next time.Time, why string) {
	c, wrong := readClock(field, expression, timeZone)
	if wrong != nil {
		return latest, next, beside(field, wrong)
	}
	base, from := after, now
	if c.every > 0 { // counted from one fixed day, so that each look finds the same
		base, from = after.Truncate(c.every), now.Truncate(c.every)
	}
	if latest = c.newest(base, now); !latest.After(after) {
		latest = time.Time{}
	}
	return latest, c.after(from), ""
}

// beside says, as a sentence, what is wrong with a field that has its time zone beside it.
func beside(field string, wrong *backupplan.Trouble) string {
	return strings.TrimSuffix(strings.ReplaceAll(wrong.Message, fieldTimeZone, zoneBeside(field)), ".") + "."
}

func zoneBeside(field string) string { return strings.TrimSuffix(field, "schedule") + "timeZone" }

// Window tells when the windows of maintenance of a cluster are open.
type Window struct {
	clock clock
	lasts time.Duration
}

const fieldWindow = "spec.maintenance.window.schedule"

// ReadWindow reads a window, or says why it cannot be read, or does not open in each year.
func ReadWindow(spec *v1alpha1.WindowSpec) (Window, *Fault) {
	c, wrong := readClock(fieldWindow, spec.Schedule, spec.TimeZone)
	switch {
	case wrong != nil && wrong.Reason == ReasonTimeZoneUnknown:
		return Window{}, &Fault{zoneBeside(fieldWindow), spec.TimeZone, beside(fieldWindow, wrong)}
	case wrong != nil:
		return Window{}, &Fault{fieldWindow, spec.Schedule, beside(fieldWindow, wrong)}
	case !c.isYearly():
		return Window{}, &Fault{fieldWindow, spec.Schedule, fmt.Sprintf("%s is %q, which names no time in some "+
			"years: changes of the spec would wait for years. Name a time of each year, such as \"0 2 * * 0\" for "+
			"each Sunday at 2.", fieldWindow, spec.Schedule)}
	}
	return Window{clock: c, lasts: spec.Duration.Duration}, nil
}

// isYearly reports a time in each year. Years differ by the 29th of February alone, and by weekdays, which each has.
func (c clock) isYearly() bool {
	common := time.Date(2027, 1, 1, 0, 0, 0, 0, c.zone)
	next := c.after(common.Add(-time.Second))
	return c.wall != nil && !next.IsZero() && next.Before(common.AddDate(1, 0, 0))
}

// Opening says how a window stands at a time.
type Opening struct {
	Until  time.Time // when the one closes that is open; zero while none is
	Next   time.Time // when the next one opens, in its own zone
	Before time.Time // when the one of the schedule opened that came before it; while none is open, the newest one
}

// At is how the window stands now. One that a person opened counts as well as those of the schedule.
func (w Window) At(asked, now time.Time) Opening {
	at, began := Opening{Next: w.clock.after(now).In(w.clock.zone)}, now
	if opened := w.clock.newest(now.Add(-w.lasts), now); !opened.IsZero() {
		at.Until, began = opened.Add(w.lasts), opened
	}
	if closes := asked.Add(w.lasts); !asked.After(now) && closes.After(now) && closes.After(at.Until) {
		at.Until = closes
	}
	at.Before = w.clock.newest(now.AddDate(-1, -1, 0), began.Add(-time.Second))
	return at
}
