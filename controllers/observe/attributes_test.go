package observe_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAVolumeSaysHowFarItIsWithItsVolumeAttributesClass(t *testing.T) {
	to := func(target string, status corev1.PersistentVolumeClaimModifyVolumeStatus) *corev1.ModifyVolumeStatus {
		return &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: target, Status: status}
	}
	begun := facts.Attributes{Asked: "fast", Has: "slow", For: "fast", State: facts.AttributesUnderWay}
	with := func(state facts.AttributesState, message string) facts.Attributes {
		out := begun
		out.State, out.Message = state, message
		return out
	}
	for name, row := range map[string]struct {
		has     *string
		status  *corev1.ModifyVolumeStatus
		message string
		want    facts.Attributes
	}{
		"it has that":           {has: new("fast"), want: facts.Attributes{Asked: "fast", Has: "fast", For: "fast"}},
		"nothing was begun":     {has: new("slow"), want: with(facts.AttributesNotBegun, "")},
		"it never had any":      {want: facts.Attributes{Asked: "fast", For: "fast"}},
		"the driver is at it":   {new("slow"), to("fast", corev1.PersistentVolumeClaimModifyVolumeInProgress), "", begun},
		"a state of the future": {new("slow"), to("fast", "Reconsidered"), "", begun},
		"there is no such class": {new("slow"), to("fast", corev1.PersistentVolumeClaimModifyVolumePending), "",
			with(facts.AttributesPending, "")},
		"the driver refuses it": {new("slow"), to("fast", corev1.PersistentVolumeClaimModifyVolumeInfeasible), "no such speed.",
			with(facts.AttributesInfeasible, "no such speed")},
		"what is said is of another class": {new("slow"), to("former", corev1.PersistentVolumeClaimModifyVolumeInfeasible), "no",
			with(facts.AttributesNotBegun, "")},
	} {
		w, claim, _ := waitingForVolume(t)
		claim.Status.Phase, claim.Spec.VolumeName = corev1.ClaimBound, "pv-1"
		claim.Spec.VolumeAttributesClassName = new("fast")
		claim.Annotations[v1alpha1.AnnotationAttributesClass] = "fast"
		claim.Status.CurrentVolumeAttributesClassName, claim.Status.ModifyVolumeStatus = row.has, row.status
		if row.message != "" {
			claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Status: corev1.ConditionTrue,
				Type: corev1.PersistentVolumeClaimVolumeModifyVolumeError, Message: row.message}}
		}
		if got := w.lookWith("").Volume.Attributes; got != row.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
