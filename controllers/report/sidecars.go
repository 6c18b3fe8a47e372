package report

import (
	"slices"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// sidecars counts members' Pods by their sidecars; nil where neither the spec nor a Pod has any.
func sidecars(o facts.Observation) *v1alpha1.SidecarsStatus {
	counts, wanted := v1alpha1.SidecarsStatus{}, o.Desired.Choices.Sidecars
	isAny := wanted != ""
	for _, r := range o.Current.Members {
		if r.Pod == nil {
			continue
		}
		counts.Matched++
		if r.Pod.Choices.Sidecars == wanted {
			counts.Updated++
		}
		isAny = isAny || len(r.Pod.Sidecars) > 0
		isUnready := func(s facts.Sidecar) bool { return !s.Ready }
		if len(r.Pod.Sidecars) > 0 && !slices.ContainsFunc(r.Pod.Sidecars, isUnready) {
			counts.Ready++
		}
	}
	if !isAny {
		return nil
	}
	return &counts
}
