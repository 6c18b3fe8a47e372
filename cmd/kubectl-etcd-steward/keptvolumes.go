package main

import (
	"fmt"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// kept says which volumes of replaced members are still there, since when nothing uses them, and what ends that.
func (p page) kept() string {
	lines := make([]string, len(p.Kept))
	for i, v := range p.Kept {
		lines[i] = fmt.Sprintf("%s, whose member was replaced (%s). %s %s", v.Name, v.Reason,
			p.usage(v), p.endOfKept(v))
	}
	return strings.Join(lines, "\n")
}

func (p page) usage(v v1alpha1.KeptVolume) string {
	switch {
	case v.UnusedSince != nil:
		return fmt.Sprintf("No Pod has used it for %s.", age(v.UnusedSince.Time, p.now))
	case v.Since != nil:
		return "A Pod uses it."
	}
	return "It is not known since when."
}

func (p page) endOfKept(v v1alpha1.KeptVolume) string {
	if v.Until == nil {
		return fmt.Sprintf("It stays until you delete it: kubectl delete pvc %s -n %s.", v.Name, p.Namespace)
	}
	return fmt.Sprintf("The operator deletes it at %s.", date(v.Until.Time))
}
