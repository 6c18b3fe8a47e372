package scheduleplan

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Status is what people see of a decision. The old status serves for the times at which conditions turned, and for what
// EtcdBackups that are gone have told.
func Status(o Observation, d Decision, old v1alpha1.EtcdBackupScheduleStatus) v1alpha1.EtcdBackupScheduleStatus {
	status := v1alpha1.EtcdBackupScheduleStatus{
		NextScheduleTime:   words.TimeOrNil(d.Next),
		LastSuccessfulTime: o.past(old.LastSuccessfulTime), LastVerifiedTime: o.past(old.LastVerifiedTime),
		LastScheduleTime: o.past(old.LastScheduleTime),
	}
	for _, t := range []time.Time{o.latest(), o.recorded()} {
		status.LastScheduleTime = o.later(status.LastScheduleTime, t)
	}
	for _, run := range o.Runs {
		if _, ok := o.timeOf(run); ok && run.State == RunComplete {
			status.LastSuccessfulTime = o.later(status.LastSuccessfulTime, run.when(run.CompletedAt))
			status.LastVerifiedTime = o.later(status.LastVerifiedTime, run.when(run.VerifiedAt))
		}
	}
	if active := o.active(); active != nil {
		status.Active = active.Name
	}
	if ended := o.ended(); ended != nil {
		status.LastRun = ended.Name
	}
	o.showPoints(&status, old)
	status.NextTestRestoreTime = words.TimeOrNil(d.NextTest)
	status.Conditions = words.Since(o.Now, 0,
		append([]metav1.Condition{ready(d), backedUp(o)}, choreConditions(o, d)...), old.Conditions)
	return status
}

func ready(d Decision) metav1.Condition {
	status := metav1.ConditionFalse
	if d.Ready {
		status = metav1.ConditionTrue
	}
	return words.Condition(v1alpha1.ScheduleReady, status, d.Reason, d.Message)
}

func backedUp(o Observation) metav1.Condition {
	ended := o.ended()
	switch {
	case ended == nil:
		return words.Condition(v1alpha1.ScheduleBackedUp, metav1.ConditionUnknown, ReasonNoRunYet,
			"No EtcdBackup of this schedule has ended.")
	case ended.Doubted:
		return words.Condition(v1alpha1.ScheduleBackedUp, metav1.ConditionUnknown, backupplan.ReasonRecordNotSigned,
			fmt.Sprintf("That the EtcdBackup %s is complete is not signed with the key of the cluster: its condition "+
				"Complete says why. The next run that is complete counts.", ended.Name))
	case ended.State == RunComplete:
		message := fmt.Sprintf("The EtcdBackup %s is complete.", ended.Name)
		if ended.Reason == backupplan.ReasonNoWitness {
			message += " No second member confirmed its keys: its condition Verified says which did not."
		}
		return words.Condition(v1alpha1.ScheduleBackedUp, metav1.ConditionTrue, ReasonLastRunComplete, message)
	}
	return words.Condition(v1alpha1.ScheduleBackedUp, metav1.ConditionFalse, ReasonLastRunFailed,
		words.Bounded(fmt.Sprintf("The EtcdBackup %s failed (%s): %s.", ended.Name, ended.Reason,
			strings.TrimSuffix(ended.Message, "."))))
}

// WhyFailed is how the last run of a schedule failed, by its own status, or "". It is for display: a status may say
// anything.
func WhyFailed(s *v1alpha1.EtcdBackupSchedule) string {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ScheduleBackedUp)
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return words.Bounded(c.Message)
}

// when is the time at which something came of a run. A node whose clock is wrong is not believed: what it says would
// stay, and for as long no alert would tell that no backup comes. Then it is when the EtcdBackup was created.
func (r Run) when(t time.Time) time.Time {
	if t.IsZero() || !t.Before(r.Created) && !t.After(r.Created.Add(r.Deadline)) {
		return t
	}
	return r.Created
}

