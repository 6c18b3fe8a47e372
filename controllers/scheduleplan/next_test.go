package scheduleplan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/words"
	"github.com/etcdsteward/etcd-steward/test/needs"
)

// incarnation plays a schedule in virtual time: changes are made at once, and each run ends after a while.
type incarnation struct {
	t      *testing.T
	o      Observation
	status v1alpha1.EtcdBackupScheduleStatus
	takes  time.Duration // how long a run takes
	begun  map[string]time.Time
	order  []string // of what was created
	told   []words.Event
	// crash answers before the record of a run is written.
	crash func() bool

	store    map[string]int64 // what the store has: the revision of each backup by its key
	keepLast int              // of retention
	fails    bool             // the runs that are under way
	damaged  bool             // what the store gives back

	unconfirmed bool // no other member confirmed the keys of what it gives back
	unproven    bool // the runs that end
	asked       map[string][]string
	pruning     BeginPrune  // the last one
	tests       []time.Time // when test restores began
	// refuses answers before a change of a chore is made.
	refuses func(Change) bool
}

func newIncarnation(t *testing.T, expression, from string, options ...func(*Schedule)) *incarnation {
	t.Helper()
	s := Schedule{Name: "nightly", Created: at(t, from), Expression: expression, Cluster: "demo",
		BackupDeadline: time.Hour}
	for _, option := range options {
		option(&s)
	}
	return &incarnation{
		t: t, takes: 5 * time.Minute, begun: map[string]time.Time{}, store: map[string]int64{},
		asked: map[string][]string{},
		o: Observation{Now: at(t, from), Operator: "ops/etcd-steward", Schedule: s,
			Cluster: Cluster{Exists: true, Operator: "ops/etcd-steward"}},
	}
}

func in(zone string) func(*Schedule) { return func(s *Schedule) { s.TimeZone = zone } }

func within(limit time.Duration) func(*Schedule) {
	return func(s *Schedule) { s.StartingDeadline = limit }
}

// pass looks once, acts, and returns the decision.
func (l *incarnation) pass() Decision {
	l.t.Helper()
	for i := range l.o.Runs {
		l.finish(&l.o.Runs[i])
	}
	l.work()
	d := Next(l.o)
	switch change := d.Change.(type) {
	case CreateRun:
		l.create(change)
	case RecordRun:
		if l.crash == nil || !l.crash() {
			l.o.Schedule.Recorded = change.At
		}
	}
	if d.Change != nil {
		l.told = append(l.told, Made(d.Change)...)
		return d
	}
	d, isDone := l.chores(d)
	if isDone {
		d.Recheck = time.Second
		return d
	}
	if !d.Ignored {
		l.status = Status(l.o, d, l.status)
	}
	return d
}

// finish ends a run whose time is over.
func (l *incarnation) finish(run *Run) {
	if run.State != RunActive || l.o.Now.Before(l.begun[run.Name].Add(l.takes)) {
		return
	}
	if l.fails {
		run.State, run.Reason = RunFailed, "StoreFull"
		return
	}
	key := fmt.Sprintf("u/%s-0a1b2c3d/snapshot.db", l.begun[run.Name].Format("20060102T150405Z"))
	l.store[key] = int64(len(l.begun))
	run.State, run.CompletedAt, run.VerifiedAt, run.SameStore = RunComplete, l.o.Now, l.o.Now, true
	if l.unproven {
		run.VerifiedAt = time.Time{}
	}
	run.Point = Point{Key: key, Revision: l.store[key], StartedAt: l.begun[run.Name]}
}

func (l *incarnation) create(run CreateRun) {
	l.t.Helper()
	for _, other := range l.o.Runs {
		if other.State == RunActive {
			l.t.Fatalf("%s begins while %s runs", run.Name, other.Name)
		}
	}
	if _, ok := l.begun[run.Name]; ok {
		l.t.Fatalf("%s is created again", run.Name)
	}
	if run.At.After(l.o.Now) {
		l.t.Fatalf("%s begins at %s", run.Name, l.o.Now)
	}
	l.begun[run.Name] = l.o.Now
	l.order = append(l.order, strings.TrimPrefix(run.Name, "nightly-"))
	if !l.o.Schedule.Retains {
		l.o.Runs = l.o.Runs[max(0, len(l.o.Runs)-3):] // older ones somebody deleted
	}
	l.o.Runs = append(l.o.Runs,
		Run{Name: run.Name, State: RunActive, Created: l.o.Now, Deadline: l.o.Schedule.BackupDeadline})
}

