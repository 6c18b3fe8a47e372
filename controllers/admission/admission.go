// Package admission says what is wrong with an EtcdCluster.
//
// Most of it is said by the schema already, at once and by the API server. It is said here again, in the same words,
// because an object may be older than a rule, and a definition older than the operator; and what the schema cannot say
// is said here alone: which versions may run, which flags a version knows, whether a selector can be read. The
// reconciler asks at each pass, and the webhook before an object is stored. Everything is pure: no clock, no reading,
// no change to the object.
//
// What may not change on an existing cluster is the schema's alone, since only the API server sees both sides.
package admission

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var clusterName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

// Validate gives everything that is wrong with the cluster; empty when it can be built as it is. The detail of each
// error is a whole sentence that names the field, the value and what is accepted, see Message.
//
// A refused version is an error here. A cluster that runs one already must be kept alive all the same: the caller knows
// what runs.
func Validate(c *v1alpha1.EtcdCluster) field.ErrorList {
	errs := ValidateExisting(c)
	if said := exposure(&c.Spec); said != "" {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "service"), said+closeIt))
	}
	return append(errs, loosened(&c.Spec)...)
}

// ValidateExisting leaves out what Warnings says of a cluster that exists: an earlier release made it as it is.
func ValidateExisting(c *v1alpha1.EtcdCluster) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateName(c.Name)
	errs = append(errs, validateSize(c.Spec.Size, spec.Child("size"))...)
	errs = append(errs, validateVersion(c.Spec.Version, spec.Child("version"))...)
	errs = append(errs, validateImage(c.Spec.Image, spec.Child("image"))...)
	errs = append(errs, validateStorage(&c.Spec, spec)...)
	errs = append(errs, validateEtcd(&c.Spec, spec.Child("etcd"))...)
	errs = append(errs, validatePod(c.Spec.Pod, spec.Child("pod"))...)
	errs = append(errs, validateSidecars(&c.Spec, spec.Child("pod", "sidecars"))...)
	if metadata := c.Spec.InheritedMetadata; metadata != nil {
		at := spec.Child("inheritedMetadata")
		errs = append(errs, validatePodLabels(metadata.Labels, at.Child("labels"))...)
		errs = append(errs, validateAnnotations(metadata.Annotations, at.Child("annotations"))...)
	}
	errs = append(errs, validateTasks(c.Spec.Tasks, spec.Child("tasks"))...)
	errs = append(errs, validateService(c.Spec.Service, spec.Child("service"))...)
	errs = append(errs, validateNetworkPolicy(c.Spec.NetworkPolicy, spec.Child("networkPolicy"))...)
	errs = append(errs, validateBackups(c.Spec.Backups, spec.Child("backups"))...)
	errs = append(errs, validateRepair(c.Spec.Repair, spec.Child("repair"))...)
	return append(errs, validateModes(&c.Spec, spec)...)
}

// Message joins what Validate found into one line for people.
func Message(errs field.ErrorList) string {
	sentences := make([]string, len(errs))
	for i, err := range errs {
		sentences[i] = err.Detail
	}
	return strings.Join(sentences, ". ")
}

// Warnings are sentences about what is accepted and yet not wise.
func Warnings(c *v1alpha1.EtcdCluster) []string {
	var warnings []string
	quota := c.Spec.QuotaOrDefault()
	if quota.Cmp(advisedQuota) > 0 && quota.Cmp(largestQuota) <= 0 {
		warnings = append(warnings, fmt.Sprintf("spec.etcd.quotaBackendBytes is %s, and etcd advises at most %s: the "+
			"larger the database, the longer starts, backups and new members take. Delete keys, compact and "+
			"defragment, or part the data among clusters; then lower it.", quota.String(), advisedQuota.String()))
	}
	if said := exposure(&c.Spec); said != "" {
		warnings = append(warnings, said+". The operator keeps the Service, because the cluster exists"+closeIt+".")
	}
	for _, err := range loosened(&c.Spec) {
		warnings = append(warnings, err.Detail+". The operator leaves such annotations out of new Pods. It refuses "+
			"nothing else for them, because the cluster exists.")
	}
	if value, isSet := c.Annotations[v1alpha1.AnnotationRestartedAt]; isSet && c.RestartedAt() == "" {
		warnings = append(warnings, fmt.Sprintf("The annotation %s is %.80q and restarts no member. Set it to 1 to 64 "+
			"printable characters of ASCII, such as the time: 2026-01-31T12:00:00Z.", v1alpha1.AnnotationRestartedAt,
			value))
	}
	return append(warnings, versionWarnings(c)...)
}

func versionWarnings(c *v1alpha1.EtcdCluster) []string {
	version, err := etcdutil.ParseVersion(c.Spec.Version)
	if err != nil {
		return nil
	}
	var warnings []string
	if verdict := etcdutil.Judge(version); verdict.Tier == etcdutil.TierWarn {
		warnings = append(warnings, verdict.Reason)
	}
	if open, fixed := etcdutil.Vulnerabilities(version); len(open) > 0 {
		warnings = append(warnings, fmt.Sprintf("etcd %s has known vulnerabilities: %s. They are fixed in %s. Set "+
			"spec.version to %s.", version, strings.Join(open, ", "), fixed, etcdutil.Judge(version).Waypoint))
	}
	if image := c.Spec.Image; image != nil && len(image.Digests) > 0 && image.Digests[version.String()] == "" {
		warnings = append(warnings, fmt.Sprintf("There is no digest for etcd %s; it runs from its tag v%s. Add the "+
			"digest to spec.image.digests, or to --etcd-digest of the operator.", version, version))
	}
	return warnings
}

