// Package scheduleplan decides what becomes of an EtcdBackupSchedule. Next is a pure function from what was observed
// to the one thing to do now; Status, Events and ExpectedBy are pure functions from that to what people see.
//
// # Words
//
// A schedule is one EtcdBackupSchedule. Each time that it names has a run: the EtcdBackup whose name is made from the
// schedule's and that time, so that two operators, or one that crashed, make one. A run is due when its time has come,
// and missed while it was not begun. The record is an annotation on the schedule: the last time for which a run was
// begun, or left out. It outlives the EtcdBackups, which tell it too.
//
// # The order of rules
//
//  1. What is not to be touched: deleting, other-operator.
//  2. What was begun is written down: record-run.
//  3. What keeps it from beginning anything: suspended, unreadable, never-fires, cluster-missing,
//     cluster-asleep.
//  4. What is due: left-out (missed for longer than the starting deadline), previous-running (never two at once),
//     create-run.
//  5. Nothing is due: running, wait.
//
// Of several runs that were missed the newest alone is made up for. Nothing is ever decided from the status.
package scheduleplan

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// How long until the next look, where nothing else says that something moved.
const (
	afterChange   = 20 * time.Millisecond
	whileMissing  = 30 * time.Second
	whileRunning  = time.Minute
	longestWait   = 10 * time.Minute // clocks are put right meanwhile
	otherOperator = time.Minute
)

type view struct {
	Observation
	clock clock
	wrong *backupplan.Trouble
	base  time.Time // the last time that was considered
	due   time.Time // the newest run that should have begun; zero: none
	next  time.Time // the first run after now

	testClock clock
	testWrong *backupplan.Trouble
}

// rules in the order of doc.go; the first that speaks wins.
var rules = []func(view) *Decision{
	deleting, ofAnotherOperator,
	recordRun,
	suspended, cannotBeRead, neverFires, clusterMissing, clusterAsleep,
	leftOut, previousRunning, createRun,
	running, wait,
}

// Next is what to do now.
func Next(o Observation) Decision {
	v := viewOf(o)
	for _, rule := range rules {
		if d := rule(v); d != nil {
			return d.with(v)
		}
	}
	panic("the last rule always speaks")
}

// with adds the chores to a decision that changes nothing: backups come first, unless they are refused.
func (d Decision) with(v view) Decision {
	if d.Change != nil || d.Ignored {
		return d
	}
	d.NextTest, d.Chores = v.nextTest(), v.chores()
	if v.isBusy() || slices.ContainsFunc(v.Jobs, func(j Job) bool { return j.Open }) {
		d.Recheck = words.Sooner(d.Recheck, whileRunning)
	}
	if !d.NextTest.IsZero() {
		d.Recheck = words.Sooner(d.Recheck, d.NextTest.Sub(v.Now))
	}
	return d
}

func viewOf(o Observation) view {
	o.Pruned, o.Tested = o.Pruned.AsOf(o.Now), o.Tested.AsOf(o.Now)
	v := view{Observation: o, base: o.considered()}
	v.testClock, v.testWrong = readClock(fieldTest, o.Schedule.TestExpression, o.Schedule.TimeZone)
	if v.clock, v.wrong = readClock("spec.schedule", o.Schedule.Expression, o.Schedule.TimeZone); v.wrong == nil {
		v.due = v.clock.newest(v.base, o.Now)
		v.next = v.clock.next(v.base, o.Now)
	}
	return v
}

// next is the first time after now; @every counts from the last one.
func (c clock) next(base, now time.Time) time.Time {
	if c.every == 0 {
		return c.after(now)
	}
	if last := c.newest(base, now); !last.IsZero() {
		base = last
	}
	return c.after(base)
}

func deleting(v view) *Decision {
	if !v.Schedule.Deleting {
		return nil
	}
	return &Decision{Reason: ReasonDeleting,
		Message: "The EtcdBackupSchedule is being deleted; its EtcdBackups and what is in the store stay."}
}

func ofAnotherOperator(v view) *Decision {
	if v.Cluster.Operator == "" || v.Cluster.Operator == v.Operator {
		return nil
	}
	return &Decision{Ignored: true, Recheck: otherOperator}
}

// recordRun comes before anything else is begun: a run whose EtcdBackup was deleted is not made again. A record of the
// future is put right while it can be told, since the run of its time would be left out.
func recordRun(v view) *Decision {
	latest := v.latest()
	if isAhead := v.Schedule.Recorded.Sub(v.Now) > clockSlack; !isAhead && !latest.After(v.recorded()) {
		return nil
	}
	return &Decision{
		Ready: true, Reason: ReasonCreating, Message: "The EtcdBackup of this run was created.", Next: v.next,
		Change: RecordRun{At: latest}, Recheck: afterChange,
	}
}

