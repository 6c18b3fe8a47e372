package scheduleplan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
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
	Needless bool   // its spec says that it needs no backups: what is late is not told
	Operator string // the install that looks after it; empty when no install has claimed it
}

// Run is one EtcdBackup.
type Run struct {
	Name         string
	State        RunState
	Reason       string        // of its condition Complete
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
