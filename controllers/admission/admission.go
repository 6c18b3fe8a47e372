// Package admission says what is wrong with an EtcdCluster, as far as the schema cannot say it: which versions may run,
// which flags a version knows, whether a selector can be read. The reconciler asks at each pass, and the webhook before
// an object is stored. Everything is pure: no clock, no reading, no change to the object.
//
// What the schema refuses is not said again. Each of its rules came with its field, so a definition that is older than
// the operator has the rule, or does not store the field. Where a stored object would nevertheless do harm rather than
// just fail, the check is here as well and says so.
package admission

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/scheduleplan"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
)

var (
	advisedQuota = resource.MustParse("8Gi") // beyond, etcd itself warns (etcd-io/etcd:server/storage/quota.go)
	clusterName  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)
)

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
	errs = append(errs, validateSize(&c.Spec, spec.Child("size"))...)
	errs = append(errs, validateVersion(c.Spec.Version, spec.Child("version"))...)
	errs = append(errs, validateExtraArgs(&c.Spec, spec.Child("etcd", "extraArgs"))...)
	errs = append(errs, validateOrigin(&c.Spec, spec.Child("bootstrap"))...)
	errs = append(errs, validatePod(c.Spec.Pod, spec.Child("pod"))...)
	errs = append(errs, validateWindow(c.Spec.Maintenance)...)
	errs = append(errs, validateSidecars(&c.Spec, spec.Child("pod", "sidecars"))...)
	if tasks := c.Spec.Tasks; tasks != nil {
		at := spec.Child("tasks")
		errs = append(errs, validateMetadata(tasks.Labels, tasks.Annotations, at)...)
		errs = append(errs, validateResources(tasks.Resources, at.Child("resources"))...)
		errs = append(errs, validateLabels(tasks.NodeSelector, at.Child("nodeSelector"))...)
		errs = append(errs, validateTolerations(tasks.Tolerations, at.Child("tolerations"))...)
	}
	if metadata := c.Spec.InheritedMetadata; metadata != nil {
		errs = append(errs, validateMetadata(metadata.Labels, metadata.Annotations, spec.Child("inheritedMetadata"))...)
	}
	if service := c.Spec.Service; service != nil {
		errs = append(errs, validateMetadata(service.Labels, service.Annotations, spec.Child("service"))...)
	}
	return append(errs, validateNetworkPolicy(c.Spec.NetworkPolicy, spec.Child("networkPolicy"))...)
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
	if quota.Cmp(advisedQuota) > 0 {
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
	for _, asked := range []struct{ annotation, does string }{
		{v1alpha1.AnnotationDefragment, "defragments no member"},
		{v1alpha1.AnnotationMaintenance, "opens no window of maintenance"},
	} {
		value, isSet := c.Annotations[asked.annotation]
		if _, err := time.Parse(time.RFC3339, value); isSet && err != nil {
			warnings = append(warnings, fmt.Sprintf("The annotation %s is %.80q and %s. Set it to the time, such as "+
				"2026-01-31T12:00:00Z.", asked.annotation, value, asked.does))
		}
	}
	value, isRotated := c.Annotations[v1alpha1.AnnotationRotateCA]
	if asked, _ := c.CARotationAsked(); isRotated && asked.IsZero() {
		warnings = append(warnings, fmt.Sprintf("The annotation %s is %.80q and replaces no CA. Set it to the time, "+
			"such as 2026-01-31T12:00:00Z, or to 1h@2026-01-31T12:00:00Z for another overlap than 24h.",
			v1alpha1.AnnotationRotateCA, value))
	}
	warnings = append(warnings, noNames(c, v1alpha1.AnnotationReplace, c.ReplaceAsked())...)
	warnings = append(warnings, noNames(c, v1alpha1.AnnotationFence, c.FenceAsked())...)
	value, isSet := c.Annotations[v1alpha1.AnnotationMoveLeader]
	name, at := c.LeaderAsked()
	if _, isMember := etcdutil.Ordinal(c.Name, name); isSet && (!isMember || at.IsZero()) {
		warnings = append(warnings, fmt.Sprintf("The annotation %s is %.80q and moves no leadership. Set it to a "+
			"member and the time, such as %s@2026-01-31T12:00:00Z.", v1alpha1.AnnotationMoveLeader, value,
			etcdutil.MemberName(c.Name, 0)))
	}
	return slices.Concat(warnings, comparisonWarnings(&c.Spec), timeWarnings(&c.Spec), versionWarnings(c))
}

