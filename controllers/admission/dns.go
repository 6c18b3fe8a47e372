package admission

import (
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