// past is a time that was shown; nil when it is still to come, since clocks can be wrong.
func (o Observation) past(shown *metav1.Time) *metav1.Time {
	if shown != nil && shown.After(o.Now) {
		return nil
	}
	return shown
}

// later is the later of two times, as far as the API keeps them: in seconds. What is still to come is none.
func (o Observation) later(a *metav1.Time, b time.Time) *metav1.Time {
	b = b.Truncate(time.Second)
	if b.IsZero() || b.After(o.Now) || a != nil && !b.After(a.Time) {
		return a
	}
	return words.TimeOrNil(b)
}

func (o Observation) expectsNothing() bool {
	return o.Schedule.Suspended || o.Schedule.Deleting || !o.Cluster.Exists || o.Cluster.Deleting ||
		o.Cluster.Needless || o.Cluster.Asleep
}

// ExpectedBy is by when the next complete backup of the schedule has to be there: the first run after the newest
// complete one, and as long as a run may take. A schedule that cannot be read is expected to have run at once. Zero
// expects nothing: it is suspended, or there is no cluster.
func ExpectedBy(o Observation, status v1alpha1.EtcdBackupScheduleStatus) time.Time {
	if o.expectsNothing() {
		return time.Time{}
	}
	from := o.created()
	if last := o.past(status.LastSuccessfulTime); last != nil {
		from = last.Time
	}
	due := from
	if clock, wrong := readClock("spec.schedule", o.Schedule.Expression, o.Schedule.TimeZone); wrong == nil {
		if next := clock.after(from); !next.IsZero() {
			due = next
		}
	}
	return due.Add(o.Schedule.BackupDeadline)
}

// Made are the events of a change that was made.
func Made(change Change) []words.Event {
	switch change := change.(type) {
	case CreateRun:
		events := []words.Event{{Reason: EventCreated, Action: "Schedule",
			Note: fmt.Sprintf("Created the EtcdBackup %s.", change.Name)}}
		if change.Missed > 1 {
			events = append(events, words.Event{Warning: true, Reason: EventMadeUp, Action: "Schedule",
				Note: fmt.Sprintf(
					"%s did not start at their time; the newest one, of %s, starts now.", missedRuns(change.Missed),
					words.Format(change.At))})
		}
		return events
	case MarkAhead:
		return []words.Event{{Warning: true, Reason: EventAhead, Action: "Schedule", Note: fmt.Sprintf(
			"The EtcdBackup %s was made for %s, which is still to come: the API server's clock ran ahead. The backup "+
				"stays, and the run of that time is made as well. Check the clocks of the control plane.",
			change.Run.Name, words.Format(change.At))}}
	case RecordChore:
		return []words.Event{made(change)}
	case RecordRun:
		if change.LeftOut {
			return []words.Event{{Warning: true, Reason: EventLeftOut, Action: "Schedule", Note: fmt.Sprintf(
				"The run of %s did not start within spec.startingDeadline and is left out.", words.Format(change.At))}}
		}
	}
	return nil
}

func missedRuns(n int) string {
	if n > tooMany {
		return fmt.Sprintf("More than %d runs", tooMany)
	}
	return fmt.Sprintf("%d runs", n)
}

// Events are what became different from an old status.
func Events(d Decision, old v1alpha1.EtcdBackupScheduleStatus) []words.Event {
	var events []words.Event
	if d.Trouble && words.ReasonOf(old.Conditions, v1alpha1.ScheduleReady) != d.Reason {
		events = append(events, words.Event{Warning: true, Reason: EventHeldUp, Action: "Schedule", Note: d.Reason +
			": " + d.Message})
	}
	for _, told := range []struct {
		chore Chore
		kind  string
	}{{Prune, v1alpha1.ScheduleRetained}, {Test, v1alpha1.ScheduleProven}} {
		if refusal, ok := d.Refusals[told.chore]; ok && words.ReasonOf(old.Conditions, told.kind) != refusal.Reason {
			events = append(events, words.Event{Warning: true, Reason: EventChoreRefused, Action: "Schedule",
				Note: refusal.Reason + ": " + refusal.Message})
		}
	}
	return events
}