func validateName(name string) field.ErrorList {
	if clusterName.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name,
		fmt.Sprintf(`metadata.name is %q; it must be `+
			`at most 40 characters, lower-case letters, digits and "-", starting with a letter and not ending in "-". `+
			`Host names of members are made from it`, name))}
}

func validateSize(size int32, at *field.Path) field.ErrorList {
	switch {
	case size >= 1 && size <= 7 && size%2 == 1:
		return nil
	case size%2 == 0:
		return invalid(at, size, "it must be 1, 3, 5 or 7. An even number of members survives no more "+
			"failures than one "+
			"member less, and needs more of them to agree")
	}
	return invalid(at, size, "it must be 1, 3, 5 or 7")
}

func validateVersion(version string, at *field.Path) field.ErrorList {
	v, err := etcdutil.ParseVersion(version)
	if err != nil {
		return invalid(at, version, "it must be a released version of etcd with three numbers, such as 3.6.16")
	}
	if verdict := etcdutil.Judge(v); verdict.Tier == etcdutil.TierRefuse {
		return field.ErrorList{field.Invalid(at, version, strings.TrimSuffix(verdict.Reason, "."))}
	}
	return nil
}

// invalid says "<field> is <value>; <what>".
func invalid(at *field.Path, value any, what string) field.ErrorList {
	shown := fmt.Sprint(value)
	if text, ok := value.(string); ok {
		shown = `"` + text + `"`
	}
	return field.ErrorList{field.Invalid(at, value, at.String()+" is "+shown+"; "+what)}
}

// oneOf refuses a value that is neither absent nor in the list.
func oneOf[T ~string](at *field.Path, value T, accepted ...T) field.ErrorList {
	if value == "" {
		return nil
	}
	names := make([]string, len(accepted))
	for i, a := range accepted {
		if value == a {
			return nil
		}
		names[i] = string(a)
	}
	return invalid(at, string(value), "it must be one of "+strings.Join(names, ", "))
}

func validateBackups(backups *v1alpha1.BackupsSpec, at *field.Path) field.ErrorList {
	if backups == nil || backups.MaxAge == nil || v1alpha1.IsBackupAge(backups.MaxAge.Duration) {
		return nil
	}
	return invalid(at.Child("maxAge"), backups.MaxAge.Duration.String(),
		"it must be a time of at least 1m, such as 26h, or 0 for any age")
}

func validateRepair(repair *v1alpha1.RepairSpec, at *field.Path) field.ErrorList {
	var faults field.ErrorList
	if repair == nil {
		return nil
	}
	if after := repair.ReplaceAfter; after != nil && !v1alpha1.IsReplaceAfter(after.Duration) {
		faults = append(faults, invalid(at.Child("replaceAfter"), after.Duration.String(),
			"it must be a time of at least 30s, such as 5m, or 0 for never")...)
	}
	if keep := repair.KeepVolumes; keep != nil && keep.Duration < 0 {
		faults = append(faults, invalid(at.Child("keepVolumes"), keep.Duration.String(),
			"it must be a time such as 24h, or 0 to keep none")...)
	}
	return faults
}

func validateTasks(tasks *v1alpha1.TaskSpec, at *field.Path) field.ErrorList {
	if tasks == nil {
		return nil
	}
	errs := validatePodLabels(tasks.Labels, at.Child("labels"))
	errs = append(errs, validateAnnotations(tasks.Annotations, at.Child("annotations"))...)
	errs = append(errs, validateResources(tasks.Resources, at.Child("resources"))...)
	errs = append(errs, validateLabels(tasks.NodeSelector, at.Child("nodeSelector"))...)
	errs = append(errs, validateTolerations(tasks.Tolerations, at.Child("tolerations"))...)
	for i, variable := range tasks.Env {
		errs = append(errs, validateTaskEnv(variable, at.Child("env").Index(i))...)
	}
	errs = append(errs, validateClass(tasks.PriorityClassName, at.Child("priorityClassName"))...)
	if name := tasks.ServiceAccountName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, invalid(at.Child("serviceAccountName"), name,
			`it must be the name of a ServiceAccount: lower-case letters, digits, "-" and "."`)...)
	}
	return errs
}

// validateTaskEnv refuses what would let a task read a Secret, and what would have it write elsewhere than it may.
func validateTaskEnv(variable v1alpha1.TaskEnv, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if variable.ValueFrom != nil {
		errs = append(errs, field.Forbidden(at.Child("valueFrom"), "spec.tasks.env takes values only: the operator "+
			"reads no Secret for a task; name what a store is reached with in the store's credentialsSecretRef"))
	}
	if variable.Name == "TMPDIR" || len(validation.IsCIdentifier(variable.Name)) > 0 {
		errs = append(errs, field.Invalid(at.Child("name"), variable.Name, fmt.Sprintf("spec.tasks.env.name is %q; it "+
			`must be letters, digits and "_", not starting with a digit, and not TMPDIR`, variable.Name)))
	}
	return errs
}
