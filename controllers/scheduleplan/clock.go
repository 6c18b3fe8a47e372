package scheduleplan

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// clock tells the times that a schedule names.
type clock struct {
	cron  cron.Schedule
	wall  *cron.SpecSchedule // the same, read off a clock that is never changed; nil for @every
	every time.Duration      // zero: not @every
	zone  *time.Location
}

// readClock reads the schedule of a field of the spec as kubernetes/kubernetes:pkg/apis/batch/validation does, with the
// library that CronJobs use.
func readClock(field, expression, timeZone string) (c clock, wrong *backupplan.Trouble) {
	defer func() { // the library has panicked on what it could not read
		if cause := recover(); cause != nil {
			wrong = unreadable(ReasonScheduleInvalid, "%s is %q, which cannot be read: %v", field, expression, cause)
		}
	}()
	if strings.Contains(expression, "TZ") {
		return clock{}, unreadable(ReasonScheduleInvalid,
			"%s is %q; it must name no time zone: put it into spec.timeZone.", field, expression)
	}
	zone, err := time.LoadLocation(timeZone) // empty is UTC
	if err != nil || strings.EqualFold(timeZone, "Local") {
		return clock{}, unreadable(ReasonTimeZoneUnknown,
			"spec.timeZone is %q; it must be the name of a time zone, such as Europe/Berlin.", timeZone)
	}
	parsed, err := cron.ParseStandard(strings.TrimSpace(expression))
	if err != nil {
		return clock{}, unreadable(ReasonScheduleInvalid, "%s is %q, which cannot be read: %v; it must have five "+
			"fields, such as \"0 3 * * *\", or be a word such as @daily.", field, expression, err)
	}
	return clockOf(field, expression, parsed, zone)
}

func clockOf(field, expression string, parsed cron.Schedule, zone *time.Location) (clock, *backupplan.Trouble) {
	switch parsed := parsed.(type) {
	case cron.ConstantDelaySchedule:
		if parsed.Delay%time.Minute != 0 {
			return clock{}, unreadable(ReasonScheduleInvalid,
				"%s is %q; @every must have a time of whole minutes, such as 90m.", field, expression)
		}
		return clock{cron: parsed, every: parsed.Delay, zone: zone}, nil
	case *cron.SpecSchedule:
		parsed.Location = zone
		wall := *parsed
		wall.Location = time.UTC
		return clock{cron: parsed, wall: &wall, zone: zone}, nil
	}
	return clock{}, unreadable(ReasonScheduleInvalid, "%s is %q, which cannot be read.", field, expression)
}

func unreadable(reason, format string, args ...any) *backupplan.Trouble {
	return &backupplan.Trouble{Reason: reason, Message: fmt.Sprintf(format, args...)}
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

// showPoints tells what can be restored: with retention what the store was found to have, and else what the EtcdBackups
// say; and what was last proven, which outlives both.
func (o Observation) showPoints(status *v1alpha1.EtcdBackupScheduleStatus, old v1alpha1.EtcdBackupScheduleStatus) {
	oldest, newest := o.ends()
	if r := o.Pruned; o.Schedule.Retains && !r.GoodAt.IsZero() {
		status.KeptBackups, oldest = new(r.Kept), r.Oldest
		if newest == nil {
			newest = r.Newest
		}
	}
	status.OldestRestorable, status.NewestRestorable = oldest.show(), newest.show()
	if status.LastProvenTime = o.past(old.LastProvenTime); status.LastProvenTime != nil {
		status.LastProven = old.LastProven
	}
	prove := func(at time.Time, point *Point) {
		if latest := o.later(status.LastProvenTime, at); latest != status.LastProvenTime {
			status.LastProvenTime, status.LastProven = latest, point.show()
		}
	}
	for i, run := range o.Runs {
		if _, ok := o.timeOf(run); ok && run.State == RunComplete {
			prove(run.when(run.VerifiedAt), &o.Runs[i].Point)
		}
	}
	prove(o.Tested.GoodAt, o.Tested.Newest)
}

// ends are the oldest and the newest run that are complete, by their snapshots.
func (o Observation) ends() (oldest, newest *Point) {
	for i, run := range o.Runs {
		if _, ok := o.timeOf(run); !ok || run.State != RunComplete || run.Doubted || run.Point.StartedAt.IsZero() {
			continue
		}
		if oldest == nil || run.Point.StartedAt.Before(oldest.StartedAt) {
			oldest = &o.Runs[i].Point
		}
		if newest == nil || run.Point.StartedAt.After(newest.StartedAt) {
			newest = &o.Runs[i].Point
		}
	}
	return oldest, newest
}

// choreConditions are there for the chores that are asked for.
func choreConditions(o Observation, d Decision) []metav1.Condition {
	var conditions []metav1.Condition
	if o.Schedule.Retains {
		conditions = append(conditions, o.condition(d, Prune, v1alpha1.ScheduleRetained, o.Pruned))
	}
	if o.Schedule.TestExpression != "" {
		conditions = append(conditions, o.condition(d, Test, v1alpha1.ScheduleProven, o.Tested))
	}
	return conditions
}

func (o Observation) condition(d Decision, chore Chore, kind string, last Record) metav1.Condition {
	condition := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return words.Condition(kind, status, reason, words.Bounded(message))
	}
	_, wrong := readClock("spec.testRestore.schedule", o.Schedule.TestExpression, o.Schedule.TimeZone)
	trouble := o.trouble(chore)
	switch refusal, isRefused := d.Refusals[chore]; {
	case chore == Test && wrong != nil:
		return condition(metav1.ConditionFalse, wrong.Reason, wrong.Message)
	case isRefused:
		return condition(metav1.ConditionFalse, refusal.Reason, refusal.Message)
	case trouble != nil:
		return condition(metav1.ConditionFalse, trouble.Reason, trouble.Message)
	}
	status, reason, message := o.outcome(chore, last)
	return condition(status, reason, message)
}

