package scheduleplan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

func keeping(n int) func(*incarnation) {
	return func(l *incarnation) { l.o.Schedule.Retains, l.keepLast = true, n }
}

func tested(expression string) func(*incarnation) {
	return func(l *incarnation) { l.o.Schedule.TestExpression = expression }
}

func newKeeper(t *testing.T, expression, from string, options ...func(*incarnation)) *incarnation {
	t.Helper()
	l := newIncarnation(t, expression, from)
	for _, option := range options {
		option(l)
	}
	return l
}

// choreTakes is how long the Job of a chore takes.
const choreTakes = 2 * time.Minute

// chores makes the changes of chores as the operator would: one, and others before it may be refused.
func (l *incarnation) chores(d Decision) (decided Decision, isDone bool) {
	l.t.Helper()
	for _, change := range d.Chores {
		if l.crash != nil && l.crash() {
			return d, true
		}
		if l.refuses != nil && l.refuses(change) {
			d = d.ChoreRefused(change, "QuotaExceeded", "exceeded quota", 10*time.Second)
			continue
		}
		l.told = append(l.told, Made(change)...)
		switch change := change.(type) {
		case NoteAhead:
			for i := range l.o.Runs {
				if l.o.Runs[i].Name == change.Run.Name {
					l.o.Runs[i].SeenAhead = l.o.Now
				}
			}
		case MarkAhead:
			for i := range l.o.Runs {
				l.o.Runs[i].Ahead = l.o.Runs[i].Ahead || l.o.Runs[i].Name == change.Run.Name
			}
		case DeleteRuns:
			l.remove(change.Runs)
		case BeginPrune:
			l.asked[change.At.String()], l.pruning = change.Ask, change
			l.begin(Prune, change.At)
		case BeginTest:
			l.tests = append(l.tests, l.o.Now)
			l.begin(Test, change.At)
		case RecordChore:
			if change.Chore == Prune {
				l.o.Pruned = DecodeRecord(change.Record.Encode())
			} else {
				l.o.Tested = DecodeRecord(change.Record.Encode())
			}
		}
		return d, true
	}
	return d, false
}

func (l *incarnation) begin(chore Chore, at time.Time) {
	l.t.Helper()
	for _, other := range l.o.Jobs {
		if other.End == backupplan.JobRuns {
			l.t.Fatalf("%s of %s begins beside %s", chore, at, other.Name)
		}
	}
	if at.After(l.o.Now) {
		l.t.Fatalf("%s of %s begins at %s", chore, at, l.o.Now)
	}
	name := fmt.Sprint(chore, at.Unix())
	l.o.Jobs = slices.DeleteFunc(l.o.Jobs, func(j Job) bool { return j.Name == name }) // somebody deleted it
	l.o.Jobs = append(l.o.Jobs, Job{Name: name, Chore: chore, At: at, Job: backupplan.Job{Exists: true, Created: l.o.Now}})
}

func (l *incarnation) remove(runs []Run) {
	l.t.Helper()
	newest := l.o.newestComplete()
	for _, run := range runs {
		if _, ok := l.store[run.Point.Key]; ok || newest != nil && run.Name == newest.Name {
			l.t.Fatalf("the EtcdBackup %s is deleted, and the store has its backup", run.Name)
		}
		l.o.Runs = slices.DeleteFunc(l.o.Runs, func(r Run) bool { return r.Name == run.Name })
	}
}

