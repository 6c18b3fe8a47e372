package jobs

import (
	"testing"

	backup "github.com/etcdsteward/etcd-steward/controllers/backup/plan"
)

func TestWhoseLimitsAQuotaMissesIsToldWhereToSetThem(t *testing.T) {
	for message, want := range map[string]backup.Trouble{
		`pods "b-1" is forbidden: failed quota: q: must specify limits.memory for: upload`: {Reason: backup.ReasonQuotaExceeded,
			Message: `pods "b-1" is forbidden: failed quota: q: must specify limits.memory for: upload. Set spec.tasks.resources`},
		"exceeded quota: q, requested: pods=1": {Reason: backup.ReasonQuotaExceeded, Message: "exceeded quota: q, requested: pods=1"},
		`violates PodSecurity "restricted"`:    {Reason: backup.ReasonPodSecurity, Message: `violates PodSecurity "restricted"`},
		"no":                                   {Reason: backup.ReasonPodRefused, Message: "no"},
	} {
		if got := refusalOf(message); *got != want {
			t.Errorf("%s: %+v", message, *got)
		}
	}
}