func (o Observation) outcome(chore Chore, last Record) (status metav1.ConditionStatus, reason, message string) {
	switch {
	case last.FinishedAt.IsZero() && chore == Prune:
		return metav1.ConditionUnknown, ReasonNotYet, "Retention begins once a backup of this schedule is complete."
	case last.FinishedAt.IsZero():
		return metav1.ConditionUnknown, ReasonNotYet, "No test restore of this schedule has run yet."
	case last.Good && chore == Prune && o.isProofMissing():
		return metav1.ConditionFalse, ReasonPaused, fmt.Sprintf(
			"The last test restore proved nothing (%s), so retention removes no backup, only leftovers. It goes on "+
				"after the next test restore that succeeds. Find out why from the condition Proven. To go on without "+
				"proof, remove spec.testRestore.", o.tested().Reason)
	case last.Good && chore == Prune && len(o.calledProven()) > 0:
		return metav1.ConditionFalse, ReasonPaused, fmt.Sprintf(
			"No backup of this schedule counts as proven. EtcdBackups that say so are not signed, such as %s. So "+
				"retention removes no backup, only leftovers. It goes on after the next backup or test restore "+
				"that is proven. To go on without, delete these EtcdBackups; what is in the store stays.",
			o.calledProven()[0])
	case last.Good:
		return metav1.ConditionTrue, last.Reason, last.Message
	}
	return metav1.ConditionFalse, last.Reason,
		fmt.Sprintf("At %s: %s", words.Format(last.FinishedAt), last.Message)
}

// patience is how long a Pod of a chore may take to be made, and to start, before it is said why it does not.
const patience = 30 * time.Second

// trouble is what keeps the Pod of a chore from starting; nil when nothing does.
func (o Observation) trouble(chore Chore) *backupplan.Trouble {
	for _, job := range o.Jobs {
		if job.Chore != chore || job.End != backupplan.JobRuns {
			continue
		}
		if job.Suspended {
			return &backupplan.Trouble{Reason: ReasonSuspended,
				Message: fmt.Sprintf("The Job %s is suspended (spec.suspend of the Job).", job.Name)}
		}
		if len(job.Pods) == 0 && job.Trouble != nil && o.Now.Sub(job.Created) >= patience {
			return job.Trouble
		}
		for _, pod := range job.Pods {
			if pod.Trouble != nil && o.Now.Sub(pod.Created) >= patience {
				return pod.Trouble
			}
		}
	}
	return nil
}

// ProofExpectedBy is by when a test restore has to have gone well: the first one after the last that did, and as long
// as it may take. Zero expects nothing.
func ProofExpectedBy(o Observation) time.Time {
	clock, wrong := readClock("spec.testRestore.schedule", o.Schedule.TestExpression, o.Schedule.TimeZone)
	if o.Schedule.TestExpression == "" || o.expectsNothing() {
		return time.Time{}
	}
	due := o.created()
	if o.Tested.For.After(due) && !o.Tested.For.After(o.Now) {
		due = o.Tested.For
	}
	if wrong == nil {
		if next := clock.after(due); !next.IsZero() {
			due = next
		}
	}
	return due.Add(o.Schedule.BackupDeadline)
}