// work ends the Jobs whose time is over.
func (l *incarnation) work() {
	for i := range l.o.Jobs {
		job := &l.o.Jobs[i]
		if job.End != backupplan.JobRuns || l.o.Now.Sub(job.Created) < choreTakes {
			continue
		}
		said, failed := "", ""
		if job.Chore == Test {
			said, failed = l.restore()
		} else {
			said = l.prune(job.At)
		}
		job.End, job.EndedAt = backupplan.JobComplete, l.o.Now
		pod := backupplan.Attempt{Ended: true, Good: true, Steps: []backupplan.Step{{Name: stepPrune, Message: said}, {Name: stepFetch, Message: said}}}
		if failed != "" {
			job.End, job.Reason = backupplan.JobFailed, "BackoffLimitExceeded"
			pod = backupplan.Attempt{Ended: true, Steps: []backupplan.Step{{Name: stepFetch, State: backupplan.StepBroken, Message: failed}}}
		}
		job.Pods = []backupplan.Attempt{pod}
	}
}

func (l *incarnation) prune(at time.Time) string {
	keys := slices.SortedFunc(maps.Keys(l.store), func(a, b string) int { return int(l.store[b] - l.store[a]) })
	said, kept := lastWords{}, []string{}
	for i, key := range keys {
		if l.pruning.KeepAll || i < l.keepLast || slices.Contains(l.pruning.Held, key) {
			kept = append(kept, key)
			continue
		}
		delete(l.store, key)
		said.Removed++
	}
	keys = kept
	if said.Kept = int32(len(keys)); said.Kept > 0 {
		said.Newest, said.Oldest = l.pointOf(keys[0]), l.pointOf(keys[len(keys)-1])
	}
	for _, key := range l.asked[at.String()] {
		if _, ok := l.store[key]; !ok && len(said.Gone) < 2 { // as if there were no more room
			said.Gone = append(said.Gone, directoryOf(key))
		}
	}
	text, _ := json.Marshal(said)
	return string(text)
}

func (l *incarnation) pointOf(key string) *Point {
	at, err := time.Parse("20060102T150405Z", strings.Split(directoryOf(key), "-")[0])
	if err != nil {
		l.t.Fatal(err)
	}
	return &Point{Key: key, Revision: l.store[key], StartedAt: at}
}

func (l *incarnation) restore() (said, failed string) {
	if l.damaged {
		return "", `{"reason":"ObjectDamaged","message":"It came back with another SHA-256."}`
	}
	keys := slices.SortedFunc(maps.Keys(l.store), func(a, b string) int { return int(l.store[b] - l.store[a]) })
	if len(keys) == 0 {
		return "", `{"reason":"NoBackup","message":"The store has no backup."}`
	}
	point := l.pointOf(keys[0])
	text, _ := json.Marshal(lastWords{Key: point.Key, Revision: point.Revision, StartedAt: point.StartedAt,
		Unconfirmed: l.unconfirmed})
	return string(text), ""
}

func (l *incarnation) condition(kind string) string {
	l.t.Helper()
	for _, c := range l.status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func TestRetentionIsLookedAfterOnceForEachCompleteBackupAndItsEtcdBackupsGoWithIt(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(3))
	l.until("2026-03-01T00:59:00Z")
	if got := l.condition(v1alpha1.ScheduleRetained); got != "Unknown NotYet" {
		t.Errorf("before the first backup Retained is %q", got)
	}
	l.until("2026-03-02T12:30:00Z")
	if len(l.store) != 3 || len(l.o.Runs) != 3 || len(l.order) != 36 || len(l.asked) != 36 {
		t.Errorf("%d in the store, %d EtcdBackups, %d runs, %d Jobs", len(l.store), len(l.o.Runs), len(l.order), len(l.asked))
	}
	s := l.status
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || *s.KeptBackups != 3 || s.OldestRestorable.Time.UTC().Hour() != 10 || s.NewestRestorable.Time.UTC().Hour() != 12 {
		t.Errorf("%s: %+v", got, s)
	}
	l.said(EventPruned, "3 backups are in the store, and 1 were removed.")
}

