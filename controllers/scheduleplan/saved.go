package scheduleplan

import (
	"time"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

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
