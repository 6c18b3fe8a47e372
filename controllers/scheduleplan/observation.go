package scheduleplan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

// Observation is everything that a decision is made from: a plain value.
type Observation struct {
	Now      time.Time // the only clock
	Operator string    // this install
	Schedule Schedule
	Cluster  Cluster
	Runs     []Run // EtcdBackups with the schedule's label

	Jobs           []Job  // of its chores
	Pruned, Tested Record // what came of them last
}

// Schedule is the EtcdBackupSchedule.
type Schedule struct {
	Name             string
	Created          time.Time
	Deleting         bool
	Expression       string
	TimeZone         string // empty: UTC
	Suspended        bool
	StartingDeadline time.Duration // zero: none
	Cluster          string
	BackupDeadline   time.Duration // how long a run may take
	Recorded         time.Time     // what the record says; zero: nothing
	Retains          bool          // it has a retention
	TestExpression   string        // of test restores; empty: none
}

// Cluster is the cluster to back up.
type Cluster struct {
	Exists   bool
	Deleting bool
	Asleep   bool   // its spec asks for no member
	Needless bool   // its spec says that it needs no backups: what is late is not told
	Operator string // the install that looks after it; empty when no install has claimed it
}

// Run is one EtcdBackup.
type Run struct {
	Name         string
	State        RunState
	Reason       string        // of its condition Complete
	Message      string        // of one that failed; for display
	HeldUp       string        // why one that has not ended does not get on, in sentences; for display
	Created      time.Time     // by the clock of the API server
	Deadline     time.Duration // how long it may take
	CompletedAt  time.Time     // by the clock of a node, as the next
	VerifiedAt   time.Time
	Point        Point     // where a complete one lies, and what it holds
	Doubted      bool      // that it is complete is not signed: it keeps from no more than running it again
	CalledProven bool      // its record says that it was proven, signed or not
	SameStore    bool      // it lies where the schedule's backups go now
	SeenAhead    time.Time // when its time was seen to be still to come; zero: never
	Ahead        bool      // it was made while the clock ran ahead, for a time that had not come
	Deleting     bool
	UID          types.UID
}

// RunState is how a run is.
type RunState string

// The states of a run.
const (
	RunActive   RunState = "Active"
	RunComplete RunState = "Complete"
	RunFailed   RunState = "Failed"
)

// nameLayout is the time in a run's name, in UTC: runs are whole minutes.
const nameLayout = "20060102-1504"

// clockSlack is how far clocks of API servers may differ before one counts as wrong.
const clockSlack = 5 * time.Minute

// RunName is the name of the EtcdBackup of a time.
func RunName(schedule string, at time.Time) string {
	return schedule + "-" + at.UTC().Format(nameLayout)
}

// nameFor is the name for the run of a time. Where one that was made ahead of that time has it, a letter takes the
// place of the dash in the time, from b on: the name grows no longer.
func (o Observation) nameFor(at time.Time) string {
	name := RunName(o.Schedule.Name, at)
	dash := len(name) - len("-1504")
	for letter := 'b'; letter <= 'z' && o.hasRun(name); letter++ {
		name = name[:dash] + string(letter) + name[dash+1:]
	}
	return name
}

func (o Observation) hasRun(name string) bool {
	return slices.ContainsFunc(o.Runs, func(run Run) bool { return run.Name == name })
}

// timeOf is the time that a run was made for. An EtcdBackup of another name has the label from another source.
func (o Observation) timeOf(run Run) (time.Time, bool) { return timeIn(run.Name, o.Schedule.Name) }

func timeIn(run, schedule string) (time.Time, bool) {
	text, ok := strings.CutPrefix(run, schedule+"-")
	if !ok {
		return time.Time{}, false
	}
	if dash := len("20060102"); len(text) == len(nameLayout) && text[dash] >= 'b' && text[dash] <= 'z' {
		text = text[:dash] + "-" + text[dash+1:]
	}
	at, err := time.Parse(nameLayout, text)
	return at, err == nil
}

// Of is the schedule that made an EtcdBackup, as its label has it; empty when its name says otherwise.
func Of(backup, label string) string {
	if _, ok := timeIn(backup, label); !ok || label == "" {
		return ""
	}
	return label
}

// newest is the newest of the runs that fit, by the time that each was made for; nil when there is none. One of the
// future is not believed, since clocks can be wrong, and neither is one that was made ahead of its time.
func (o Observation) newest(fits func(Run) bool) *Run {
	var (
		newest *Run
		latest time.Time
	)
	for i, run := range o.Runs {
		if at, ok := o.timeOf(run); ok && !run.Ahead && fits(run) && !at.After(o.Now) &&
			(newest == nil || at.After(latest)) {
			newest, latest = &o.Runs[i], at
		}
	}
	return newest
}

// latest is the time of the newest run that there is; zero when there is none.
func (o Observation) latest() (at time.Time) {
	if run := o.newest(func(Run) bool { return true }); run != nil {
		at, _ = o.timeOf(*run)
	}
	return at
}

// created is since when there is something to do. A creation that is still to come was written by a clock that ran
// ahead: nothing waits for it, and what the last day named is made up for.
func (o Observation) created() time.Time {
	created := o.Schedule.Created
	if created.Sub(o.Now) > clockSlack {
		created = o.Now.Add(-24 * time.Hour)
	}
	return created.UTC().Truncate(time.Minute)
}

// considered is the last time for which a run was begun or left out; before the first one, when the schedule was
// created.
func (o Observation) considered() time.Time {
	considered := o.created()
	for _, t := range []time.Time{o.latest(), o.recorded()} {
		if t.After(considered) {
			considered = t
		}
	}
	return considered
}

func (o Observation) recorded() time.Time {
	if o.Schedule.Recorded.After(o.Now) {
		return time.Time{}
	}
	return o.Schedule.Recorded
}

// active is the run that has not ended; nil when there is none.
func (o Observation) active() *Run {
	for i, run := range o.Runs {
		if _, ok := o.timeOf(run); ok && run.State == RunActive {
			return &o.Runs[i]
		}
	}
	return nil
}

// ended is the newest run that has ended; nil when there is none.
func (o Observation) ended() *Run {
	return o.newest(func(run Run) bool { return run.State != RunActive })
}

// Decision is what to do now, and what to say.
type Decision struct {
	Change Change // nil: nothing

	Ready           bool
	Reason, Message string
	Trouble         bool      // a person may have to do something about it
	Next            time.Time // of the run that comes next; zero while that is not known

	Chores   []Change                     // beside it, if there is no Change, or it was refused: none waits for another
	Refusals map[Chore]backupplan.Trouble // what the platform says of those that were tried
	NextTest time.Time                    // of the test restore that comes next; zero while that is not known

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
	refusals := map[Chore]backupplan.Trouble{
		ChoreOf(change): {Reason: reason, Message: words.Bounded(message)},
	}
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
