package report

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

// keptVolumes are the volumes of replaced members, in the order in which they were observed.
func (in Input) keptVolumes() []v1alpha1.KeptVolume {
	var kept []v1alpha1.KeptVolume
	for _, v := range in.Observation.Kept {
		kept = append(kept, in.keptVolume(v, in.oldVolume(v.Name)))
	}
	return kept
}

// keptVolume leaves the times out while it is not known since when the volume is kept.
func (in Input) keptVolume(v facts.KeptVolume, old v1alpha1.KeptVolume) v1alpha1.KeptVolume {
	kept := v1alpha1.KeptVolume{Name: v.Name, Reason: string(v.For)}
	if v.Since.IsZero() {
		return kept
	}
	kept.Since = holdTime(old.Since, v.Since)
	if v.For != facts.CauseCorruption {
		kept.Until = holdTime(old.Until, v.Since.Add(in.Observation.Desired.KeepVolumes))
	}
	return kept
}

func (in Input) oldVolume(name string) v1alpha1.KeptVolume {
	for _, v := range in.old().KeptVolumes {
		if v.Name == name {
			return v
		}
	}
	return v1alpha1.KeptVolume{}
}

// holdTime is the old value itself while it is the same, so that two statuses compare as deeply equal.
func holdTime(old *metav1.Time, at time.Time) *metav1.Time {
	now := seconds(at)
	if old.Equal(&now) {
		return old
	}
	return &now
}

// keptByReason counts kept volumes. A reason that no member is replaced for was written by a person: it counts
// as Unknown, so that the set of reasons stays closed.
func keptByReason(volumes []v1alpha1.KeptVolume) map[string]int {
	counts := map[string]int{}
	for _, v := range volumes {
		reason := facts.CauseUnknown
		if kind := facts.Cause(v.Reason).Kind(); kind == facts.OwnKind || kind == facts.DoubtKind {
			reason = facts.Cause(v.Reason)
		}
		counts[string(reason)]++
	}
	return counts
}
