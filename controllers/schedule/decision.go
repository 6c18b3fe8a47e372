package schedule

import "time"

// Decision is what to do now, and what to say.
type Decision struct {
	Change Change // nil: nothing

	Ready           bool
	Reason, Message string
	Trouble         bool      // somebody may have to do something about it
	Next            time.Time // of the run that comes next; zero when nobody knows

	// Ignored means that the cluster is another operator's: nothing of the schedule is written.
	Ignored bool
	// Recheck is when to look again even if nothing is heard; zero: never.
	Recheck time.Duration
}

// Change is one effect. The set is closed.
type Change interface{ change() }

// CreateRun creates the EtcdBackup of a time. More than one missed means that it makes up for the others too; more than 100
// that nobody counted on.
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

func (CreateRun) change() {}
func (RecordRun) change() {}

// Refused is the decision whose change was not possible, with the reason.
func (d Decision) Refused(reason, message string, recheck time.Duration) Decision {
	d.Change, d.Ready, d.Reason, d.Message, d.Recheck = nil, false, reason, message, recheck
	d.Trouble = true
	return d
}
