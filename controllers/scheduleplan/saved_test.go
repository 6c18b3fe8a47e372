package scheduleplan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

func TestAScheduleIsUpToDateWithABackupOfItsLastTwoRuns(t *testing.T) {
	at := func(hour int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 3, 4, hour, 0, 0, 0, time.UTC)}
	}
	for _, row := range []struct {
		name                 string
		schedule             string
		verify               *bool
		verified, successful *metav1.Time
		isUpToDate           bool
	}{
		{"the last run", "0 * * * *", nil, at(12), at(12), true},
		{"the run before", "0 * * * *", nil, at(11), at(12), true},
		{"an older one", "0 * * * *", nil, at(10), at(12), false},
		{"none was proven", "0 * * * *", nil, nil, at(12), false},
		{"the schedule verifies none", "0 * * * *", new(false), nil, at(12), true},
		{"the schedule verifies none, and none is complete", "0 * * * *", new(false), at(12), nil, false},
		{"runs are rare", "0 0 1 * *", nil, at(1), nil, true},
		{"nothing says when runs are", "at times", nil, at(12), at(12), false},
	} {
		s := &v1alpha1.EtcdBackupSchedule{}
		s.Spec.Schedule, s.Spec.Verify = row.schedule, row.verify
		s.Status.LastVerifiedTime, s.Status.LastSuccessfulTime = row.verified, row.successful
		if got := IsUpToDate(s, at(12).Add(30*time.Minute)); got != row.isUpToDate {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestAScheduleIsNewUntilItsFirstTwoRunsAreOver(t *testing.T) {
	created := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	for _, row := range []struct {
		schedule string
		after    time.Duration
		isNew    bool
	}{
		{"0 * * * *", 89 * time.Minute, true},
		{"0 * * * *", 90 * time.Minute, false},
		{"at times", 0, false},
	} {
		s := &v1alpha1.EtcdBackupSchedule{}
		s.Spec.Schedule, s.CreationTimestamp = row.schedule, metav1.NewTime(created)
		if got := IsNew(s, created.Add(row.after)); got != row.isNew {
			t.Errorf("%s after %s: %v", row.schedule, row.after, got)
		}
	}
}
