package backupplan

import (
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Decision is what to do now, and what to say.
type Decision struct {
	Change Change // nil: nothing

	Stage           string
	Reason, Message string
	Trouble         bool // a person may have to do something about it
	Outcome         *Outcome
	Attempt         *Attempt // whose steps the status shows

	// Ignored means that the backup is another operator's: nothing of it is written.
	Ignored bool
	// Recheck is when to look again even if nothing is heard; zero: never.
	Recheck time.Duration
}

// Change is one effect. The set is closed.
type Change interface{ change() }

// CreateJob creates the Job, which has so much time left.
type CreateJob struct{ Deadline time.Duration }

// RecordJob writes down which Job was made.
type RecordJob struct{ UID string }

// RecordOutcome writes down what came of it. It is signed where the operator has it from the Job's own last words.
type RecordOutcome struct {
	Outcome Outcome
	Signed  bool
}

// ReleaseJob gives a Job whose outcome is recorded a time to live.
type ReleaseJob struct{ UID string }

// LeaveAlone takes from an EtcdBackup that a schedule made what others take it for theirs by.
type LeaveAlone struct{}

func (LeaveAlone) change()    {}
func (CreateJob) change()     {}
func (RecordJob) change()     {}
func (RecordOutcome) change() {}
func (ReleaseJob) change()    {}

// Refused is the decision whose change was not possible, with the reason.
func (d Decision) Refused(reason, message string, recheck time.Duration) Decision {
	d.Change, d.Reason, d.Message, d.Recheck = nil, reason, words.Bounded(message), recheck
	d.Trouble = true
	return d
}
