package scheduleplan

import (
	"slices"
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

const keptFailures = 3

// chores are the tasks beside making backups: at most one change of each kind, and nothing that a backup would have to
// wait for. That a Job is made twice, or that its record is lost, changes nothing: they remove what is not to be kept,
// or read.
func (v view) chores() []Change {
	if v.Schedule.Deleting {
		return nil
	}
	var changes []Change
	for _, rule := range []func(view) Change{markAhead, deletePruned, recordPrune, recordTest, endTask, deleteFailed,
		beginPrune, beginTest} {
		if change := rule(v); change != nil {
			changes = append(changes, change)
		}
	}
	return changes
}

// markAhead marks a run whose time is still to come: it was made while the clock ran ahead. Once its time has come
// nothing else tells it from the run of that time, which would be left out. One look is not enough: while the clock is
// behind for a moment, the time of a run that was made at its time is still to come as well.
func markAhead(v view) Change {
	for _, run := range v.Runs {
		at, ok := v.timeOf(run)
		if !ok || run.Ahead || run.Deleting || at.Sub(v.Now) <= clockSlack {
			continue
		}
		switch since := v.Now.Sub(run.SeenAhead); {
		case since < 0, since > noteHolds:
			return NoteAhead{Run: run}
		case since >= clockSlack:
			return MarkAhead{Run: run, At: at}
		}
	}
	return nil
}

// noteHolds is how long what was noticed counts. A schedule is looked at much sooner again: what is older is of another
// time when the clock was wrong.
const noteHolds = 3 * longestWait

// unrecorded is the newest Job of a chore that ended and is not recorded; nil when there is none. One of the future
// waits until it is none any more: what is recorded of the future is not believed, and would be recorded again and
// again.
func (o Observation) unrecorded(chore Chore, record Record) *Job {
	var newest *Job
	for i, job := range o.Jobs {
		if job.Chore == chore && job.End != backupplan.JobRuns && job.At.After(record.At) && !job.At.After(o.Now) &&
			(newest == nil || job.At.After(newest.At)) {
			newest = &o.Jobs[i]
		}
	}
	return newest
}

// deletePruned deletes the EtcdBackups whose backups the store has not any more. It comes before what came of the
// pruning is recorded, so that a crash between the two forgets none.
func deletePruned(v view) Change {
	job := v.unrecorded(Prune, v.Pruned)
	if job == nil || job.End != backupplan.JobComplete {
		return nil
	}
	said, err := job.words()
	if err != nil || said.Kept == 0 || said.Newest == nil {
		return nil
	}
	newest := v.newestComplete()
	return deleteRuns(v, func(run Run) bool {
		return run.State == RunComplete && run.SameStore && run.Name != newest.Name &&
			slices.Contains(said.Gone, directoryOf(run.Point.Key))
	})
}

// deleteFailed deletes all but the newest EtcdBackups of runs that failed.
func deleteFailed(v view) Change {
	var failed []time.Time
	for _, run := range v.Runs {
		if at, ok := v.timeOf(run); ok && run.State == RunFailed {
			failed = append(failed, at)
		}
	}
	if len(failed) <= keptFailures {
		return nil
	}
	slices.SortFunc(failed, time.Time.Compare)
	first := failed[len(failed)-keptFailures]
	return deleteRuns(v, func(run Run) bool {
		at, _ := v.timeOf(run)
		return run.State == RunFailed && at.Before(first)
	})
}

// deleteRuns never names what is not a run of this schedule, nor one that is not written down: it would be made again.
func deleteRuns(v view, which func(Run) bool) Change {
	var change DeleteRuns
	for _, run := range v.Runs {
		if at, ok := v.timeOf(run); ok && !run.Deleting && !at.After(v.recorded()) && which(run) {
			change.Runs = append(change.Runs, run)
		}
	}
	if len(change.Runs) == 0 {
		return nil
	}
	return change
}

func recordPrune(v view) Change {
	if job := v.unrecorded(Prune, v.Pruned); job != nil && deletePruned(v) == nil {
		return RecordChore{Chore: Prune, Record: job.record(v.Pruned)}
	}
	return nil
}

func recordTest(v view) Change {
	if v.unrecorded(Test, v.Tested) == nil {
		return nil
	}
	tested := v.tested()
	return RecordChore{Chore: Test, Record: tested, PausesRetention: v.Schedule.Retains && !tested.Good}
}

// endTask ends what something that others put into a Pod keeps from ending, once its result is recorded.
func endTask(v view) Change {
	recorded := map[Chore]time.Time{Prune: v.Pruned.At, Test: v.Tested.At}
	for _, job := range v.Jobs {
		if job.Open && job.At.After(recorded[job.Chore]) {
			continue
		}
		if change, _ := job.ToEnd(job.Pods, v.Now); change != nil {
			return EndTask{Job: job.Name, Chore: job.Chore, EndTask: change.(backupplan.EndTask)}
		}
	}
	return nil
}

// mayBegin reports whether another Job of a chore may be made. The two never run beside one another: what is being
// restored must not be removed. But neither waits for what the platform refuses of the other.
func (v view) mayBegin() bool {
	return !v.isBusy() && !v.Schedule.Suspended && v.Cluster.Exists && !v.Cluster.Deleting && !v.Cluster.Asleep
}

func (o Observation) isBusy() bool {
	return slices.ContainsFunc(o.Jobs, func(j Job) bool { return j.End == backupplan.JobRuns })
}

// beginPrune looks after retention once for each run that has ended, and whether that goes well or not not before the
// next. A run that failed counts: what it left takes room too, and when the store is full none other comes. Before a
// first backup is complete it is unknown whether this is the store. EtcdBackups that may not be deleted keep the Job
// before from being recorded, and not the next one from being made: it asks for them again.
func beginPrune(v view) Change {
	newest := v.newestComplete()
	if !v.Schedule.Retains || newest == nil || !v.mayBegin() {
		return nil
	}
	at, _ := v.timeOf(*v.ended())
	if job := v.unrecorded(Prune, v.Pruned); !at.After(v.Pruned.At) || job != nil && !at.After(job.At) {
		return nil
	}
	return BeginPrune{At: at, Ask: v.toAskFor(newest.Name), Held: v.lastProven(),
		KeepAll: v.isProofMissing() || len(v.calledProven()) > 0}
}

// tested is what came of the last test restore, whether that is recorded yet or not.
func (o Observation) tested() Record {
	if job := o.unrecorded(Test, o.Tested); job != nil {
		return job.record(o.Tested)
	}
	return o.Tested
}

// isProofMissing reports that the last test restore failed, or does not count. Newer backups may be no better than the
// one that was tested, so that none of them takes the place of an older one.
func (o Observation) isProofMissing() bool {
	last := o.tested()
	return o.Schedule.TestExpression != "" && !last.FinishedAt.IsZero() && !last.Good
}

// calledProven are the runs whose records say, without a signature, that they were proven, where nothing is known to be
// proven. Any of them may be the one that lastProven would hold.
func (o Observation) calledProven() []string {
	var names []string
	for _, run := range o.Runs {
		if _, ok := o.timeOf(run); ok && run.SameStore && run.Doubted && run.CalledProven {
			names = append(names, run.Name)
		}
	}
	if o.newestProven() != nil || !o.Tested.GoodAt.IsZero() {
		return nil
	}
	return names
}

// lastProven are the keys of the backups that were proven last, by a test restore and when they were made.
func (o Observation) lastProven() []string {
	var keys []string
	if tested := o.Tested.Newest; tested != nil {
		keys = append(keys, tested.Key)
	}
	if run := o.newestProven(); run != nil {
		keys = append(keys, run.Point.Key)
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// newestProven is the newest run that was proven when it was made; nil when there is none.
func (o Observation) newestProven() *Run {
	return o.newest(func(run Run) bool { return run.SameStore && !run.VerifiedAt.IsZero() })
}

// mostAsked bounds the arguments of a Job.
const mostAsked = 1000

// toAskFor are the keys of backups that the store may not have any more.
func (v view) toAskFor(newest string) []string {
	var keys []string
	for _, run := range v.Runs {
		if _, ok := v.timeOf(run); ok && run.State == RunComplete && run.SameStore && run.Name != newest &&
			run.Point.Key != "" {
			keys = append(keys, run.Point.Key)
		}
	}
	slices.Sort(keys) // by time, within a cluster
	return keys[:min(len(keys), mostAsked)]
}

// beginTest waits for a first backup, and until what came of the one before is written down. The newest is chosen when
// it begins.
func beginTest(v view) Change {
	due := v.testDue()
	if due.IsZero() || v.newestComplete() == nil || !v.mayBegin() || v.unrecorded(Test, v.Tested) != nil {
		return nil
	}
	return BeginTest{At: due}
}

// testDue is the newest time of a test restore that should have begun; zero: none.
func (v view) testDue() time.Time {
	if v.Schedule.TestExpression == "" || v.testWrong != nil {
		return time.Time{}
	}
	return v.testClock.newest(v.testBase(), v.Now)
}

// testBase is the last time of a test restore that was considered.
func (v view) testBase() time.Time {
	base := v.created()
	if at := v.Tested.At; at.After(base) && !at.After(v.Now) {
		return at
	}
	return base
}

// nextTest is the time of the next test restore; zero when unknown.
func (v view) nextTest() time.Time {
	if v.Schedule.TestExpression == "" || v.testWrong != nil || v.Schedule.Suspended || v.Cluster.Asleep {
		return time.Time{}
	}
	return v.testClock.next(v.testBase(), v.Now)
}

// newestComplete is the newest run whose backup is complete and in the schedule's store of now; nil when there is none.
func (o Observation) newestComplete() *Run {
	return o.newest(func(run Run) bool { return run.State == RunComplete && run.SameStore })
}

// runsAgo is how many of its runs may have passed since a backup for the schedule to count as up to date: the last one
// may still be on its way.
const runsAgo = 2

// IsUpToDate reports whether the last backup of a schedule that is good enough for it was completed within its last two
// runs: a proven one, or a complete one where spec.verify is false. What the schedule's status does not say is not
// known to be there.
func IsUpToDate(s *v1alpha1.EtcdBackupSchedule, now time.Time) bool {
	last := s.Status.LastVerifiedTime
	if s.Spec.Verify != nil && !*s.Spec.Verify {
		last = s.Status.LastSuccessfulTime
	}
	return last != nil && isWithinRuns(s, last.Time, now)
}

// IsNew reports whether a schedule is too new to have had its first two runs.
func IsNew(s *v1alpha1.EtcdBackupSchedule, now time.Time) bool {
	return isWithinRuns(s, s.CreationTimestamp.Time, now)
}

// isWithinRuns reports whether no more than the last runs of a schedule have passed since.
func isWithinRuns(s *v1alpha1.EtcdBackupSchedule, since, now time.Time) bool {
	zone := ""
	if s.Spec.TimeZone != nil {
		zone = *s.Spec.TimeZone
	}
	clock, wrong := readClock("spec.schedule", s.Spec.Schedule, zone)
	if wrong != nil {
		return false
	}
	for range runsAgo {
		since = clock.after(since)
	}
	return since.After(now)
}
