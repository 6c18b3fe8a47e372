package report

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// defragmentation is absent while there is none, or it has not ended.
func defragmentation(r facts.Replica, old *v1alpha1.DefragmentationStatus) *v1alpha1.DefragmentationStatus {
	p := r.Defragmenting
	if p == nil || !p.HasSucceeded() && !p.HasFailed() {
		return nil
	}
	now := &v1alpha1.DefragmentationStatus{EndedAt: seconds(p.Finished)}
	switch {
	case old != nil && old.EndedAt.Equal(&now.EndedAt):
		return old
	case p.HasFailed():
		now.Failure = p.WhyFailed()
	default:
		now.SizeBefore = resource.NewQuantity(p.Before, resource.BinarySI)
		now.SizeAfter = resource.NewQuantity(p.After, resource.BinarySI)
	}
	return now
}

// defragmentedFor stays when what was asked for has lapsed, or the annotation is gone.
func (in Input) defragmentedFor() *metav1.Time {
	old := in.old().DefragmentedFor
	if !in.Observation.HasDefragmentedAll() {
		return old
	}
	return holdTime(old, in.Observation.Desired.Upkeep.Asked)
}

// defragmentSchedule says what a time of the schedule waits for. Of one that has passed only the old status tells: no
// Pod is there that never was made.
func (in Input) defragmentSchedule(s step) *v1alpha1.DefragmentScheduleStatus {
	o, old := in.Observation, in.old().DefragmentSchedule
	asks := o.Desired.Upkeep
	if asks.Next.IsZero() || o.Desired.Deleting {
		return nil
	}
	if old == nil {
		old = &v1alpha1.DefragmentScheduleStatus{}
	}
	now := &v1alpha1.DefragmentScheduleStatus{NextTime: holdTime(old.NextTime, asks.Next)}
	isOver := old.DueTime != nil && o.Now.Sub(old.DueTime.Time) > facts.ScheduledFor
	switch {
	case isOver:
		now.SkippedTime, now.Message = old.DueTime, old.Message
	case o.AwaitsSchedule():
		now.DueTime, now.Message = old.DueTime, s.message
		if old.DueTime == nil {
			now.DueTime = holdTime(nil, asks.Scheduled)
		}
	case asks.Scheduled.IsZero():
		now.SkippedTime, now.Message = old.SkippedTime, old.Message
	}
	return now
}

// defragmentations tells of each that ended. Its Pod is there for long, so the status says which were told.
func (t transition) defragmentations() []words.Event {
	var events []words.Event
	for _, m := range t.now.Members {
		ended, last := m.Defragmentation, t.in.oldMember(m.Name).Defragmentation
		if ended == nil || last != nil && last.EndedAt.Equal(&ended.EndedAt) {
			continue
		}
		told := words.Event{Reason: EventDefragmented, Action: actionObserve, Member: m.Name}
		if ended.Failure != "" {
			told.Warning, told.Reason = true, EventDefragFailed
			told.Note = fmt.Sprintf("%s could not be defragmented: %s.", m.Name, ended.Failure)
		} else {
			p := t.in.Observation.Current.Find(m.Name).Defragmenting
			told.Note = fmt.Sprintf("%s was defragmented in %s. Its database file had %s, and has %s.", m.Name,
				p.Finished.Sub(p.Since).Round(time.Second), facts.InMebi(p.Before), facts.InMebi(p.After))
		}
		events = append(events, told)
	}
	return events
}

// skipped tells of a time of the schedule that passed before every member could begin.
func (t transition) skipped() []words.Event {
	now, old := t.now.DefragmentSchedule, t.old.DefragmentSchedule
	if now == nil || now.SkippedTime == nil || old != nil && old.SkippedTime.Equal(now.SkippedTime) {
		return nil
	}
	return warning(EventDefragSkipped, actionObserve, fmt.Sprintf("Not every member was defragmented for the time %s "+
		"of spec.maintenance.defragment.schedule: none begins later than %.0f hours after it. The next time is %s. "+
		"What the operator did or waited for: %s", now.SkippedTime.UTC().Format(time.DateTime),
		facts.ScheduledFor.Hours(), now.NextTime.UTC().Format(time.DateTime), now.Message))
}