func TestRetentionThatFailsIsSaidAndKeepsNoBackupFromBeingMade(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(2))
	l.until("2026-03-01T02:30:00Z")
	l.o.Now = at(t, "2026-03-01T03:06:00Z")
	l.until("2026-03-01T03:06:10Z") // the backup of 3:00 is late and under way
	before := l.o.Pruned
	for range 20 {
		l.o.Now = l.o.Now.Add(30 * time.Second)
		l.pass()
		for i := range l.o.Jobs {
			if job := &l.o.Jobs[i]; job.Chore == Prune && job.End == backupplan.JobRuns {
				job.End, job.EndedAt, job.Reason, job.Message = backupplan.JobFailed, l.o.Now, "BackoffLimitExceeded", "no more"
				job.Pods = []backupplan.Attempt{{Ended: true, Steps: []backupplan.Step{{Name: stepPrune, State: backupplan.StepBroken, Message: `{"reason":"StoreAccessDenied","message":"No."}`}}}}
			}
		}
	}
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False StoreAccessDenied" || l.condition(v1alpha1.ScheduleReady) != "True Scheduled" {
		t.Errorf("Retained is %q: %+v", got, l.status)
	}
	if r := l.o.Pruned; r.Kept != before.Kept || *r.Oldest != *before.Oldest || r.For != before.For || !l.o.Pruned.At.After(before.At) {
		t.Errorf("what was known is lost: %+v, before %+v", r, before)
	}
	l.said(EventNotPruned, "StoreAccessDenied: No.")
	n := len(l.asked)
	l.until("2026-03-01T03:59:00Z")
	if len(l.asked) != n {
		t.Error("it is tried again before there is another backup")
	}
	l.until("2026-03-01T04:30:00Z")
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || len(l.store) != 2 || len(l.order) != 4 {
		t.Errorf("Retained is %q, %d in the store, runs %q", got, len(l.store), l.order)
	}
}

func TestRetentionIsLookedAfterOnceForEachRunThatFailsSinceThatLeavesThingsToo(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(2))
	l.fails = true
	l.until("2026-03-01T02:30:00Z")
	if len(l.asked) != 0 {
		t.Errorf("a store that never had a backup is pruned %d times", len(l.asked))
	}
	l.fails = false
	l.until("2026-03-01T05:30:00Z")
	l.fails = true
	l.until("2026-03-01T12:30:00Z")
	if len(l.asked) != 10 || len(l.store) != 2 {
		t.Errorf("%d Jobs for 10 runs from the first complete one on, and %d in the store", len(l.asked), len(l.store))
	}
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || l.condition(v1alpha1.ScheduleBackedUp) != "False LastRunFailed" {
		t.Errorf("Retained is %q: %+v", got, l.status)
	}
}

func TestWhatThePlatformRefusesOfAChoreKeepsTheScheduleReady(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(2), tested("30 * * * *"))
	l.until("2026-03-01T01:05:10Z")
	l.o.Jobs, l.o.Pruned = nil, Record{}
	d := Next(l.o)
	if len(d.Chores) != 1 {
		t.Fatalf("%+v", d.Chores)
	}
	d = d.ChoreRefused(d.Chores[0], "QuotaExceeded", "exceeded quota", 10*time.Second)
	status := Status(l.o, d, l.status)
	events := Events(d, l.status)
	l.status = status
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False QuotaExceeded" || l.condition(v1alpha1.ScheduleReady) != "True Scheduled" || d.Recheck > 10*time.Second {
		t.Errorf("Retained is %q: %+v, again after %s", got, status, d.Recheck)
	}
	if len(events) != 1 || events[0].Reason != EventChoreRefused || len(Events(d, status)) != 0 {
		t.Errorf("%+v", events)
	}
}