func suspended(v view) *Decision {
	if !v.Schedule.Suspended {
		return nil
	}
	return &Decision{Reason: ReasonSuspended, Message: "spec.suspend is true: no backup starts."}
}

func cannotBeRead(v view) *Decision {
	if v.wrong == nil {
		return nil
	}
	return &Decision{Reason: v.wrong.Reason, Message: v.wrong.Message, Trouble: true}
}

// neverFires tells the 30th of February apart from what is far away.
func neverFires(v view) *Decision {
	if !v.next.IsZero() || !v.due.IsZero() {
		return nil
	}
	return &Decision{
		Reason: ReasonNeverFires, Trouble: true, Recheck: longestWait,
		Message: fmt.Sprintf("spec.schedule is %q, which names no time within the next five years.",
			v.Schedule.Expression),
	}
}

func clusterMissing(v view) *Decision {
	why := WhyNoCluster(v.Schedule.Cluster, v.Cluster)
	if why == "" {
		return nil
	}
	return &Decision{Reason: ReasonClusterNotFound, Message: why, Trouble: true, Next: v.next, Recheck: whileMissing}
}

// WhyNoCluster says what keeps a cluster from being backed up, or "".
func WhyNoCluster(name string, c Cluster) string {
	switch {
	case !c.Exists:
		return "EtcdCluster " + name + " does not exist in this namespace: no backup starts."
	case c.Deleting:
		return "EtcdCluster " + name + " is being deleted: no backup starts."
	}
	return ""
}

// clusterAsleep begins no backup of a cluster that no one can write to. What was missed is made up for once it serves.
func clusterAsleep(v view) *Decision {
	if !v.Cluster.Asleep {
		return nil
	}
	return &Decision{Ready: true, Reason: ReasonClusterAsleep, Message: fmt.Sprintf("EtcdCluster %s sleeps, because "+
		"its spec.size is 0: no backup starts, and none is missed. Once it wakes, one run makes up for those%s.",
		v.Schedule.Cluster, unlessLate(v.Schedule))}
}

// unlessLate says that a run may be left out, as the end of a sentence, or "".
func unlessLate(s Schedule) string {
	if s.StartingDeadline <= 0 {
		return ""
	}
	return fmt.Sprintf(", unless the last one was due more than %s before", s.StartingDeadline)
}

// leftOut gives up the newest run, and with it all before, once the starting deadline is over.
func leftOut(v view) *Decision {
	limit := v.Schedule.StartingDeadline
	if v.due.IsZero() || limit <= 0 || v.Now.Sub(v.due) <= limit {
		return nil
	}
	return &Decision{
		Ready: true, Reason: ReasonScheduled, Next: v.next, Change: RecordRun{At: v.due, LeftOut: true},
		Recheck: afterChange,
		Message: fmt.Sprintf("The run of %s did not start within %s and is left out.", words.Format(v.due), limit),
	}
}

func previousRunning(v view) *Decision {
	active := v.active()
	if v.due.IsZero() || active == nil {
		return nil
	}
	return &Decision{
		Ready: true, Reason: ReasonPreviousRunning, Next: v.next, Recheck: whileRunning,
		Message: fmt.Sprintf("The run of %s waits for the EtcdBackup %s to end.%s", words.Format(v.due), active.Name,
			active.heldUp("That one")),
	}
}

func createRun(v view) *Decision {
	if v.due.IsZero() {
		return nil
	}
	name := v.nameFor(v.due)
	return &Decision{
		Ready: true, Reason: ReasonCreating, Message: fmt.Sprintf("The EtcdBackup %s is created.", name), Next: v.next,
		Change: CreateRun{Name: name, At: v.due, Missed: v.clock.missed(v.base, v.Now)}, Recheck: afterChange,
	}
}

func running(v view) *Decision {
	active := v.active()
	if active == nil {
		return nil
	}
	if active.HeldUp != "" {
		return v.waits(ReasonRunHeldUp, fmt.Sprintf("The next run is at %s.%s", words.Format(v.next),
			active.heldUp("The EtcdBackup "+active.Name)))
	}
	return v.waits(ReasonRunning,
		fmt.Sprintf("The EtcdBackup %s is under way; the next run is at %s.", active.Name, words.Format(v.next)))
}

// heldUp says why a run does not get on, as a sentence about the subject with a space in front, or "".
func (r Run) heldUp(subject string) string {
	if r.HeldUp == "" {
		return ""
	}
	return " " + words.Bounded(fmt.Sprintf("%s, created at %s, does not get on: %s", subject,
		words.Format(r.Created), r.HeldUp))
}

func wait(v view) *Decision {
	return v.waits(ReasonScheduled, fmt.Sprintf("The next run is at %s.", words.Format(v.next)))
}

func (v view) waits(reason, message string) *Decision {
	return &Decision{Ready: true, Reason: reason, Message: message, Next: v.next,
		Recheck: min(v.next.Sub(v.Now), longestWait)}
}