// until passes as the operator would, up to a time.
func (l *incarnation) until(text string) {
	l.t.Helper()
	for end := at(l.t, text); !l.o.Now.After(end); {
		d := l.pass()
		wait := d.Recheck
		if wait <= 0 {
			wait = time.Hour
		}
		if l.o.active() != nil || l.o.isBusy() {
			wait = min(wait, time.Minute)
		}
		l.o.Now = l.o.Now.Add(wait)
	}
	l.o.Now = at(l.t, text)
}

// down is a time in which no operator runs.
func (l *incarnation) down(until string) { l.o.Now = at(l.t, until) }

func (l *incarnation) is(want ...string) {
	l.t.Helper()
	if got := strings.Join(l.order, " "); got != strings.Join(want, " ") {
		l.t.Errorf("runs are %q, want %q", got, want)
	}
}

func (l *incarnation) said(reason, text string) {
	l.t.Helper()
	for _, event := range l.told {
		if event.Reason == reason && strings.Contains(event.Note, text) {
			return
		}
	}
	l.t.Errorf("no %s that says %q: %+v", reason, text, l.told)
}

func TestAYearOfNightsHasARunEachAtTheTimeOnTheWall(t *testing.T) {
	l := newIncarnation(t, "30 2 * * *", "2026-01-01T12:00:00Z", in("Europe/Berlin"))
	l.until("2027-01-01T12:00:00Z")
	if len(l.order) != 366 { // the repeated hour of October has two
		t.Errorf("%d runs", len(l.order))
	}
	for name, begun := range l.begun {
		if run, _ := l.o.timeOf(Run{Name: name}); begun.Sub(run) > time.Second {
			t.Errorf("%s began at %s", name, begun)
		}
	}
	if s := l.status; !s.LastSuccessfulTime.Equal(s.LastVerifiedTime) ||
		s.LastSuccessfulTime.Before(&metav1.Time{Time: at(t, "2027-01-01T01:30:00Z")}) {
		t.Errorf("%+v", s)
	}
}

func TestOfTheRunsThatADowntimeMissedTheNewestIsMadeUpForAndItIsSaid(t *testing.T) {
	l := newIncarnation(t, "0 * * * *", "2026-03-01T00:30:00Z")
	l.until("2026-03-01T02:30:00Z")
	l.down("2026-03-01T09:40:00Z")
	l.until("2026-03-01T10:30:00Z")
	l.is("20260301-0100", "20260301-0200", "20260301-0900", "20260301-1000")
	l.said(EventMadeUp, "7 runs did not start at their time; the newest one, of 2026-03-01T09:00:00Z")

	l.down("2026-04-01T09:40:00Z")
	l.until("2026-04-01T09:45:00Z")
	l.said(EventMadeUp, "More than 100 runs")
	if len(l.order) != 5 {
		t.Errorf("%q", l.order)
	}
}

func TestARunThatWasMissedForTooLongIsLeftOutAndSaidOnce(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z", within(30*time.Minute))
	l.until("2026-03-01T12:00:00Z")
	l.down("2026-03-04T03:31:00Z")
	l.until("2026-03-04T12:00:00Z")
	l.is("20260301-0300")
	l.said(EventLeftOut, "2026-03-04T03:00:00Z")
	if n := len(l.told); n != 2 {
		t.Errorf("told %d times: %+v", n, l.told)
	}
	l.down("2026-03-05T03:30:00Z") // just in time
	l.until("2026-03-05T12:00:00Z")
	l.is("20260301-0300", "20260305-0300")
}