func TestWhatIsRefusedOfRetentionKeepsNoTestRestoreFromBeingMade(t *testing.T) {
	for name, row := range map[string]struct {
		refused     func(Change) bool
		jobs, store int
	}{
		"its Job":                   {func(c Change) bool { _, ok := c.(BeginPrune); return ok }, 0, 5},
		"the EtcdBackups of its go": {func(c Change) bool { _, ok := c.(DeleteRuns); return ok }, 5, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1), tested("30 * * * *"))
			l.refuses = row.refused
			l.until("2026-03-01T05:40:00Z")
			if len(l.tests) != 5 || len(l.asked) != row.jobs || len(l.store) != row.store || len(l.o.Runs) != 5 {
				t.Errorf("%d test restores, %d Jobs of retention, %d in the store, %d EtcdBackups", len(l.tests), len(l.asked), len(l.store), len(l.o.Runs))
			}
			if got := l.condition(v1alpha1.ScheduleRetained); got != "False QuotaExceeded" || l.condition(v1alpha1.ScheduleProven) != "True Restored" {
				t.Errorf("Retained is %q: %+v", got, l.status)
			}
			l.refuses = nil
			l.until("2026-03-01T09:40:00Z")
			if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || len(l.store) != 2 || len(l.o.Runs) != 2 { // the newest, and what was tested last
				t.Errorf("Retained is %q, %d in the store, %d EtcdBackups", got, len(l.store), len(l.o.Runs))
			}
		})
	}
}

func TestWhileTestRestoresFailNoBackupIsRemoved(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(2), tested("30 * * * *"))
	l.until("2026-03-01T04:20:00Z")
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || len(l.store) > 3 {
		t.Errorf("Retained is %q, %d in the store", got, len(l.store))
	}
	proven, before := l.status.LastProven.Key, len(l.store)
	l.damaged = true // each of them
	l.until("2026-03-01T10:40:00Z")
	if _, isThere := l.store[proven]; !isThere || len(l.store) < before+6 {
		t.Errorf("what was last proven is there: %t, of %d", isThere, len(l.store))
	}
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False RetentionPaused" || l.condition(v1alpha1.ScheduleReady) != "True Scheduled" {
		t.Errorf("Retained is %q: %+v", got, l.status)
	}
	l.said(EventNotProven, "retention removes no backup")
	l.damaged = false
	l.until("2026-03-01T12:40:00Z")
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || len(l.store) > 3 {
		t.Errorf("Retained is %q, %d in the store", got, len(l.store))
	}
	l.damaged = true
	l.until("2026-03-01T15:40:00Z")
	l.o.Schedule.TestExpression = "" // a person decides
	l.until("2026-03-01T16:40:00Z")
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || len(l.store) > 3 {
		t.Errorf("without test restores Retained is %q, %d in the store", got, len(l.store))
	}
}

func TestATestRestoreThatFailedPausesRetentionBeforeItIsWrittenDown(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1), tested("58 * * * *"))
	l.damaged, l.takes = true, time.Second
	l.refuses = func(c Change) bool { r, ok := c.(RecordChore); return ok && r.Chore == Test }
	l.until("2026-03-01T05:30:00Z")
	if len(l.tests) == 0 || len(l.store) != 5 {
		t.Errorf("%d test restores, %d of 5 backups in the store", len(l.tests), len(l.store))
	}
}

func TestWhatATestRestoreProvedLastStaysBesideNewerOnes(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1), tested("30 2 * * *"))
	l.unproven = true // spec.verify is false
	l.until("2026-03-01T09:30:00Z")
	if _, isThere := l.store[l.o.Tested.Newest.Key]; !isThere || len(l.store) != 2 {
		t.Errorf("what was last proven is there: %t, of %d", isThere, len(l.store))
	}
	l = newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1))
	l.until("2026-03-01T03:30:00Z")
	l.unproven = true
	proven := l.status.LastProven.Key
	l.until("2026-03-01T09:30:00Z")
	if _, isThere := l.store[proven]; !isThere || len(l.store) != 2 {
		t.Errorf("what was proven when it was made is there: %t, of %d", isThere, len(l.store))
	}
}

