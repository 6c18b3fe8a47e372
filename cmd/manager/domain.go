package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// resolvConf says how names are completed in this Pod.
const resolvConf = "/etc/resolv.conf"

// parseDomain reads --cluster-domain. Empty stays empty.
func parseDomain(domain string) (string, error) {
	domain = strings.TrimSuffix(domain, ".")
	if domain == "" {
		return "", nil
	}
	if problems := validation.IsDNS1123Subdomain(domain); len(problems) > 0 {
		return "", fmt.Errorf("--cluster-domain %q is no DNS domain: %s. Give the domain that Services have their "+
			"names in, such as cluster.local, or leave the flag out to have it found", domain, problems[0])
	}
	return domain, nil
}

// findDomain finds out the DNS domain of this Kubernetes as the kubelet wrote it for this Pod; empty where no Pod is.
func findDomain(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return searchedDomain(string(text))
}

// searchedDomain is the domain of the entry svc.<domain> in the last search list of a resolv.conf, which is the one
// that counts; empty where there is none.
func searchedDomain(resolvConf string) string {
	found := ""
	for line := range strings.Lines(resolvConf) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		found = ""
		for _, name := range fields[1:] {
			below, isServices := strings.CutPrefix(name, "svc.")
			if domain, err := parseDomain(below); isServices && err == nil && found == "" {
				found = domain
			}
		}
	}
	return found
}
