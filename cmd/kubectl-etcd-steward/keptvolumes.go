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
		lines[i] = fmt.Sprintf("%s, whose member was replaced (%s). %s", v.Name, v.Reason, p.fateOf(v))
	}
	return strings.Join(lines, "\n")
}

func (p page) fateOf(v v1alpha1.KeptVolume) string {
	used := "A Pod uses it."
	if v.UnusedSince != nil {
		used = fmt.Sprintf("No Pod has used it for %s.", age(v.UnusedSince.Time, p.now))
	}
	switch {
	case v.Since == nil:
		return "It is not known since when."
	case v.Until == nil:
		return fmt.Sprintf("%s It stays until you delete it: kubectl delete pvc %s -n %s.", used, v.Name, p.Namespace)
	}
	return fmt.Sprintf("%s The operator deletes it at %s.", used, date(v.Until.Time))
}