// noNames are of an annotation that names members, and names that no member can have.
func noNames(c *v1alpha1.EtcdCluster, annotation string, names []string) []string {
	var warnings []string
	for _, name := range names {
		if _, isMember := etcdutil.Ordinal(c.Name, name); !isMember {
			warnings = append(warnings, fmt.Sprintf("The annotation %s names %.80q, which is no member's name. Name "+
				"members as status.members does, such as %s, with commas between them.", annotation, name,
				etcdutil.MemberName(c.Name, 0)))
		}
	}
	return warnings
}

// comparisonWarnings are about comparisons of members' data that are asked for, and may never happen.
func comparisonWarnings(spec *v1alpha1.EtcdClusterSpec) []string {
	etcd := cmp.Or(spec.Etcd, &v1alpha1.EtcdSpec{})
	switch asked, compaction := etcd.CorruptionChecks, etcd.AutoCompaction; {
	case asked != nil && !*asked:
	case spec.Size == 1 && asked != nil:
		return []string{"spec.etcd.corruptionChecks is true, and the only member has no other to compare its data " +
			"with. Ask for three members, and take backups."}
	case spec.Size > 1 && compaction != nil && compaction.Retention == "0":
		return []string{"spec.etcd.autoCompaction.retention is 0, so etcd compacts nothing by itself. It compares " +
			"members' data at compactions only where a client compacts, and else by the hour alone. Where none " +
			"does, set it to a time such as 1h."}
	}
	return nil
}

// timeWarnings are about times that the schema refuses, and that were stored all the same: the operator goes by others.
func timeWarnings(spec *v1alpha1.EtcdClusterSpec) []string {
	var warnings []string
	warn := func(name string, stored time.Duration, counts, what string) {
		warnings = append(warnings, fmt.Sprintf("%s is %s, and counts as %s. Set it to %s.", name, stored, counts,
			what))
	}
	repair := cmp.Or(spec.Repair, &v1alpha1.RepairSpec{})
	if after, counts := repair.ReplaceAfter, spec.ReplaceAfterOrDefault(); after != nil && after.Duration != counts {
		warn("spec.repair.replaceAfter", after.Duration, counts.String(), "at least 30s, or to 0 for never")
	}
	if keep, counts := repair.KeepVolumes, spec.KeepVolumesOrDefault(); keep != nil && keep.Duration != counts {
		warn("spec.repair.keepVolumes", keep.Duration, counts.String(), "a time such as 24h, or to 0 to keep none")
	}
	if _, isSaid := spec.BackupAge(); spec.Backups != nil && spec.Backups.MaxAge != nil && !isSaid {
		warn("spec.backups.maxAge", spec.Backups.MaxAge.Duration, "not set", "at least 1m, or to 0 for any age")
	}
	return warnings
}

func versionWarnings(c *v1alpha1.EtcdCluster) []string {
	version, err := etcdutil.ParseVersion(c.Spec.Version)
	if err != nil {
		return nil
	}
	verdict := etcdutil.Judge(version)
	if verdict.Tier == etcdutil.TierRefuse {
		return nil // which says where to go
	}
	var warnings []string
	if verdict.Tier == etcdutil.TierWarn {
		warnings = append(warnings, fmt.Sprintf("%s Use %s.", verdict.Reason, verdict.Waypoint))
	}
	if open, fixed := etcdutil.Vulnerabilities(version); len(open) > 0 {
		warnings = append(warnings, fmt.Sprintf("etcd %s has known vulnerabilities: %s. They are fixed in %s. Set "+
			"spec.version to %s.", version, strings.Join(open, ", "), fixed, verdict.Waypoint))
	}
	if image := c.Spec.Image; image != nil && len(image.Digests) > 0 && image.Digests[version.String()] == "" {
		warnings = append(warnings, fmt.Sprintf("There is no digest for etcd %s; it runs from its tag v%s. Add the "+
			"digest to spec.image.digests, or to --etcd-digest of the operator.", version, version))
	}
	return warnings
}

// validateName is also the schema's. Labels are made from the name, and one that is too long would end the operator.
func validateName(name string) field.ErrorList {
	if clusterName.MatchString(name) {
		return nil
	}
	return invalid(field.NewPath("metadata", "name"), name, `it must be at most 40 characters, lower-case letters, `+
		`digits and "-", starting with a letter and not ending in "-". Host names of members are made from it`)
}

// validateSize is also the schema's. Members are removed to get to the size.
func validateSize(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	const accepted = "it must be 1, 3, 5 or 7, or 0 to have the cluster sleep"
	switch size := spec.Size; {
	case size == 0 && spec.IsEphemeral():
		return field.ErrorList{field.Forbidden(at, "spec.size cannot be 0 with spec.storage.ephemeral: data in Pods "+
			"goes with them. Take spec.storage.ephemeral out by the same edit: members move to volumes, and then the "+
			"cluster sleeps. Or delete the EtcdCluster if its data may go")}
	case size == 0:
		return nil
	case size%2 == 0:
		return invalid(at, size, accepted+". An even number of members survives no more failures than "+
			"one member less, and needs more of them to agree")
	case size < 1 || size > 7:
		return invalid(at, size, accepted)
	}
	return nil
}

