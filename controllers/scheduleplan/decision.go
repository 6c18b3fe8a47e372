package scheduleplan

import (
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Decision is what to do now, and what to say.
type Decision struct {
	Change Change // nil: nothing

	Ready           bool
	Reason, Message string
	Trouble         bool      // a person may have to do something about it
	Next            time.Time // of the run that comes next; zero when nobody knows

	Chores   []Change          // beside it, when there is no Change, or it was refused: none waits for another
	Refusals map[Chore]Refusal // what the platform says of those that were tried
	NextTest time.Time         // of the test restore that comes next; zero when nobody knows

	// Ignored means that the cluster is another operator's: nothing of the schedule is written.
	Ignored bool
	// Recheck is when to look again even if nothing is heard; zero: never.
	Recheck time.Duration
}

// Change is one effect. The set is closed.
type Change interface{ change() }

// CreateRun creates the EtcdBackup of a time. More than one missed means that it makes up for the others too; more than
// 100 without an expectation.
type CreateRun struct {
	Name   string
	At     time.Time
	Missed int
}

// RecordRun writes down that the run of a time was begun, or left out.
type RecordRun struct {
	At      time.Time
	LeftOut bool
}

// NoteAhead writes on the EtcdBackup of a run when it was noticed that its time is still to come.
type NoteAhead struct{ Run Run }

// MarkAhead writes on the EtcdBackup of a run that it was made ahead of its time.
type MarkAhead struct {
	Run Run
	At  time.Time
}

// DeleteRuns deletes EtcdBackups of runs.
type DeleteRuns struct{ Runs []Run }

// BeginPrune makes the Job that looks after retention after a run, and asks which of these keys the store has no backup
// of.
type BeginPrune struct {
	At      time.Time
	Ask     []string
	Held    []string // keys of backups that no rule removes
	KeepAll bool     // all backups stay: only leftovers go
}

// BeginTest makes the Job of the test restore of a time.
type BeginTest struct{ At time.Time }

// EndTask ends a Job of a chore, or a Pod of it, which Kubernetes does not end by itself.
type EndTask struct {
	Job   string
	Chore Chore
	backupplan.EndTask
}

// RecordChore writes down what came of a chore.
type RecordChore struct {
	Chore           Chore
	Record          Record
	PausesRetention bool // a test restore failed, and retention removes no backup until one succeeds
}

func (CreateRun) change()   {}
func (RecordRun) change()   {}
func (NoteAhead) change()   {}
func (MarkAhead) change()   {}
func (DeleteRuns) change()  {}
func (BeginPrune) change()  {}
func (BeginTest) change()   {}
func (RecordChore) change() {}
func (EndTask) change()     {}

// Refusal is why the platform does not let a chore be done.
type Refusal struct{ Reason, Message string }

// ChoreOf is the chore that a change is for.
func ChoreOf(change Change) Chore {
	switch change := change.(type) {
	case BeginTest:
		return Test
	case RecordChore:
		return change.Chore
	case EndTask:
		return change.Chore
	}
	return Prune
}

// ChoreRefused is the decision of which a chore was not possible. The schedule itself is kept all the same.
func (d Decision) ChoreRefused(change Change, reason, message string, recheck time.Duration) Decision {
	refusals := map[Chore]Refusal{ChoreOf(change): {reason, words.Bounded(message)}}
	for chore, refusal := range d.Refusals {
		refusals[chore] = refusal
	}
	d.Refusals, d.Recheck = refusals, words.Sooner(d.Recheck, recheck)
	return d
}

// Refused is the decision whose change was not possible, with the reason. Other tasks do not wait for it.
func (d Decision) Refused(o Observation, reason, message string, recheck time.Duration) Decision {
	d.Change, d.Ready, d.Reason, d.Message, d.Recheck = nil, false, reason, message, recheck
	d.Trouble = true
	return d.with(viewOf(o))
}