func TestOfRunsThatFailedTheLastThreeStay(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(100))
	l.until("2026-03-01T02:30:00Z")
	l.fails = true
	l.until("2026-03-01T12:30:00Z")
	l.fails = false
	l.until("2026-03-01T13:30:00Z")
	var left []string
	for _, run := range l.o.Runs {
		left = append(left, strings.TrimPrefix(run.Name, "nightly-20260301-")+" "+string(run.State))
	}
	if got := strings.Join(left, ", "); got != "0100 Complete, 0200 Complete, 1000 Failed, 1100 Failed, 1200 Failed, 1300 Complete" {
		t.Errorf("there are %s", got)
	}
	if len(l.order) != 13 {
		t.Errorf("runs are made again: %q", l.order)
	}
}

func TestNoEtcdBackupIsDeletedOnTheWordOfAnEmptyStore(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(5))
	l.until("2026-03-01T04:30:00Z")
	l.until("2026-03-01T05:04:00Z")
	l.o.Now = at(t, "2026-03-01T05:05:10Z")
	l.pass() // the one of five o'clock is complete, and its Job begins
	was := len(l.o.Runs)
	clear(l.store) // as if the volume were not mounted
	for range 10 {
		l.o.Now = l.o.Now.Add(time.Minute)
		l.pass()
	}
	if len(l.o.Runs) < was || was != 5 {
		t.Errorf("%d of %d EtcdBackups are left", len(l.o.Runs), was)
	}
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False StoreEmpty" {
		t.Errorf("Retained is %q", got)
	}
}

func TestBackupsInAnotherStoreAreNeverAskedForNorDeleted(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1))
	l.until("2026-03-01T01:30:00Z")
	for i := range l.o.Runs {
		l.o.Runs[i].SameStore = false // spec.store was changed
	}
	clear(l.store)
	l.until("2026-03-01T04:30:00Z")
	if len(l.o.Runs) != 2 || len(l.store) != 1 {
		t.Errorf("%+v, %d in the store", l.o.Runs, len(l.store))
	}
}

func TestATestRestoreIsMadeWhenItIsTimeAndTellsWhatIsProven(t *testing.T) {
	l := newKeeper(t, "0 3 * * *", "2026-03-01T00:30:00Z", tested("0 5 * * 0"))
	l.until("2026-03-01T04:00:00Z") // a Sunday
	if got := l.condition(v1alpha1.ScheduleProven); got != "Unknown NotYet" || l.status.NextTestRestoreTime.UTC().Hour() != 5 {
		t.Errorf("Proven is %q: %+v", got, l.status)
	}
	l.until("2026-03-01T05:10:00Z")
	if got := l.condition(v1alpha1.ScheduleProven); got != "True Restored" || len(l.tests) != 1 {
		t.Errorf("Proven is %q after %v: %+v", got, l.tests, l.status)
	}
	if s := l.status; !s.LastProvenTime.Time.Equal(l.o.Tested.GoodAt) || s.LastProven.Time.UTC().Hour() != 3 || s.LastProven.Revision != 1 {
		t.Errorf("%+v", s)
	}
	l.said(EventProven, "The backup of 2026-03-01T03:00:00Z, revision 1, was fetched, restored and compared.")
	if by := ProofExpectedBy(l.o); !by.Equal(at(t, "2026-03-08T06:00:00Z")) {
		t.Errorf("the next proof is expected by %s", by)
	}

	l.damaged = true
	l.down("2026-03-20T12:00:00Z")
	l.until("2026-03-20T13:00:00Z") // the one of the 15th is made up for
	if got := l.condition(v1alpha1.ScheduleProven); got != "False ObjectDamaged" || len(l.tests) != 2 {
		t.Errorf("Proven is %q after %v", got, l.tests)
	}
	l.said(EventNotProven, "ObjectDamaged: It came back with another SHA-256.")
	if by := ProofExpectedBy(l.o); !by.Equal(at(t, "2026-03-08T06:00:00Z")) {
		t.Errorf("a test that failed proves: the next is expected by %s", by)
	}
	if got := l.condition(v1alpha1.ScheduleReady); got != "True Scheduled" {
		t.Errorf("Ready is %q", got)
	}
	l.o.Tested.For = at(t, "2036-03-02T05:00:00Z") // as a clock that was wrong had it
	if by := ProofExpectedBy(l.o); !by.Equal(at(t, "2026-03-01T06:00:00Z")) {
		t.Errorf("nobody is told for ten years: the next is expected by %s", by)
	}
}

