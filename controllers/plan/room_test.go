package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
)

var (
	smaller = facts.Choices{Version: choices.Version, Inputs: "smaller", QuotaBytes: 64 << 20}
	larger  = facts.Choices{Version: choices.Version, Inputs: "larger", QuotaBytes: 4 << 30}
	limited = facts.Choices{Version: choices.Version, Inputs: "limited", QuotaBytes: 2 << 30, MemoryBytes: 90 << 20}
)

// storing gives each member that answers a database of so many Mi, of which so many are in use.
func storing(o scene, size, inUse int64) scene {
	for _, r := range o.Current.Members {
		o = o.edit(r.Ordinal, func(r *facts.Replica) {
			if r.Answer != nil {
				r.Answer.DBSize, r.Answer.DBSizeInUse = size<<20, inUse<<20
			}
		})
	}
	return o
}

func runs(c facts.Choices) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Choices, r.Pod.Choices = c, c }
}

// crowdedRows are clusters whose spec gives the data less room than it has, and too little.
func crowdedRows() []row {
	three := storing(settledWorld(3), 100, 95)
	begun, half := three.edit(2, given(smaller)), three.edit(2, runs(smaller))
	return []row{
		{"a quota below what is stored is refused before the first member", wanting(three, smaller), Refuse,
			"check-room", facts.ReasonSpecRefused, "",
			"spec.etcd.quotaBackendBytes is 64Mi. The database of demo-0 has 100Mi, of demo-1 100Mi, of demo-2 100Mi"},
		{"and says which would be large enough", wanting(three, smaller), Refuse, "check-room",
			facts.ReasonSpecRefused, "", "at least 126Mi"},
		{"also where one member only stores that much",
			wanting(storing(three, 10, 5).edit(1, func(r *facts.Replica) { r.Answer.DBSize = 70 << 20 }), smaller),
			Refuse, "check-room", facts.ReasonSpecRefused, "", "The database of demo-1 has 70Mi"},
		{"also where no room would be left for an alarm to be taken back", wanting(storing(three, 52, 5), smaller),
			Refuse, "check-room", facts.ReasonSpecRefused, "", "may take 80 %"},
		{"one with room is rolled out", wanting(storing(three, 51, 51), smaller), Act, "roll", facts.ReasonRoll,
			"SetChoices", ""},
		{"a memory limit below what is in use is refused", wanting(three, limited), Refuse, "check-room",
			facts.ReasonSpecRefused, "",
			"spec.pod.resources.limits.memory is 90Mi. In use are 95Mi of the database of demo-0"},
		{"one above it is rolled out", wanting(storing(three, 100, 89), limited), Act, "roll", facts.ReasonRoll,
			"SetChoices", ""},
		{"what members live with already keeps no other setting from them",
			wanting(storing(settledWorld(3).edit(0, runs(limited)).edit(1, runs(limited)).edit(2, runs(limited)),
				2000, 1900), facts.Choices{Version: choices.Version, Inputs: "e", QuotaBytes: 2 << 30,
				MemoryBytes: 90 << 20}), Act, "roll", facts.ReasonRoll, "SetChoices", ""},
		{"a larger quota is no cause to refuse", wanting(storing(three, 2000, 95), larger), Act, "roll",
			facts.ReasonRoll, "SetChoices", ""},
		{"no ephemeral member is followed by one with less room", wanting(inMemory(three), smaller), Refuse,
			"check-room", facts.ReasonSpecRefused, "", "100Mi"},

		{"a lost Pod comes back with the settings that it had", wanting(three.edit(1, noPod), smaller), Act, "pods",
			facts.ReasonPodMissing, "StartPods", "demo-1"},
		{"a member that crashes keeps its settings", wanting(three.edit(1, crashing), smaller), Refuse, "check-room",
			facts.ReasonSpecRefused, "", "64Mi"},
		{"a member that lost its data is replaced", wanting(three.edit(1, noData), smaller), Act, "replace",
			facts.ReasonRepair, "RemoveMember", "demo-1"},
		{"the only one keeps its quota while nothing says what it stores",
			wanting(settledWorld(1).edit(0, crashing).blind(), smaller), Refuse, "membership",
			facts.ReasonCrashing, "", "demo-0 stopped"},
		{"a roll that was begun and not made is taken back", wanting(begun, smaller), Act, "check-room",
			facts.ReasonNewChoices, "SetChoices", "demo-2"},
		{"and so it is where the Pod is gone by then", wanting(begun.edit(2, noPod), smaller), Act, "check-room",
			facts.ReasonNewChoices, "SetChoices", "demo-2"},
		{"a roll halts where what is stored outgrew the quota", wanting(half, smaller), Refuse, "check-room",
			facts.ReasonSpecRefused, "", "of demo-1 100Mi"},
		{"the first that was rolled comes back with the settings of the others", wanting(half.edit(2, noPod), smaller),
			Act, "check-room", facts.ReasonNewChoices, "SetChoices", "demo-2"},
		{"putting the spec back rolls it back", wanting(half, choices), Act, "roll", facts.ReasonRoll, "SetChoices",
			"demo-2"},
		{"putting it back before that leaves nothing to do", wanting(three, choices), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},

		{"while space ran out no member gets other settings", wanting(raising(three, 90, noSpace), other), Refuse,
			"alarms", facts.ReasonAlarm, "", "restarts a member for the spec only to raise the quota"},
		{"but a larger quota, which is the cure", wanting(raising(three, 90, noSpace), larger), Act, "roll",
			facts.ReasonRoll, "SetChoices", ""},
		{"also the ones that do not have it yet",
			wanting(raising(three, 90, noSpace).edit(2, runs(larger)).edit(1, runs(larger)), larger), Act, "roll",
			facts.ReasonMoveLeader, "MoveLeader", "demo-0"},
		{"and settings that a sick member may need", wanting(raising(three, 90, noSpace).edit(1, silent), other), Act,
			"roll", facts.ReasonRoll, "SetChoices", "demo-1"},
		{"while copies were said to differ no member gets other settings",
			wanting(hashing(raising(three, 10, corrupt), 7, 7, 7), other), Refuse, "alarms", facts.ReasonAlarm, "",
			"CORRUPT"},
	}
}

func TestAMemberIsGivenNoSettingsThatItsDataHasNoRoomWith(t *testing.T) {
	three := storing(settledWorld(3), 100, 95)
	for _, row := range []struct {
		name    string
		world   scene
		choices facts.Choices
		says    string
	}{
		{"a quota below what is stored", three, smaller, "has no room"},
		{"a memory limit below what is in use", three, limited, "has no room"},
		{"those with room", three, larger, ""},
		{"those that its Pod runs with", three.edit(2, func(r *facts.Replica) { r.Pod.Choices = smaller }), smaller, ""},
	} {
		c := changes.SetChoices{Volumes: []facts.VolumeRef{{Name: "demo-2", UID: "volume-demo-2"}},
			Choices: row.choices}
		if why := Veto(row.world.Observation, c); (why == "") != (row.says == "") || !strings.Contains(why, row.says) {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

func TestANewMemberIsMadeFromSettingsThatItsDataHasRoomWith(t *testing.T) {
	half := storing(settledWorld(3), 100, 95).edit(0, runs(smaller)).edit(2, noData).edit(2, removed)
	if got := memberChoices(current(wanting(half, smaller).Observation)); got != choices {
		t.Errorf("%+v", got)
	}
}
