package plan

import (
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

func TestAVetoSaysWhatIsAtRisk(t *testing.T) {
	volume := facts.VolumeRef{Name: "demo-1", UID: "volume-demo-1"}
	for _, row := range []struct {
		change changes.Change
		want   string
	}{
		{changes.SetBudget{}, facts.ReasonQuorumAtRisk},
		{changes.DeleteVolumes{Volumes: []facts.VolumeRef{{Name: "demo-9", UID: "u"}}}, facts.ReasonIdentityAtRisk},
		{changes.KeepVolume{Volume: facts.VolumeRef{Name: "demo-1", UID: "u"}}, facts.ReasonIdentityAtRisk},
		{changes.DisarmAlarms{Alarms: []facts.Alarm{{Name: facts.AlarmNoSpace}}}, facts.ReasonDataAtRisk},
		{changes.SwitchOver{}, facts.ReasonIncarnationAtRisk},
		{changes.MarkFormer{Volumes: []facts.VolumeRef{volume}}, facts.ReasonIncarnationAtRisk},
		{changes.DressPods{}, ""},
	} {
		if veto := changes.VetoOf(*current(settledWorld(3).Observation).View, row.change); veto.Reason != row.want {
			t.Errorf("%s: %+v, want %q", changes.KindOf(row.change), veto, row.want)
		}
	}
}
