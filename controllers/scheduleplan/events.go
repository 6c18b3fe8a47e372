package scheduleplan

import (
	"fmt"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

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

// made tells what came of a chore.
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