func made(change RecordChore) words.Event {
	reasons := map[Chore][2]string{Prune: {EventNotPruned, EventPruned},
		Test: {EventNotProven, EventProven}}[change.Chore]
	if change.Record.Good {
		return words.Event{Reason: reasons[1], Action: "Schedule", Note: change.Record.Message}
	}
	note := change.Record.Reason + ": " + change.Record.Message
	if change.PausesRetention {
		note += " Until a test restore succeeds, retention removes no backup."
	}
	return words.Event{Warning: true, Reason: reasons[0], Action: "Schedule", Note: note}
}

// Fault is what keeps a schedule from doing what a field of its spec asks for, until the field is put right.
type Fault struct{ Field, Value, Message string }

// Faults are those of the times of a schedule.
func Faults(s Schedule, now time.Time) []Fault {
	v := viewOf(Observation{Now: now, Schedule: s})
	var faults []Fault
	for _, rule := range []func(view) *Decision{cannotBeRead, neverFires} {
		if d := rule(v); d != nil {
			faults = append(faults, s.fault("spec.schedule", s.Expression, d.Reason, d.Message))
			break
		}
	}
	isTold := len(faults) > 0 && faults[0].Field == fieldTimeZone
	if s.TestExpression != "" && v.testWrong != nil && !isTold {
		faults = append(faults, s.fault(fieldTest, s.TestExpression, v.testWrong.Reason, v.testWrong.Message))
	}
	return faults
}

const (
	fieldTimeZone = "spec.timeZone"
	fieldTest     = "spec.testRestore.schedule"
)

// fault is one of a field with times, or of their zone.
func (s Schedule) fault(field, value, reason, message string) Fault {
	if reason == ReasonTimeZoneUnknown {
		field, value = fieldTimeZone, s.TimeZone
	}
	return Fault{Field: field, Value: value, Message: message}
}

// Reasons of the condition Ready.
const (
	ReasonScheduled       = "Scheduled"
	ReasonRunning         = "Running"
	ReasonRunHeldUp       = "RunHeldUp"
	ReasonCreating        = "Creating"
	ReasonPreviousRunning = "PreviousRunning"
	ReasonSuspended       = "Suspended"
	ReasonDeleting        = "Deleting"
	ReasonScheduleInvalid = "ScheduleInvalid"
	ReasonTimeZoneUnknown = "TimeZoneUnknown"
	ReasonNeverFires      = "NeverFires"
	ReasonClusterNotFound = "ClusterNotFound"
	ReasonClusterAsleep   = "ClusterAsleep"
	ReasonNameTaken       = "NameTaken"
)

// Reasons of the condition BackedUp.
const (
	ReasonLastRunComplete = "LastRunComplete"
	ReasonLastRunFailed   = "LastRunFailed"
	ReasonNoRunYet        = "NoRunYet"
)

// Reasons of the conditions Retained and Proven. Where a Job says itself why it failed, it is its word.
const (
	ReasonApplied       = "Applied"
	ReasonStoreEmpty    = "StoreEmpty"
	ReasonPaused        = "RetentionPaused"
	ReasonRestored      = "Restored"
	ReasonUnconfirmed   = "RestoredUnconfirmed"
	ReasonNotYet        = "NotYet"
	ReasonRestoreBegins = "RestoreBegins"
)

// Reasons of events.
const (
	EventCreated = "BackupCreated"
	EventMadeUp  = "RunsMissed"
	EventLeftOut = "RunLeftOut"
	EventHeldUp  = "ScheduleHeldUp"
	EventAhead   = "ClockRanAhead"

	EventPruned       = "BackupsRemoved"
	EventNotPruned    = "RetentionFailed"
	EventProven       = "TestRestoreComplete"
	EventNotProven    = "TestRestoreFailed"
	EventChoreRefused = "ScheduleJobRefused"
)