func TestWhatKeepsATestRestoreFromBeginning(t *testing.T) {
	for name, edit := range map[string]func(*incarnation){
		"no backup":            func(l *incarnation) { l.o.Runs = nil },
		"suspended":            func(l *incarnation) { l.o.Schedule.Suspended = true },
		"no cluster":           func(l *incarnation) { l.o.Cluster = Cluster{} },
		"a cluster that goes":  func(l *incarnation) { l.o.Cluster.Deleting = true },
		"being deleted":        func(l *incarnation) { l.o.Schedule.Deleting = true },
		"no time that is read": func(l *incarnation) { l.o.Schedule.TestExpression = "now and then" },
		"another operator":     func(l *incarnation) { l.o.Cluster.Operator = "other/etcd-steward" },
	} {
		t.Run(name, func(t *testing.T) {
			l := newKeeper(t, "0 3 * * *", "2026-03-01T00:30:00Z", tested("0 5 * * *"))
			l.until("2026-03-01T04:00:00Z")
			edit(l)
			l.o.Now = at(t, "2026-03-01T06:00:00Z")
			for range 5 {
				l.pass()
			}
			if len(l.tests) > 0 {
				t.Errorf("it begins at %v", l.tests)
			}
		})
	}
}

func TestAScheduleOfTestRestoresThatCannotBeReadIsSaid(t *testing.T) {
	l := newKeeper(t, "0 3 * * *", "2026-03-01T00:30:00Z", tested("61 * * * *"))
	l.until("2026-03-01T04:00:00Z")
	if got := l.condition(v1alpha1.ScheduleProven); got != "False ScheduleInvalid" || l.condition(v1alpha1.ScheduleReady) != "True Scheduled" {
		t.Errorf("Proven is %q: %+v", got, l.status)
	}
	if by := ProofExpectedBy(l.o); !by.Equal(at(t, "2026-03-01T01:30:00Z")) {
		t.Errorf("nobody is told: a proof is expected by %s", by)
	}
}

func TestAPodOfAChoreThatDoesNotStartIsSaid(t *testing.T) {
	l := newKeeper(t, "0 3 * * *", "2026-03-01T00:30:00Z", keeping(1))
	l.until("2026-03-01T03:05:30Z")
	if len(l.o.Jobs) != 1 {
		t.Fatalf("%+v", l.o.Jobs)
	}
	job := &l.o.Jobs[0]
	job.Pods = []backupplan.Attempt{{Created: l.o.Now.Add(-time.Minute), Trouble: &backupplan.Trouble{Reason: backupplan.ReasonUnschedulable, Message: "no node"}}}
	l.pass()
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False Unschedulable" {
		t.Errorf("Retained is %q", got)
	}
	job.Pods, job.Suspended = nil, true
	l.pass()
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False Suspended" {
		t.Errorf("Retained is %q", got)
	}
}

func TestARecordThatCannotBeReadIsNone(t *testing.T) {
	for _, text := range []string{"", "{", `{"at":"2026-03-01T03:00:00Z"}`, `{"finishedAt":"2026-03-01T03:00:00Z","reason":"not a word"}`} {
		if r := DecodeRecord(text); r != (Record{}) {
			t.Errorf("%q: %+v", text, r)
		}
	}
	want := Record{At: at(t, "2026-03-01T03:00:00Z"), Good: true, Reason: "Applied", FinishedAt: at(t, "2026-03-01T03:01:00Z"), Kept: 3}
	if got := DecodeRecord(want.Encode()); got != want {
		t.Errorf("%+v", got)
	}
}

