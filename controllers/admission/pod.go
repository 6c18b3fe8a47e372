package admission

import (
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

const howToTighten = "must not loosen seccomp or AppArmor: leave out seccomp.security.alpha.kubernetes.io/ and " +
	"container.seccomp.security.alpha.kubernetes.io/, and give container.apparmor.security.beta.kubernetes.io/ the " +
	"value runtime/default or localhost/<profile>"

// loosened names the fields whose annotations would let a Pod run with less than Pod Security restricted asks for.
func loosened(spec *v1alpha1.EtcdClusterSpec) field.ErrorList {
	var errs field.ErrorList
	look := func(annotations map[string]string, at string) {
		path := field.NewPath("spec", at, "annotations")
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if v1alpha1.Loosens(key, annotations[key]) {
				errs = append(errs, field.Invalid(path, key, path.String()+" "+howToTighten))
				return
			}
		}
	}
	if spec.Pod != nil {
		look(spec.Pod.Annotations, "pod")
	}
	if spec.Tasks != nil {
		look(spec.Tasks.Annotations, "tasks")
	}
	if spec.InheritedMetadata != nil {
		look(spec.InheritedMetadata.Annotations, "inheritedMetadata")
	}
	return errs
}

func validatePod(pod *v1alpha1.PodSpec, at *field.Path) field.ErrorList {
	if pod == nil {
		return nil
	}
	errs := validatePodLabels(pod.Labels, at.Child("labels"))
	errs = append(errs, validateAnnotations(pod.Annotations, at.Child("annotations"))...)
	errs = append(errs, validateResources(pod.Resources, at.Child("resources"))...)
	errs = append(errs, validateSecurity(pod.SecurityContext, at.Child("securityContext"))...)
	errs = append(errs, validateLabels(pod.NodeSelector, at.Child("nodeSelector"))...)
	errs = append(errs, validateTolerations(pod.Tolerations, at.Child("tolerations"))...)
	errs = append(errs, validateAffinity(pod.Affinity, at.Child("affinity"))...)
	errs = append(errs, validateSpread(pod.TopologySpreadConstraints, at.Child("topologySpreadConstraints"))...)
	errs = append(errs, validateClass(pod.PriorityClassName, at.Child("priorityClassName"))...)
	errs = append(errs, validateNameOf(pod.SchedulerName, at.Child("schedulerName"), "scheduler")...)
	errs = append(errs, validateDNS(pod.DNSConfig, at.Child("dnsConfig"))...)
	if grace := pod.TerminationGracePeriodSeconds; grace != nil && (*grace < 30 || *grace > 3600) {
		errs = append(errs, invalid(at.Child("terminationGracePeriodSeconds"), *grace, "it must be from 30 to 3600")...)
	}
	return errs
}

func validateClass(class string, at *field.Path) field.ErrorList {
	return validateNameOf(class, at, "PriorityClass")
}

func validateNameOf(name string, at *field.Path, kind string) field.ErrorList {
	if name == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return invalid(at, name, "it must be the name of a "+kind+`: lower-case letters, digits, "-" and "."`)
}

func validatePodLabels(labels map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if v1alpha1.IsOperatorLabel(key) {
			errs = append(errs, field.Invalid(at, key,
				at.String()+" must not contain labels that the operator sets: the prefix "+
					"etcdsteward.dev/, and app.kubernetes.io/name, instance, managed-by and component"))
		}
	}
	return append(errs, validateLabels(labels, at)...)
}

// validateLabels refuses what Kubernetes would refuse when the Pod is made.
func validateLabels(labels map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, why := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, fmt.Sprintf("%s has the key %q: %s", at, key, why)))
		}
		value := labels[key]
		if len(value) > validation.LabelValueMaxLength {
			errs = append(errs, field.Invalid(at, value, at.String()+" must have values of at most 63 characters"))
			continue
		}
		for _, why := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(at.Key(key), value,
				fmt.Sprintf("%s has the value %q: %s", at.Key(key), value, why)))
		}
	}
	return errs
}

func validateResources(resources *v1alpha1.ResourceRequirements, at *field.Path) field.ErrorList {
	if resources == nil {
		return nil
	}
	var errs field.ErrorList
	if len(resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(at.Child("claims"),
			at.String()+".claims is not supported; use limits and requests"))
	}
	requests, wrong := validateAmounts(resources.Requests, at.Child("requests"))
	errs = append(errs, wrong...)
	limits, wrong := validateAmounts(resources.Limits, at.Child("limits"))
	errs = append(errs, wrong...)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit, request := limits[name], requests[name]
		if request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(at.Child("requests").Key(string(name)), request.String(), fmt.Sprintf(
				"%s.requests.%s is %s; it must be at most the limit, which is %s", at, name, request.String(),
				limit.String())))
		}
	}
	return errs
}

