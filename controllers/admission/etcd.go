package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

const (
	modePeriodic = "periodic"
	modeRevision = "revision"
)

var (
	smallestQuota = resource.MustParse("16Mi")
	advisedQuota  = resource.MustParse("8Gi") // beyond, etcd itself warns (etcd-io/etcd:server/storage/quota.go)
	// etcd sets no limit. A backup does: S3 takes 10,000 parts, which is 48 GiB (pkg/backup/store), and a database may
	// grow somewhat beyond its quota.
	largestQuota = resource.MustParse("32Gi")

	revisions = regexp.MustCompile(`^(0|[1-9][0-9]{0,9})$`)
	age       = regexp.MustCompile(`^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$`)
)

func validateEtcd(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	etcd := spec.Etcd
	if etcd == nil {
		return nil
	}
	var errs field.ErrorList
	if q := etcd.QuotaBackendBytes; q != nil && (q.Cmp(smallestQuota) < 0 || q.Cmp(largestQuota) > 0) {
		errs = append(errs, invalid(at.Child("quotaBackendBytes"), q, "it must be from 16Mi to 32Gi")...)
	}
	errs = append(errs, validateCompaction(etcd.AutoCompaction, at.Child("autoCompaction"))...)
	if n := etcd.SnapshotCount; n != nil && (*n < 1 || *n > 10_000_000) {
		errs = append(errs, invalid(at.Child("snapshotCount"), *n, "it must be from 1 to 10000000")...)
	}
	errs = append(errs, validateTimes(etcd, at)...)
	return append(errs, validateExtraArgs(spec.Version, etcd.ExtraArgs, at.Child("extraArgs"))...)
}

func validateCompaction(c *v1alpha1.AutoCompactionSpec, at *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := oneOf(at.Child("mode"), c.Mode, modePeriodic, modeRevision)
	retention := at.Child("retention")
	switch {
	case c.Mode == modeRevision && !revisions.MatchString(c.Retention):
		errs = append(errs, compactionError(retention, c.Retention,
			"it must be a number of revisions when mode is revision, such as 10000"))
	case (c.Mode == "" || c.Mode == modePeriodic) && !isAge(c.Retention):
		errs = append(errs, compactionError(retention, c.Retention,
			"it must be an age when mode is periodic, such as 1h or 30m, or 0 for no compaction"))
	}
	return errs
}

func compactionError(at *field.Path, retention, what string) *field.Error {
	shown := retention
	if shown == "" {
		shown = "absent"
	}
	return field.Invalid(at, retention, fmt.Sprintf("%s is %s; %s", at, shown, what))
}

// isAge refuses a number without a unit, which etcd would take for hours.
func isAge(retention string) bool {
	if retention == "" || retention == "0" {
		return true
	}
	d, err := time.ParseDuration(retention)
	return err == nil && d >= time.Second && age.MatchString(retention)
}

func validateTimes(etcd *v1alpha1.EtcdSpec, at *field.Path) field.ErrorList {
	heartbeat, heartbeatShown := timeOf(etcd.HeartbeatInterval, v1alpha1.DefaultHeartbeatInterval)
	election, electionShown := timeOf(etcd.ElectionTimeout, v1alpha1.DefaultElectionTimeout)
	var errs field.ErrorList
	if !isWhole(heartbeat, 10*time.Millisecond, 5*time.Second) {
		errs = append(errs, invalid(at.Child("heartbeatInterval"), heartbeat.String(),
			"it must be a time in whole milliseconds from 10ms to 5s, such as 100ms")...)
	}
	if !isWhole(election, 50*time.Millisecond, 50*time.Second) {
		errs = append(errs, invalid(at.Child("electionTimeout"), election.String(),
			"it must be a time in whole milliseconds from 50ms to 50s, such as 1s")...)
	}
	if election < 5*heartbeat {
		errs = append(errs, field.Invalid(at.Child("electionTimeout"), election.String(), fmt.Sprintf(
			"spec.etcd.electionTimeout is %s; it must be at least five times spec.etcd.heartbeatInterval, which is %s",
			electionShown, heartbeatShown)))
	}
	return errs
}

func timeOf(given *metav1.Duration, byDefault time.Duration) (d time.Duration, shown string) {
	if given == nil {
		return byDefault, byDefault.String() + " (the default)"
	}
	return given.Duration, given.Duration.String()
}

func isWhole(d, from, to time.Duration) bool {
	return d >= from && d <= to && d%time.Millisecond == 0
}

func validateExtraArgs(version string, args map[string]v1alpha1.ArgValue, at *field.Path) field.ErrorList {
	v, err := etcdutil.ParseVersion(version)
	if err != nil {
		return nil // which flags there are depends on the version, and that is refused already
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if err := etcdutil.CheckExtraArg(v, name, string(args[name])); err != nil {
			errs = append(errs, field.Invalid(at.Key(name), string(args[name]), "spec.etcd.extraArgs: "+err.Error()))
		}
	}
	return errs
}