// Downtimes, failures, lost records, lost Jobs and crashes at random: what remove and begin check holds at any point,
// and once all is well again the store has what retention keeps, and no more EtcdBackups are left.
func TestInAnyOrderOfEventsRetentionAndTestRestoresComeToTheSameEnd(t *testing.T) {
	for seed := 0; seed < 20; seed += needs.Stride(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 2))
			l := newKeeper(t, "*/20 * * * *", "2026-03-01T00:07:00Z", keeping(4), tested("10 * * * *"))
			l.crash = func() bool { return random.IntN(3) == 0 }
			for range 30 {
				l.takes, l.fails = time.Duration(1+random.IntN(40))*time.Minute, random.IntN(4) == 0
				l.damaged, l.o.Schedule.Suspended = random.IntN(4) == 0, random.IntN(8) == 0
				switch random.IntN(6) {
				case 0:
					l.o.Now = l.o.Now.Add(time.Duration(random.IntN(48*60)) * time.Minute)
				case 1:
					l.o.Pruned, l.o.Tested = Record{}, Record{}
				case 2:
					l.o.Jobs = nil
				default:
					l.until(l.o.Now.Add(time.Duration(random.IntN(300)) * time.Minute).Format(time.RFC3339))
				}
			}
			l.crash, l.o.Schedule.Suspended, l.takes, l.fails, l.damaged = nil, false, time.Minute, false, false
			l.until(l.o.Now.Add(12 * time.Hour).Format(time.RFC3339))
			complete := 0
			for _, run := range l.o.Runs {
				if run.State == RunComplete {
					complete++
				}
			}
			if len(l.store) > 5 || complete > 5 || len(l.o.Runs) > 9 {
				t.Errorf("%d in the store, %d complete of %d EtcdBackups", len(l.store), complete, len(l.o.Runs))
			}
			for kind, want := range map[string]metav1.ConditionStatus{v1alpha1.ScheduleRetained: metav1.ConditionTrue, v1alpha1.ScheduleProven: metav1.ConditionTrue} {
				if got := l.condition(kind); !strings.HasPrefix(got, string(want)) {
					t.Errorf("%s is %q", kind, got)
				}
			}
		})
	}
}

func TestATestRestoreOfWhatNoOtherMemberConfirmedProvesNothing(t *testing.T) {
	l := newKeeper(t, "0 3 * * *", "2026-03-01T00:30:00Z", tested("0 5 * * 0"))
	l.unconfirmed = true
	l.until("2026-03-01T05:10:00Z")
	if got := l.condition(v1alpha1.ScheduleProven); got != "False "+ReasonUnconfirmed || len(l.tests) != 1 {
		t.Errorf("Proven is %q after %v", got, l.tests)
	}
	if !l.o.Tested.GoodAt.IsZero() || l.o.Tested.Newest != nil {
		t.Errorf("%+v", l.o.Tested)
	}
}

// An upgrade from a release that did not sign finds such runs, and so does who reads what a person wrote.
func TestRecordsThatAreNotSignedNeverCauseABackupToBeRemoved(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1))
	l.until("2026-03-01T03:30:00Z")
	proven := l.status.LastProven.Key
	for i := range l.o.Runs { // the release before had signed none
		run := &l.o.Runs[i]
		run.Doubted, run.CalledProven, run.CompletedAt, run.VerifiedAt = true, true, time.Time{}, time.Time{}
	}
	l.unproven = true
	before := len(l.store)
	l.until("2026-03-01T09:30:00Z")
	if _, isThere := l.store[proven]; !isThere || len(l.store) != before+6 {
		t.Errorf("what may have been proven is there: %t, of %d", isThere, len(l.store))
	}
	if got := l.condition(v1alpha1.ScheduleRetained); got != "False RetentionPaused" {
		t.Errorf("Retained is %q: %+v", got, l.status)
	}
	l.unproven = false
	l.until("2026-03-01T11:30:00Z")
	if got := l.condition(v1alpha1.ScheduleRetained); got != "True Applied" || len(l.store) > 2 {
		t.Errorf("with a proven backup Retained is %q, %d in the store", got, len(l.store))
	}
}