// validateAmounts reads the amounts, and leaves out those that cannot be read.
func validateAmounts(amounts map[corev1.ResourceName]v1alpha1.Amount,
	at *field.Path) (corev1.ResourceList, field.ErrorList) {
	var errs field.ErrorList
	read := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		value, err := amounts[name].Quantity()
		switch {
		case err != nil:
			errs = append(errs, invalid(at.Key(string(name)), string(amounts[name]),
				"it must be a quantity, such as 500m or 1Gi")...)
			continue
		case value.Sign() < 0:
			errs = append(errs, invalid(at.Key(string(name)), value.String(), "it must not be negative")...)
		}
		read[name] = value
	}
	return read, errs
}

// longestLevel of SELinux holds dozens of categories.
const longestLevel = 256

// typesOfRestricted are the SELinux types that Pod Security restricted admits
// (kubernetes/pod-security-admission:policy/check_seLinuxOptions.go).
var typesOfRestricted = []string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}

func validateSecurity(security *v1alpha1.PodSecurityContext, at *field.Path) field.ErrorList {
	if security == nil {
		return nil
	}
	var errs field.ErrorList
	if user := security.RunAsUser; user != nil && !isID(1, *user) {
		errs = invalid(at.Child("runAsUser"), *user, "it must be from 1 to 2147483647: no process runs as root")
	}
	errs = append(errs, validateGroup(security.RunAsGroup, at.Child("runAsGroup"))...)
	errs = append(errs, validateGroup(security.FSGroup, at.Child("fsGroup"))...)
	errs = append(errs, oneOf(at.Child("fsGroupChangePolicy"), security.FSGroupChangePolicy,
		corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)...)
	groups := at.Child("supplementalGroups")
	if slices.ContainsFunc(security.SupplementalGroups, func(g int64) bool { return !isID(0, g) }) {
		errs = append(errs, field.Invalid(groups, security.SupplementalGroups,
			fmt.Sprintf("%s must be from 0 to 2147483647", groups)))
	}
	return append(errs, validateSELinux(security.SELinuxOptions, at.Child("seLinuxOptions"))...)
}

func validateGroup(group *int64, at *field.Path) field.ErrorList {
	if group == nil || isID(0, *group) {
		return nil
	}
	return invalid(at, *group, "it must be from 0 to 2147483647")
}

func isID(least, id int64) bool { return id >= least && id <= math.MaxInt32 }

func validateSELinux(options *corev1.SELinuxOptions, at *field.Path) field.ErrorList {
	if options == nil {
		return nil
	}
	var errs field.ErrorList
	if options.User != "" || options.Role != "" {
		errs = append(errs, field.Invalid(at, options.User+options.Role,
			at.String()+" must not set user and role: Pod Security restricted refuses them"))
	}
	if !slices.Contains(typesOfRestricted, options.Type) {
		errs = append(errs, field.Invalid(at.Child("type"), options.Type, at.String()+
			".type must be one of "+strings.Join(typesOfRestricted[1:], ", ")+
			": Pod Security restricted refuses others"))
	}
	if len(options.Level) > longestLevel {
		errs = append(errs, field.Invalid(at.Child("level"), options.Level,
			at.String()+".level must be at most 256 characters, such as s0:c123,c456"))
	}
	return errs
}

// What the DNS settings of a Pod may have (kubernetes/kubernetes:pkg/apis/core/validation/validation.go,
// validatePodDNSConfig).
const (
	maxNameservers     = 3
	maxSearches        = 32
	maxSearchesInBytes = 2048
)

func validateDNS(dns *corev1.PodDNSConfig, at *field.Path) field.ErrorList {
	if dns == nil {
		return nil
	}
	errs := validateNameservers(dns.Nameservers, at.Child("nameservers"))
	errs = append(errs, validateSearches(dns.Searches, at.Child("searches"))...)
	for i, option := range dns.Options {
		if option.Name == "" {
			errs = append(errs, invalid(at.Child("options").Index(i).Child("name"), "", "it must name an option")...)
		}
	}
	return errs
}

func validateNameservers(servers []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(servers) > maxNameservers {
		errs = append(errs, field.TooMany(at, len(servers), maxNameservers))
	}
	for i, server := range servers {
		if net.ParseIP(server) == nil {
			errs = append(errs, invalid(at.Index(i), server, "it must be an IP address")...)
		}
	}
	return errs
}

// validateSearches takes underscores. Older releases of Kubernetes refuse them (RelaxedDNSSearchValidation), and do so
// before a member is stopped for it.
func validateSearches(searches []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(searches) > maxSearches || len(strings.Join(searches, " ")) > maxSearchesInBytes {
		errs = append(errs, invalid(at, len(searches), fmt.Sprintf("there may be %d search domains, of %d characters "+
			"with the spaces between them", maxSearches, maxSearchesInBytes))...)
	}
	for i, search := range searches {
		name := strings.ReplaceAll(strings.TrimSuffix(search, "."), "_", "a")
		if search != "." && len(validation.IsDNS1123Subdomain(name)) > 0 {
			errs = append(errs, invalid(at.Index(i), search, "it must be a DNS domain")...)
		}
	}
	return errs
}