func TestARunWaitsForTheOneBeforeAndThenTheNewestDueBegins(t *testing.T) {
	l := newIncarnation(t, "*/10 * * * *", "2026-03-01T00:05:00Z")
	l.takes = 25 * time.Minute
	l.until("2026-03-01T00:21:00Z")
	if d := l.pass(); d.Reason != ReasonPreviousRunning ||
		!strings.Contains(d.Message, "2026-03-01T00:20:00Z waits for the EtcdBackup nightly-20260301-0010") {
		t.Errorf("%+v", d)
	}
	l.until("2026-03-01T01:20:00Z")
	l.is("20260301-0010", "20260301-0030", "20260301-0100")
}

func TestAScheduleSaysWhatItsRunWaitsFor(t *testing.T) {
	l := newIncarnation(t, "*/10 * * * *", "2026-03-01T00:05:00Z")
	l.takes = 25 * time.Minute
	l.until("2026-03-01T00:11:00Z")
	if d := l.pass(); d.Reason != ReasonRunning || !strings.Contains(d.Message, "is under way") {
		t.Errorf("%+v", d)
	}
	l.o.Runs[0].HeldUp = "Secret s3 is missing."
	if d := l.pass(); d.Reason != ReasonRunHeldUp || !strings.HasSuffix(d.Message,
		" The EtcdBackup nightly-20260301-0010, created at 2026-03-01T00:10:00Z, does not get on: Secret s3 is missing.") {
		t.Errorf("%+v", d)
	}
	l.until("2026-03-01T00:21:00Z")
	if d := l.pass(); d.Reason != ReasonPreviousRunning || !strings.HasSuffix(d.Message, "Secret s3 is missing.") {
		t.Errorf("%+v", d)
	}
}

func TestASuspendedScheduleBeginsNothingAndAfterwardsMakesUpForOne(t *testing.T) {
	l := newIncarnation(t, "0 * * * *", "2026-03-01T00:30:00Z")
	l.o.Schedule.Suspended = true
	l.until("2026-03-01T05:30:00Z")
	l.is()
	if c := l.status.Conditions[0]; c.Reason != ReasonSuspended || c.Status != metav1.ConditionFalse ||
		l.status.NextScheduleTime != nil {
		t.Errorf("%+v", l.status)
	}
	l.o.Schedule.Suspended = false
	l.until("2026-03-01T06:30:00Z")
	l.is("20260301-0500", "20260301-0600")
}

func TestNoBackupOfAClusterThatSleepsBeginsAndAfterwardsOneMakesUpForThose(t *testing.T) {
	l := newIncarnation(t, "0 * * * *", "2026-03-01T00:30:00Z")
	l.o.Cluster.Asleep = true
	l.until("2026-03-01T05:30:00Z")
	l.is()
	if c := l.status.Conditions[0]; c.Reason != ReasonClusterAsleep || c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", l.status)
	}
	l.o.Cluster.Asleep = false
	l.until("2026-03-01T06:30:00Z")
	l.is("20260301-0500", "20260301-0600")
}

func TestAScheduleWithAStartingDeadlineSaysAsleepThatOneRunMayBeLeftOut(t *testing.T) {
	l := newIncarnation(t, "0 * * * *", "2026-03-01T00:30:00Z")
	l.o.Cluster.Asleep, l.o.Schedule.StartingDeadline = true, 10*time.Minute
	l.until("2026-03-01T05:30:00Z")
	if says := l.status.Conditions[0].Message; !strings.HasSuffix(says, "makes up for those, unless the last one was due more than 10m0s before.") {
		t.Error(says)
	}
	l.o.Cluster.Asleep = false
	l.until("2026-03-01T06:30:00Z")
	l.is("20260301-0600")
}

func TestARunWhoseBackupAPersonDeletesIsNotMadeAgain(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	l.until("2026-03-01T03:02:00Z")
	l.o.Runs = nil
	l.status = v1alpha1.EtcdBackupScheduleStatus{}
	l.until("2026-03-02T02:00:00Z")
	l.is("20260301-0300")
}

