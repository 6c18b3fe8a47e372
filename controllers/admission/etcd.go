package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
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

var (
	repository = regexp.MustCompile(`^(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?/)?` +
		`[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	digest = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
)

// IsRepository reports the name of an image without tag and digest.
func IsRepository(name string) bool { return repository.MatchString(name) }

// IsDigest reports the content address of an image.
func IsDigest(text string) bool { return digest.MatchString(text) }

func validateImage(image *v1alpha1.ImageSpec, at *field.Path) field.ErrorList {
	if image == nil {
		return nil
	}
	var errs field.ErrorList
	if image.Repository != "" && !IsRepository(image.Repository) {
		errs = invalid(at.Child("repository"), image.Repository,
			"it must be an image name without tag and digest, such as "+
				"registry.example.com/etcd: the tag is v<version>, digests stand in spec.image.digests")
	}
	errs = append(errs, validateDigests(image.Digests, at.Child("digests"))...)
	errs = append(errs, oneOf(at.Child("pullPolicy"), image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent,
		corev1.PullNever)...)
	for _, secret := range image.PullSecrets {
		if secret.Name == "" {
			errs = append(errs, field.Invalid(at.Child("pullSecrets"), "",
				"spec.image.pullSecrets must each name a Secret of this namespace; a name is empty"))
		}
	}
	return errs
}

func validateDigests(digests map[string]v1alpha1.Digest, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(digests)) {
		if v, err := etcdutil.ParseVersion(key); err != nil || v.String() != key {
			errs = append(errs, field.Invalid(at, key,
				"spec.image.digests must have versions without a leading v as keys, such as 3.6.16"))
		}
		if value := string(digests[key]); !IsDigest(value) {
			errs = append(errs, field.Invalid(at.Key(key), value, fmt.Sprintf(
				"a value of spec.image.digests is %q; it must be of the form sha256:<64 hex digits>", value)))
		}
	}
	return errs
}

// headroom is what a volume must have beyond twice the database's quota: the write-ahead log and snapshots.
const headroom = 1 << 30

func validateStorage(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.Storage != nil {
		errs = validateStorageFields(spec.Storage, at.Child("storage"))
	}
	if spec.IsEphemeral() {
		if spec.Bootstrap != nil && spec.Bootstrap.Restore != nil {
			errs = append(errs, field.Forbidden(at.Child("bootstrap"),
				"spec.bootstrap.restore cannot be given together with "+
					"spec.storage.ephemeral: a backup is restored to volumes before members start, and an ephemeral "+
					"member has none"))
		}
		return append(errs, validateMemory(spec, at)...)
	}
	return append(errs, validateVolumeSize(spec, at.Child("storage", "size"))...)
}

func validateStorageFields(storage *v1alpha1.StorageSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if storage.Ephemeral != nil {
		if storage.Size != nil || storage.StorageClassName != nil || storage.AccessMode != "" {
			errs = append(errs, field.Forbidden(at.Child("ephemeral"),
				"spec.storage.ephemeral cannot be given together with size, "+
					"storageClassName or accessMode: those describe a volume, and an ephemeral member has none"))
		}
		errs = append(errs, oneOf(at.Child("ephemeral", "medium"), storage.Ephemeral.Medium,
			corev1.StorageMediumMemory)...)
	}
	if class := storage.StorageClassName; class != nil && *class != "" &&
		len(validation.IsDNS1123Subdomain(*class)) > 0 {
		errs = append(errs, invalid(at.Child("storageClassName"), *class,
			`it must be the name of a StorageClass: lower-case letters, digits, "-" and "."`)...)
	}
	errs = append(errs, oneOf(at.Child("accessMode"), storage.AccessMode, corev1.ReadWriteOnce,
		corev1.ReadWriteOncePod)...)
	return append(errs, oneOf(at.Child("deletionPolicy"), storage.DeletionPolicy, v1alpha1.DeletionRetain,
		v1alpha1.DeletionDelete)...)
}

func validateVolumeSize(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	size := spec.StorageSizeOrDefault()
	if size.Cmp(room(spec)) >= 0 {
		return nil
	}
	given := spec.Storage != nil && spec.Storage.Size != nil
	return field.ErrorList{field.Invalid(at, size.String(),
		fmt.Sprintf("spec.storage.size is %s; it must be at least twice "+
			"spec.etcd.quotaBackendBytes, which is %s, and 1Gi more, so that defragmentation and snapshots have room",
			orDefault(size, given), shownQuota(spec)))}
}

// validateMemory looks at data that is kept in memory: it counts against the container's limit, and a container over
// its limit is killed.
func validateMemory(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	if spec.Storage.Ephemeral.Medium != corev1.StorageMediumMemory || spec.Pod == nil || spec.Pod.Resources == nil {
		return nil
	}
	limit, err := spec.Pod.Resources.Limits[corev1.ResourceMemory].Quantity()
	if err != nil || limit.Cmp(room(spec)) >= 0 { // there is none, or it is refused as such
		return nil
	}
	return field.ErrorList{field.Invalid(at.Child("pod", "resources"), limit.String(), fmt.Sprintf(
		"spec.pod.resources.limits.memory is %s; with spec.storage.ephemeral.medium Memory it must be at least twice "+
			"spec.etcd.quotaBackendBytes, which is %s, and 1Gi more, because the data counts against it",
		limit.String(), shownQuota(spec)))}
}

// room is the space that a member needs: the database, its copy while it is defragmented, and the headroom.
func room(spec *v1alpha1.EtcdClusterSpec) resource.Quantity {
	total := spec.QuotaOrDefault()
	total.Add(spec.QuotaOrDefault())
	total.Add(*resource.NewQuantity(headroom, resource.BinarySI))
	return total
}

func shownQuota(spec *v1alpha1.EtcdClusterSpec) string {
	return orDefault(spec.QuotaOrDefault(), spec.Etcd != nil && spec.Etcd.QuotaBackendBytes != nil)
}

func orDefault(q resource.Quantity, given bool) string {
	if given {
		return q.String()
	}
	return q.String() + " (the default)"
}
