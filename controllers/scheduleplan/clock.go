package scheduleplan

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/robfig/cron/v3"
)

// clock tells the times that a schedule names.
type clock struct {
	cron  cron.Schedule
	wall  *cron.SpecSchedule // the same, read off a clock that is never changed; nil for @every
	every time.Duration      // zero: not @every
	zone  *time.Location
}

// unreadable says what is wrong with a schedule.
type unreadable struct{ reason, message string }

// readClock reads the schedule of a field of the spec as kubernetes/kubernetes:pkg/apis/batch/validation does, with the
// library that CronJobs use.
func readClock(field, expression, timeZone string) (c clock, wrong *unreadable) {
	defer func() { // the library has panicked on what it could not read
		if cause := recover(); cause != nil {
			wrong = &unreadable{ReasonScheduleInvalid,
				fmt.Sprintf("%s is %q, which cannot be read: %v", field, expression, cause)}
		}
	}()
	if strings.Contains(expression, "TZ") {
		return clock{}, &unreadable{ReasonScheduleInvalid,
			fmt.Sprintf("%s is %q; it must name no time zone: put it into spec.timeZone.", field, expression)}
	}
	zone, err := time.LoadLocation(timeZone) // empty is UTC
	if err != nil || strings.EqualFold(timeZone, "Local") {
		return clock{}, &unreadable{ReasonTimeZoneUnknown,
			fmt.Sprintf("spec.timeZone is %q; it must be the name of a time zone, such as Europe/Berlin.", timeZone)}
	}
	parsed, err := cron.ParseStandard(strings.TrimSpace(expression))
	if err != nil {
		return clock{}, &unreadable{ReasonScheduleInvalid, fmt.Sprintf(
			"%s is %q, which cannot be read: %v; it must have five fields, such as \"0 3 * * *\", or be a word "+
				"such as @daily.", field, expression, err)}
	}
	return clockOf(field, expression, parsed, zone)
}

func clockOf(field, expression string, parsed cron.Schedule, zone *time.Location) (clock, *unreadable) {
	switch parsed := parsed.(type) {
	case cron.ConstantDelaySchedule:
		if parsed.Delay%time.Minute != 0 {
			return clock{}, &unreadable{ReasonScheduleInvalid,
				fmt.Sprintf("%s is %q; @every must have a time of whole minutes, such as 90m.", field, expression)}
		}
		return clock{cron: parsed, every: parsed.Delay, zone: zone}, nil
	case *cron.SpecSchedule:
		parsed.Location = zone
		wall := *parsed
		wall.Location = time.UTC
		return clock{cron: parsed, wall: &wall, zone: zone}, nil
	}
	return clock{}, &unreadable{ReasonScheduleInvalid,
		fmt.Sprintf("%s is %q, which cannot be read.", field, expression)}
}

// after is the first time that the schedule names after another; zero when there is none within five years. For @every
// the other must be one that it names, or where it begins.
func (c clock) after(t time.Time) time.Time {
	t = t.In(c.zone).Truncate(time.Second)
	next := c.cron.Next(t)
	if c.wall == nil {
		return next.UTC()
	}
	if skipped := c.skipped(t); skipped.After(t) && (next.IsZero() || skipped.Before(next)) {
		next = skipped
	}
	if next.IsZero() {
		return next
	}
	return next.UTC()
}

// skipped is when a run is made whose time does not exist, because clocks were put forward over it; zero when the next
// one does exist. The library leaves such a run out, and a nightly backup must not be left out once a year.
func (c clock) skipped(t time.Time) time.Time {
	const layout = "2006-01-02 15:04"
	// Clocks that were put forward a moment ago are read as if they had not been: a run of the skipped hour is still to
	// come.
	_, offset := t.Add(-recent).Zone()
	named := c.wall.Next(t.UTC().Add(time.Duration(offset) * time.Second))
	if named.IsZero() {
		return time.Time{}
	}
	at := time.Date(named.Year(), named.Month(), named.Day(), named.Hour(), named.Minute(), 0, 0, c.zone)
	if at.Format(layout) == named.Format(layout) {
		return time.Time{}
	}
	// Go takes a time that does not exist by the offset of either side, depending on the zone. By the one from before,
	// it is after the change.
	_, offset = at.Add(-recent).Zone()
	return named.Add(-time.Duration(offset) * time.Second).In(c.zone)
}

// recent is longer than clocks are put forward by.
const recent = 3 * time.Hour

// windows are how far back the newest missed run is looked for, each only when the one before has none: a schedule of
// every minute is not walked through for a year.
var windows = []time.Duration{
	time.Hour, 24 * time.Hour, 8 * 24 * time.Hour, 32 * 24 * time.Hour, 367 * 24 * time.Hour, 5 * 366 * 24 * time.Hour,
}

// newest is the last time after one and not after the other; zero when there is none.
func (c clock) newest(base, now time.Time) time.Time {
	if c.every > 0 {
		if now.Sub(base) < c.every {
			return time.Time{}
		}
		return base.Add(now.Sub(base) / c.every * c.every).UTC()
	}
	for _, window := range windows {
		from, last := now.Add(-window), time.Time{}
		isAll := !from.After(base)
		if isAll {
			from = base
		}
		for t := c.after(from); !t.IsZero() && !t.After(now); t = c.after(t) {
			last = t
		}
		if !last.IsZero() || isAll {
			return last
		}
	}
	return time.Time{}
}

// tooMany is where missed runs are not counted any more, as in Kubernetes.
const tooMany = 100

// missed counts the times after one and not after the other, to one more than tooMany.
func (c clock) missed(base, now time.Time) int {
	n := 0
	for t := c.after(base); !t.IsZero() && !t.After(now) && n <= tooMany; t = c.after(t) {
		n++
	}
	return n
}
