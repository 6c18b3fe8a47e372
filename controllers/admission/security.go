package admission

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

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
