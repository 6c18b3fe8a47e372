package scheduleplan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
	"github.com/etcdsteward/etcd-steward/controllers/words"
)

func condition(t *testing.T, status v1alpha1.EtcdBackupScheduleStatus, kind string) metav1.Condition {
	t.Helper()
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("no %s in %+v", kind, status)
	return metav1.Condition{}
}

func TestTheStatusTellsOfTheNewestRunInAnyOrderOfTheList(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	l.o.Now = at(t, "2026-03-09T12:00:00Z")
	l.o.Schedule.Recorded = at(t, "2026-03-09T03:00:00Z")
	l.o.Runs = []Run{
		{Name: "nightly-20260309-0300", State: RunFailed, Reason: "StoreFull", Message: "the store is full"},
		{
			Name: "nightly-20260308-0300", State: RunComplete, Created: at(t, "2026-03-08T03:00:00Z"), Deadline: time.Hour,
			CompletedAt: at(t, "2026-03-08T03:05:00Z"),
		},
		{
			Name: "nightly-20260307-0300", State: RunComplete, Created: at(t, "2026-03-07T03:00:00Z"), Deadline: time.Hour,
			CompletedAt: at(t, "2026-03-07T03:05:00Z"), VerifiedAt: at(t, "2026-03-07T03:06:00Z"),
		},
	}
	l.pass()
	if c := condition(t, l.status, v1alpha1.ScheduleBackedUp); c.Status != metav1.ConditionFalse || c.Reason != ReasonLastRunFailed ||
		c.Message != "The EtcdBackup nightly-20260309-0300 failed (StoreFull): the store is full." {
		t.Errorf("%+v", c)
	}
	s := l.status
	if !s.LastSuccessfulTime.Time.Equal(at(t, "2026-03-08T03:05:00Z")) || !s.LastVerifiedTime.Time.Equal(at(t, "2026-03-07T03:06:00Z")) ||
		s.LastRun != "nightly-20260309-0300" || s.Active != "" || !s.NextScheduleTime.Time.Equal(at(t, "2026-03-10T03:00:00Z")) {
		t.Errorf("%+v", s)
	}
	l.o.Runs = nil // what they told stays
	l.pass()
	if !l.status.LastSuccessfulTime.Equal(s.LastSuccessfulTime) || condition(t, l.status, v1alpha1.ScheduleBackedUp).Status != metav1.ConditionUnknown {
		t.Errorf("%+v", l.status)
	}
}

func TestARunThatNoSecondMemberConfirmsIsABackupAndNoVerifiedOne(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	l.o.Now = at(t, "2026-03-09T12:00:00Z")
	l.o.Schedule.Recorded = at(t, "2026-03-09T03:00:00Z")
	l.o.Runs = []Run{{
		Name: "nightly-20260309-0300", State: RunComplete, Reason: backupplan.ReasonNoWitness,
		Created: at(t, "2026-03-09T03:00:00Z"), Deadline: time.Hour, CompletedAt: at(t, "2026-03-09T03:05:00Z"),
	}}
	l.pass()
	if c := condition(t, l.status, v1alpha1.ScheduleBackedUp); c.Status != metav1.ConditionTrue ||
		!strings.Contains(c.Message, "No second member confirmed its keys") {
		t.Errorf("%+v", c)
	}
	if l.status.LastSuccessfulTime == nil || l.status.LastVerifiedTime != nil {
		t.Errorf("%+v", l.status)
	}
}

