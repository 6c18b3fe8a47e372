package scheduleplan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

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
		return condition(metav1.ConditionFalse, wrong.reason, wrong.message)
	case isRefused:
		return condition(metav1.ConditionFalse, refusal.Reason, refusal.Message)
	case trouble != nil:
		return condition(metav1.ConditionFalse, trouble.Reason, trouble.Message)
	}
	status, reason, message := o.outcome(chore, last)
	return condition(status, reason, message)
}

// outcome is what the last Job of a chore came to.
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