func TestAForgedRecordTakesNoPlaceOfWhatIsHeld(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z", keeping(1))
	l.until("2026-03-01T03:30:00Z")
	proven := l.status.LastProven.Key
	l.o.Now = at(t, "2026-03-01T04:30:00Z")
	l.o.Runs = append(l.o.Runs, Run{Name: RunName(l.o.Schedule.Name, at(t, "2026-03-01T04:00:00Z")), State: RunComplete, SameStore: true,
		Doubted: true, CalledProven: true, Point: Point{Key: "u/of-another/snapshot.db", StartedAt: l.o.Now}})
	if held := l.o.lastProven(); len(held) != 1 || held[0] != proven || len(l.o.calledProven()) > 0 {
		t.Errorf("held is %v, of %s", held, proven)
	}
}

func TestAfterAnUpgradeTheTimesOfUnsignedRunsStayUntilTheNextCounts(t *testing.T) {
	l := newKeeper(t, "0 * * * *", "2026-03-01T00:30:00Z")
	l.until("2026-03-01T03:30:00Z")
	before := l.status
	for i := range l.o.Runs {
		run := &l.o.Runs[i]
		run.Doubted, run.CalledProven, run.CompletedAt, run.VerifiedAt = true, true, time.Time{}, time.Time{}
	}
	l.pass()
	if s := l.status; !s.LastSuccessfulTime.Equal(before.LastSuccessfulTime) || !s.LastProvenTime.Equal(before.LastProvenTime) ||
		ExpectedBy(l.o, s) != ExpectedBy(l.o, before) || l.condition(v1alpha1.ScheduleBackedUp) != "Unknown RecordNotSigned" {
		t.Errorf("got %+v, want %+v", s, before)
	}
	l.until("2026-03-01T04:30:00Z")
	if got := l.condition(v1alpha1.ScheduleBackedUp); got != "True LastRunComplete" {
		t.Errorf("BackedUp is %q", got)
	}
}

func TestATestRestoreThatIsNotSignedHoldsItsBackupAndPausesRetention(t *testing.T) {
	good := Record{At: at(t, "2026-03-01T03:00:00Z"), Good: true, Reason: ReasonRestored, FinishedAt: at(t, "2026-03-01T03:05:00Z"),
		GoodAt: at(t, "2026-03-01T03:05:00Z"), For: at(t, "2026-03-01T03:00:00Z"), Newest: &Point{Key: "k"}}
	for _, signature := range []backupplan.Signature{backupplan.SignatureMissing, backupplan.SignatureWrong, backupplan.SignatureUnknown} {
		for _, hasKey := range []bool{true, false} {
			o := Observation{Now: at(t, "2026-03-01T04:00:00Z"), Schedule: Schedule{TestExpression: "0 3 * * *"}, Tested: good.Believed(signature, hasKey)}
			if held := o.lastProven(); len(held) != 1 || held[0] != "k" || !o.isProofMissing() || !o.Tested.GoodAt.IsZero() ||
				o.Tested.At.IsZero() != hasKey {
				t.Errorf("%s, key %t: held %v, %+v", signature, hasKey, held, o.Tested)
			}
		}
	}
	if got := good.Believed(backupplan.SignatureGood, true); got != good {
		t.Errorf("a signed one is %+v", got)
	}
	if got := (Record{}).Believed(backupplan.SignatureMissing, true); got != (Record{}) {
		t.Errorf("none is %+v", got)
	}
}