func TestARecordThatIsNeverWrittenMakesNoSecondRun(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	left := 5
	l.crash = func() bool { left--; return left >= 0 }
	l.until("2026-03-03T12:00:00Z")
	l.is("20260301-0300", "20260302-0300", "20260303-0300")
	l.o.Schedule.Recorded = time.Time{} // taken away
	l.until("2026-03-03T13:00:00Z")
	if !l.o.Schedule.Recorded.Equal(at(t, "2026-03-03T03:00:00Z")) {
		t.Errorf("recorded %s", l.o.Schedule.Recorded)
	}
	l.is("20260301-0300", "20260302-0300", "20260303-0300")
}

func TestRunsAndRecordsOfTheFutureAreNotBelieved(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	l.o.Schedule.Recorded = at(t, "2036-03-01T03:00:00Z")
	l.o.Runs = []Run{{Name: "nightly-20360301-0300", State: RunComplete}, {Name: "nightly-by-hand", State: RunActive},
		{Name: "other-20260301-0300", State: RunActive}}
	l.until("2026-03-01T12:00:00Z")
	l.is("20260301-0300")
}

func TestWhatKeepsAScheduleFromBeginningIsSaid(t *testing.T) {
	for _, row := range []struct {
		name   string
		edit   func(*Observation)
		reason string
		says   string
	}{
		{"no such cluster", func(o *Observation) {
			o.Cluster = Cluster{}
		}, ReasonClusterNotFound, "EtcdCluster demo does not exist"},
		{"a cluster that goes", func(o *Observation) {
			o.Cluster.Deleting = true
		}, ReasonClusterNotFound, "EtcdCluster demo is being deleted"},
		{"the 30th of February", func(o *Observation) {
			o.Schedule.Expression = "0 0 30 2 *"
		}, ReasonNeverFires, `"0 0 30 2 *", which names no time`},
		{"no cron", func(o *Observation) {
			o.Schedule.Expression = "now and then"
		}, ReasonScheduleInvalid, `"now and then"`},
		{"no time zone", func(o *Observation) { o.Schedule.TimeZone = "Mars" }, ReasonTimeZoneUnknown, `"Mars"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newIncarnation(t, "0 * * * *", "2026-03-01T00:30:00Z")
			was := l.o
			row.edit(&l.o)
			l.o.Now = at(t, "2026-03-01T05:30:00Z")
			d := l.pass()
			if d.Ready || d.Reason != row.reason || !strings.Contains(d.Message, row.says) || !d.Trouble ||
				len(Events(d, v1alpha1.EtcdBackupScheduleStatus{})) != 1 {
				t.Errorf("%+v", d)
			}
			if more := Events(d, l.status); len(more) != 0 {
				t.Errorf("told again: %+v", more)
			}
			l.o.Cluster, l.o.Schedule = was.Cluster, was.Schedule
			l.until("2026-03-01T05:31:00Z")
			l.is("20260301-0500")
		})
	}
}

func TestAScheduleOfAnotherOperatorsClusterIsIgnored(t *testing.T) {
	l := newIncarnation(t, "0 * * * *", "2026-03-01T00:30:00Z")
	l.o.Cluster.Operator = "other/etcd-steward"
	l.o.Now = at(t, "2026-03-01T05:30:00Z")
	if d := l.pass(); !d.Ignored || d.Change != nil {
		t.Errorf("%+v", d)
	}
}

// Downtimes, slow runs, lost records, deleted EtcdBackups and suspensions at random: never two at once, never one twice
// (create fails the test), never one before its time, and once all is well again the newest due run begins at once.
func TestInAnyOrderOfEventsNoRunIsMadeTwiceOrBesideAnotherAndTheNewestIsMadeUpFor(t *testing.T) {
	expressions := []string{"*/20 * * * *", "0 3 * * *", "30 2 * * *", "@every 70m", "0 0 * * 1"}
	zones := []string{"", "Europe/Berlin", "America/New_York", "Africa/Cairo"}
	for seed := 0; seed < 20; seed += needs.Stride(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			l := newIncarnation(t, expressions[random.IntN(len(expressions))], "2026-03-01T00:07:00Z",
				in(zones[random.IntN(len(zones))]))
			l.crash = func() bool { return random.IntN(3) == 0 }
			for range 50 {
				l.takes = time.Duration(1+random.IntN(150)) * time.Minute
				l.o.Schedule.Suspended = random.IntN(10) == 0
				switch random.IntN(5) {
				case 0:
					l.o.Now = l.o.Now.Add(time.Duration(random.IntN(100*60)) * time.Minute)
				case 1:
					if ended := l.o.ended(); ended != nil && !l.o.Schedule.Recorded.Before(l.o.latest()) {
						l.o.Runs = nil
					}
				default:
					l.until(l.o.Now.Add(time.Duration(random.IntN(600)) * time.Minute).Format(time.RFC3339))
				}
			}
			l.crash, l.o.Schedule.Suspended, l.takes = nil, false, time.Minute
			l.until(l.o.Now.Add(4 * time.Hour).Format(time.RFC3339))
			if v := viewOf(l.o); !v.due.IsZero() && l.o.Now.Sub(v.due) > 2*time.Minute {
				t.Errorf("the run of %s is due at %s and not begun", v.due, l.o.Now)
			}
		})
	}
}

// A clock that ran a day ahead is put right.
func TestAClockThatRanADayAheadLeavesNoRunOut(t *testing.T) {
	for name, row := range map[string]struct {
		from, wrong string
		want        []string
	}{
		"after the run of the day": {"2026-02-28T12:00:00Z", "2026-03-02T04:00:00Z",
			[]string{"20260302-0300", "20260301-0300", "20260302b0300", "20260303-0300"}},
		"before it": {"2026-02-27T12:00:00Z", "2026-03-01T04:00:00Z",
			[]string{"20260228-0300", "20260301-0300", "20260301b0300", "20260302-0300", "20260303-0300"}},
		"in a new schedule": {"2026-02-28T03:30:00Z", "2026-03-01T03:40:00Z",
			[]string{"20260301-0300", "20260301b0300", "20260302-0300", "20260303-0300"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newIncarnation(t, "0 3 * * *", row.from)
			l.pass()
			if name == "before it" {
				l.until("2026-02-28T12:00:00Z")
			}
			l.o.Now = at(t, row.wrong)
			l.until(l.o.Now.Add(time.Hour).Format(time.RFC3339))
			l.o.Now = l.o.Now.Add(-24 * time.Hour)
			l.until("2026-03-03T12:00:00Z")
			l.is(row.want...)
		})
	}
}

// The runs were made at their time, and the clock that says otherwise is put right a moment later.
func TestAClockThatIsBehindForAMomentMarksNoRun(t *testing.T) {
	for name, behind := range map[string]time.Duration{"by 50 minutes": 50 * time.Minute, "by a week": 7 * 24 * time.Hour} {
		for moment, isMarked := range map[time.Duration]bool{time.Second: false, 4 * time.Minute: false, 15 * time.Minute: true} {
			l := newIncarnation(t, "0 * * * *", "2026-03-01T12:30:00Z")
			l.until("2026-03-01T15:15:00Z")
			for range 2 { // what was noticed the first time does not count the second time
				now := l.o.Now
				l.o.Now = now.Add(-behind)
				l.until(l.o.Now.Add(moment).Format(time.RFC3339))
				l.o.Now = now.Add(moment)
				l.until(l.o.Now.Add(50 * time.Minute).Format(time.RFC3339))
			}
			marked := 0
			for _, run := range l.o.Runs {
				if run.Ahead {
					marked++
				}
			}
			again := slices.ContainsFunc(l.order, func(name string) bool { return strings.Contains(name, "b1") })
			if (marked > 0) != isMarked || again != isMarked {
				t.Errorf("%s, for %s: %d runs are marked, made were %q", name, moment, marked, l.order)
			}
		}
	}
}

func TestAScheduleThatWasCreatedWhileTheClockRanAheadWaitsForNothing(t *testing.T) {
	for _, expression := range []string{"0 3 * * *", "@every 24h"} {
		l := newIncarnation(t, expression, "2026-03-01T00:00:00Z")
		l.o.Schedule.Created = at(t, "2026-03-09T12:00:00Z")
		l.until("2026-03-03T12:00:00Z")
		if len(l.order) < 3 {
			t.Errorf("%s: runs are %q", expression, l.order)
		}
	}
}