func validateVersion(version string, at *field.Path) field.ErrorList {
	v, err := etcdutil.ParseVersion(version)
	verdict := etcdutil.Judge(v)
	switch isRefused := verdict.Tier == etcdutil.TierRefuse; {
	case err != nil, isRefused && v.Pre != "":
		return invalid(at, version, "it must be a released version of etcd with three numbers, such as 3.6.16")
	case isRefused:
		return field.ErrorList{field.Invalid(at, version, fmt.Sprintf("%s Use %s", verdict.Reason, verdict.Waypoint))}
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

func validateWindow(maintenance *v1alpha1.MaintenanceSpec) field.ErrorList {
	if maintenance == nil || maintenance.Window == nil {
		return nil
	}
	_, fault := scheduleplan.ReadWindow(maintenance.Window)
	if fault == nil {
		return nil
	}
	return field.ErrorList{{Type: field.ErrorTypeInvalid, Field: fault.Field, BadValue: fault.Value,
		Detail: strings.TrimSuffix(fault.Message, ".")}}
}

func validateExtraArgs(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	v, err := etcdutil.ParseVersion(spec.Version)
	if err != nil || spec.Etcd == nil {
		return nil // which flags there are depends on the version, and that is refused already
	}
	args := spec.Etcd.ExtraArgs
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if err := etcdutil.CheckExtraArg(v, name, string(args[name])); err != nil {
			errs = append(errs, field.Invalid(at.Key(name), string(args[name]), "spec.etcd.extraArgs: "+err.Error()))
		}
	}
	return errs
}

// validateOrigin is also the schema's: instead of from its backup, such a cluster would begin empty.
func validateOrigin(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	if !spec.IsEphemeral() || spec.Bootstrap == nil || spec.Bootstrap.Restore == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(at, "spec.bootstrap.restore cannot be given together with "+
		"spec.storage.ephemeral: a backup is restored to volumes before members start, and an ephemeral member has "+
		"none")}
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

// closeIt is what a user can do about an exposure.
const closeIt = ". Set type LoadBalancer with spec.service.loadBalancerSourceRanges, or type ClusterIP. With " +
	"spec.tls.mode Managed any type is allowed"

// exposure says who can use etcd without TLS; empty when only clients inside can, and known networks.
func exposure(spec *v1alpha1.EtcdClusterSpec) string {
	service := cmp.Or(spec.Service, &v1alpha1.ServiceSpec{})
	isKnown := service.Type == corev1.ServiceTypeLoadBalancer && len(service.LoadBalancerSourceRanges) > 0
	isInside := cmp.Or(service.Type, corev1.ServiceTypeClusterIP) == corev1.ServiceTypeClusterIP
	mode := spec.TLSModeOrDefault()
	if mode == v1alpha1.TLSManaged || isKnown || isInside {
		return ""
	}
	return fmt.Sprintf("spec.service.type is %s while spec.tls.mode is %s: all who reach it could read and change "+
		"all data", service.Type, mode)
}

func validateNetworkPolicy(policy *v1alpha1.NetworkPolicySpec, at *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	return append(validatePeers(policy.Clients, at.Child("clients")),
		validatePeers(policy.Metrics, at.Child("metrics"))...)
}

func validatePeers(peers []networkingv1.NetworkPolicyPeer, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, peer := range peers {
		at := at.Index(i)
		errs = append(errs, validateSelector(peer.PodSelector, at.Child("podSelector"))...)
		errs = append(errs, validateSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))...)
		if peer.IPBlock != nil {
			errs = append(errs, validateBlock(peer.IPBlock, at.Child("ipBlock"))...)
		}
	}
	return errs
}

func validateBlock(block *networkingv1.IPBlock, at *field.Path) field.ErrorList {
	whole, err := netip.ParsePrefix(block.CIDR)
	if err != nil {
		return invalid(at.Child("cidr"), block.CIDR, notABlock)
	}
	var errs field.ErrorList
	for i, text := range block.Except {
		at := at.Child("except").Index(i)
		switch part, err := netip.ParsePrefix(text); {
		case err != nil:
			errs = append(errs, invalid(at, text, notABlock)...)
		case part.Bits() <= whole.Bits() || !whole.Contains(part.Addr()):
			errs = append(errs, invalid(at, text, fmt.Sprintf("it must be a smaller part of %s", block.CIDR))...)
		}
	}
	return errs
}

const notABlock = "it must be a block of addresses, such as 10.0.0.0/8 or 2001:db8::/64"