func TestAClockThatIsWrongNeitherHidesThatBackupsFailNorTellsOfIt(t *testing.T) {
	for name, wrong := range map[string]time.Duration{
		"ten days ahead": 240 * time.Hour, "an hour and a half ahead": 90 * time.Minute, "half an hour ahead": 30 * time.Minute,
		"ten days behind": -240 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
			l.until("2026-03-01T03:10:00Z")
			run := &l.o.Runs[0]
			run.CompletedAt, run.VerifiedAt = run.CompletedAt.Add(wrong), run.VerifiedAt.Add(wrong)
			was := words.TimeOrNil(at(t, "2026-03-12T00:00:00Z")) // as it stood there of another
			l.status.LastSuccessfulTime, l.status.LastVerifiedTime, l.status.LastScheduleTime, l.status.LastProvenTime = was, was, was, was
			l.pass()
			if last := l.status.LastSuccessfulTime; last != nil && last.After(l.o.Now) {
				t.Errorf("at %s the last one was complete at %s", l.o.Now, last)
			}
			l.fails = true
			for _, now := range []string{"2026-03-02T12:00:00Z", "2026-03-11T12:00:00Z", "2026-03-13T12:00:00Z"} {
				l.until(now)
				if by := ExpectedBy(l.o, l.status); !by.Equal(at(t, "2026-03-02T04:00:00Z")) {
					t.Errorf("%s: expected by %s", now, by)
				}
				day := at(t, "2026-03-02T00:00:00Z")
				if s := l.status; s.LastSuccessfulTime.After(day) || s.LastVerifiedTime.After(day) || s.LastProvenTime.After(day) || s.LastScheduleTime.After(l.o.Now) {
					t.Errorf("%s: %+v", now, s)
				}
			}
		})
	}
}

func TestNothingMovesInTheStatusBetweenRuns(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	l.until("2026-03-01T12:00:00Z")
	was := l.status
	for range 10 {
		l.o.Now = l.o.Now.Add(time.Hour)
		d := l.pass()
		if now := l.status; !now.NextScheduleTime.Equal(was.NextScheduleTime) || now.Conditions[0] != was.Conditions[0] || now.Conditions[1] != was.Conditions[1] {
			t.Fatalf("%+v: %+v", d, now)
		}
	}
}

// complete shows a backup that was complete at a time, a day ago.
func (l *incarnation) complete(t *testing.T, text string) {
	l.o.Now = at(t, text).Add(24 * time.Hour)
	l.status.LastSuccessfulTime = words.TimeOrNil(at(t, text))
}

func TestTheNextBackupIsExpectedByTheRunAfterTheLastCompleteOneAndItsDeadline(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*incarnation)
		want string
	}{
		{"none yet", func(*incarnation) {}, "2026-03-01T04:00:00Z"},
		{"one complete", func(l *incarnation) { l.complete(t, "2026-03-05T03:10:00Z") }, "2026-03-06T04:00:00Z"},
		{"one that is still to come", func(l *incarnation) {
			l.complete(t, "2026-03-05T03:10:00Z")
			l.o.Now = at(t, "2026-03-05T03:00:00Z")
		}, "2026-03-01T04:00:00Z"},
		{"a longer deadline", func(l *incarnation) { l.o.Schedule.BackupDeadline = 3 * time.Hour }, "2026-03-01T06:00:00Z"},
		{"a schedule that cannot be read", func(l *incarnation) { l.o.Schedule.Expression = "x" }, "2026-03-01T01:00:00Z"},
		{"one that never fires", func(l *incarnation) { l.o.Schedule.Expression = "0 0 30 2 *" }, "2026-03-01T01:00:00Z"},
		{"suspended", func(l *incarnation) { l.o.Schedule.Suspended = true }, ""},
		{"being deleted", func(l *incarnation) { l.o.Schedule.Deleting = true }, ""},
		{"a cluster that sleeps", func(l *incarnation) { l.o.Cluster.Asleep = true }, ""},
		{"no cluster", func(l *incarnation) { l.o.Cluster = Cluster{} }, ""},
	} {
		l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
		row.edit(l)
		got := ""
		if by := ExpectedBy(l.o, l.status); !by.IsZero() {
			got = by.Format(time.RFC3339)
		}
		if got != row.want {
			t.Errorf("%s: expected by %q, want %q", row.name, got, row.want)
		}
	}
}

func TestNoBackupIsAwaitedOfAClusterThatNeedsNone(t *testing.T) {
	l := newIncarnation(t, "0 3 * * *", "2026-03-01T00:00:00Z")
	l.o.Schedule.TestExpression = "0 6 * * 0"
	l.until("2026-03-01T03:10:00Z")
	if ExpectedBy(l.o, l.status).IsZero() || ProofExpectedBy(l.o).IsZero() {
		t.Error("nothing is awaited of any cluster")
	}
	l.o.Cluster.Needless = true
	if by := ExpectedBy(l.o, l.status); !by.IsZero() {
		t.Errorf("a backup is awaited by %s", by)
	}
	if by := ProofExpectedBy(l.o); !by.IsZero() {
		t.Errorf("a test restore is awaited by %s", by)
	}
}
