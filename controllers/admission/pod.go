package admission

import (
	"cmp"
	"fmt"
	"maps"
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
	errs := validateMetadata(pod.Labels, pod.Annotations, at)
	errs = append(errs, validateResources(pod.Resources, at.Child("resources"))...)
	errs = append(errs, validateLabels(pod.NodeSelector, at.Child("nodeSelector"))...)
	errs = append(errs, validateTolerations(pod.Tolerations, at.Child("tolerations"))...)
	errs = append(errs, validateAffinity(pod.Affinity, at.Child("affinity"))...)
	errs = append(errs, validateSpread(pod.TopologySpreadConstraints, at.Child("topologySpreadConstraints"))...)
	return append(errs, validateDNS(pod.DNSConfig, at.Child("dnsConfig"))...)
}

// validateMetadata refuses what Kubernetes would refuse on the object that is made.
func validateMetadata(labels, annotations map[string]string, at *field.Path) field.ErrorList {
	errs := validateLabels(labels, at.Child("labels"))
	at = at.Child("annotations")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		for _, why := range validation.IsQualifiedName(strings.ToLower(key)) {
			errs = append(errs, field.Invalid(at, key, fmt.Sprintf("%s has the key %q: %s", at, key, why)))
		}
	}
	return errs
}

func validateLabels(labels map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, why := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, fmt.Sprintf("%s has the key %q: %s", at, key, why)))
		}
		for _, why := range validation.IsValidLabelValue(labels[key]) {
			errs = append(errs, field.Invalid(at.Key(key), labels[key],
				fmt.Sprintf("%s has the value %q: %s", at.Key(key), labels[key], why)))
		}
	}
	return errs
}

func validateResources(resources *v1alpha1.ResourceRequirements, at *field.Path) field.ErrorList {
	if resources == nil {
		return nil
	}
	requests, errs := validateAmounts(resources.Requests, at.Child("requests"))
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

// validateSidecars looks at amounts, and at what sidecars share with each other and with their cluster.
func validateSidecars(spec *v1alpha1.EtcdClusterSpec, at *field.Path) field.ErrorList {
	if spec.Pod == nil {
		return nil
	}
	var errs field.ErrorList
	ports := map[string]bool{}
	for i, sidecar := range spec.Pod.Sidecars {
		at := at.Index(i)
		errs = append(errs, validateResources(sidecar.Resources, at.Child("resources"))...)
		for j, port := range sidecar.Ports {
			errs = append(errs, validateSidecarPort(port, ports, at.Child("ports").Index(j))...)
		}
		for j, mount := range sidecar.Mounts {
			errs = append(errs, validateSidecarMount(mount, spec.IsTLS(), at.Child("mounts").Index(j))...)
		}
	}
	return errs
}

func validateSidecarPort(p v1alpha1.SidecarPort, seen map[string]bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if why := validation.IsValidPortName(p.Name); p.Name != "" && len(why) > 0 {
		errs = invalid(at.Child("name"), p.Name, "it "+strings.TrimPrefix(why[0], "it "))
	}
	port := fmt.Sprintf("%d/%s", p.ContainerPort, cmp.Or(p.Protocol, corev1.ProtocolTCP))
	if seen[port] {
		errs = append(errs, field.Invalid(at, port, fmt.Sprintf("%s is %s, as an earlier one; containers of a Pod "+
			"share its ports", at, port)))
	}
	seen[port] = true
	return errs
}

func validateSidecarMount(m v1alpha1.SidecarMount, isTLS bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if certificate := at.Child("clientCertificate"); m.ClientCertificate != nil && !isTLS {
		errs = append(errs, field.Forbidden(certificate, certificate.String()+" is set while spec.tls.mode is "+
			"Disabled: there is no certificate; take the mount away"))
	}
	if m.EmptyDir == nil || m.EmptyDir.SizeLimit == "" {
		return errs
	}
	if limit, err := m.EmptyDir.SizeLimit.Quantity(); err != nil || limit.Sign() < 0 {
		errs = append(errs, invalid(at.Child("emptyDir", "sizeLimit"), string(m.EmptyDir.SizeLimit),
			"it must be a quantity that is not negative, such as 64Mi")...)
	}
	return errs
}
