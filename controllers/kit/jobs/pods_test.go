package jobs

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/backupplan"
)

func TestWhoseLimitsAQuotaMissesIsToldWhereToSetThem(t *testing.T) {
	for message, want := range map[string]backupplan.Trouble{
		`pods "b-1" is forbidden: failed quota: q: must specify limits.memory for: upload`: {Reason: backupplan.ReasonQuotaExceeded,
			Message: `pods "b-1" is forbidden: failed quota: q: must specify limits.memory for: upload. Set spec.tasks.resources`},
		"exceeded quota: q, requested: pods=1": {Reason: backupplan.ReasonQuotaExceeded, Message: "exceeded quota: q, requested: pods=1"},
		`violates PodSecurity "restricted"`:    {Reason: backupplan.ReasonPodSecurity, Message: `violates PodSecurity "restricted"`},
		"no":                                   {Reason: backupplan.ReasonPodRefused, Message: "no"},
	} {
		if got := refusalOf(message); *got != want {
			t.Errorf("%s: %+v", message, *got)
		}
	}
}
