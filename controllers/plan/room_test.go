package plan

import (
	"strings"
	"testing"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

var (
	smaller = facts.Settings{Version: settings.Version, Inputs: "smaller", QuotaBytes: 64 << 20}
	larger  = facts.Settings{Version: settings.Version, Inputs: "larger", QuotaBytes: 4 << 30}
	limited = facts.Settings{Version: settings.Version, Inputs: "limited", QuotaBytes: 2 << 30, MemoryBytes: 90 << 20}
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

func runs(c facts.Settings) func(*facts.Replica) {
	return func(r *facts.Replica) { r.Volume.Settings, r.Pod.Settings = c, c }
}

// crowdedRows are clusters whose spec gives the data less room than it has, and too little.
func crowdedRows() []row {
	three := storing(settledWorld(3), 100, 95)
	begun, half := three.edit(2, given(smaller)), three.edit(2, runs(smaller))
	return []row{
		{"a quota below what is stored is refused before the first member", wanting(three, smaller), Refuse,
			"check-room", facts.ReasonSpecRefused, "",
			"spec.etcd.quotaBackendBytes is 64Mi. The database of demo-0 has 100Mi, of demo-1 100Mi, of demo-2 100Mi"},
		{"one that has grown is named as what it is", desire(wanting(three, smaller), func(d *facts.Desired) {
			d.GrownFrom = 32 << 20
		}), Refuse, "check-room", facts.ReasonSpecRefused, "",
			"The quota has grown from 32Mi to 64Mi by spec.maintenance.autoGrow. The database of demo-0"},
		{"and says which would be large enough", wanting(three, smaller), Refuse, "check-room",
			facts.ReasonSpecRefused, "", "at least 126Mi"},
		{"also where one member only stores that much",
			wanting(storing(three, 10, 5).edit(1, func(r *facts.Replica) { r.Answer.DBSize = 70 << 20 }), smaller),
			Refuse, "check-room", facts.ReasonSpecRefused, "", "The database of demo-1 has 70Mi"},
		{"also where no room would be left for an alarm to be taken back", wanting(storing(three, 52, 5), smaller),
			Refuse, "check-room", facts.ReasonSpecRefused, "", "may take 80 %"},
		{"one with room is rolled out", wanting(storing(three, 51, 51), smaller), Act, "roll", "",
			"WriteSettings", ""},
		{"a memory limit below what is in use is refused", wanting(three, limited), Refuse, "check-room",
			facts.ReasonSpecRefused, "",
			"spec.pod.resources.limits.memory is 90Mi. In use are 95Mi of the database of demo-0"},
		{"one above it is rolled out", wanting(storing(three, 100, 89), limited), Act, "roll", "",
			"WriteSettings", ""},
		{"what members live with already keeps no other setting from them",
			wanting(storing(settledWorld(3).edit(0, runs(limited)).edit(1, runs(limited)).edit(2, runs(limited)),
				2000, 1900), facts.Settings{Version: settings.Version, Inputs: "e", QuotaBytes: 2 << 30,
				MemoryBytes: 90 << 20}), Act, "roll", "", "WriteSettings", ""},
		{"a larger quota is no cause to refuse", wanting(storing(three, 2000, 95), larger), Act, "roll",
			"", "WriteSettings", ""},
		{"no ephemeral member is followed by one with less room", wanting(inMemory(three), smaller), Refuse,
			"check-room", facts.ReasonSpecRefused, "", "100Mi"},

		{"a lost Pod comes back with the settings that it had", wanting(three.edit(1, noPod), smaller), Act, "pods",
			"", "StartPods", "demo-1"},
		{"a member that crashes keeps its settings", wanting(three.edit(1, crashing), smaller), Refuse, "check-room",
			facts.ReasonSpecRefused, "", "64Mi"},
		{"a member that lost its data is replaced", wanting(three.edit(1, noData), smaller), Act, "replace",
			"", "RemoveMember", "demo-1"},
		{"the only one keeps its quota while nothing says what it stores",
			wanting(settledWorld(1).edit(0, crashing).blind(), smaller), Refuse, "membership",
			facts.ReasonCrashing, "", "demo-0 stopped"},
		{"a roll that was begun and not made is taken back", wanting(begun, smaller), Act, "check-room",
			"", "WriteSettings", "demo-2"},
		{"and so it is where the Pod is gone by then", wanting(begun.edit(2, noPod), smaller), Act, "check-room",
			"", "WriteSettings", "demo-2"},
		{"a roll halts where what is stored outgrew the quota", wanting(half, smaller), Refuse, "check-room",
			facts.ReasonSpecRefused, "", "of demo-1 100Mi"},
		{"the first that was rolled comes back with the settings of the others", wanting(half.edit(2, noPod), smaller),
			Act, "check-room", "", "WriteSettings", "demo-2"},
		{"putting the spec back rolls it back", wanting(half, settings), Act, "roll", "", "WriteSettings",
			"demo-2"},
		{"putting it back before that leaves nothing to do", wanting(three, settings), Settled, RuleSettled,
			facts.ReasonSettled, "", ""},

		{"while space ran out no member gets other settings", wanting(raising(three, 90, noSpace), other), Refuse,
			"alarms", facts.ReasonAlarm, "", "members restart for the spec only if it raises spec.etcd.quotaBackendBytes: then with all"},
		{"but a larger quota, which is the cure", wanting(raising(three, 90, noSpace), larger), Act, "roll",
			"", "WriteSettings", ""},
		{"also the ones that do not have it yet",
			wanting(raising(three, 90, noSpace).edit(2, runs(larger)).edit(1, runs(larger)), larger), Act, "roll",
			"", "MoveLeader", "demo-0"},
		{"and settings that a sick member may need", wanting(raising(three, 90, noSpace).edit(1, silent), other), Act,
			"roll", "", "WriteSettings", "demo-1"},
		{"while copies were said to differ no member gets other settings: the alarm ends first",
			wanting(hashing(raising(three, 10, corrupt), 7, 7, 7), other), Act, "alarms", "", "DisarmAlarms", ""},
	}
}

// ofSize is a backup of so many Mi, of which so many are in use.
func ofSize(size, inUse int64) func(*facts.Preflight) {
	return func(p *facts.Preflight) { p.Found.SizeBytes, p.Found.InUseBytes = size<<20, inUse<<20 }
}

// large has the data that the first members begin with take 101 Mi.
func large(o scene) scene {
	for _, origin := range []*record.Origin{&o.Current.Bootstrap.Origin, &o.Current.Bootstrap.Next.Origin} {
		if !origin.IsZero() {
			origin.SizeBytes, origin.InUseBytes = 101<<20, 95<<20
		}
	}
	return o
}

// beginningRows are clusters that begin with more data than their spec has room for.
func beginningRows() []row {
	begin, three, lost := wishing(notBootstrapped(3)), settledWorld(3), storing(lostWorld(), 100, 95)
	small := three.edit(0, runs(smaller)).edit(1, runs(smaller)).edit(2, runs(smaller))
	const tooLarge = "cannot be used: spec.etcd.quotaBackendBytes is 64Mi. The backup has 101Mi, and may take 80 % of " +
		"it. Raise the quota to at least 127Mi. Nothing was made"
	return []row{
		{"a backup that the quota has no room for is refused with both figures",
			looking(wanting(begin, smaller), hasFound, ofSize(101, 5)), Refuse, "restore-source", facts.ReasonUnusable,
			"", tooLarge},
		{"also one that leaves no room for an alarm to be taken back",
			looking(wanting(begin, smaller), hasFound, ofSize(52, 5)), Refuse, "restore-source", facts.ReasonUnusable,
			"", "may take 80 %"},
		{"also where the spec names no quota", looking(begin, hasFound, ofSize(1700, 5)), Refuse, "restore-source",
			facts.ReasonUnusable, "", "quotaBackendBytes is 2Gi. The backup has 1700Mi"},
		{"one with room is begun with", looking(wanting(begin, smaller), hasFound, ofSize(51, 51)), Act, "birth-record",
			"", "BeginBootstrap", ""},
		{"a larger quota is enough, and nothing is looked at anew",
			looking(wanting(begin, larger), hasFound, ofSize(1700, 5)), Act, "birth-record", "",
			"BeginBootstrap", ""},
		{"a backup of which more is in use than the memory limit is refused",
			looking(wanting(begin, limited), hasFound, ofSize(101, 95)), Refuse, "restore-source",
			facts.ReasonUnusable, "", "limits.memory is 90Mi. The backup has 101Mi, of which 95Mi are in use. Ask for more than 95Mi"},
		{"one of which less is in use is begun with", looking(wanting(begin, limited), hasFound, ofSize(101, 89)), Act,
			"birth-record", "", "BeginBootstrap", ""},
		{"so is one of which that is not known", looking(wanting(begin, limited), hasFound, ofSize(101, 0)), Act,
			"birth-record", "", "BeginBootstrap", ""},
		{"a birth to which the spec leaves no room any more is given up before its members start",
			wanting(large(restoringWorld(3)), smaller), Act, "void-birth", "", "VoidBootstrap",
			"too little room"},
		{"later they keep their quota", wanting(large(restoredWorld(3).edit(2, unpullable)), smaller), Wait,
			"first-quorum", facts.ReasonImagePull, "", "demo-2"},

		{"no backup without room is restored in place", lookedAt(requesting(wanting(small, smaller)), hasFound,
			ofSize(101, 5)), Refuse, "restore-begin", facts.ReasonUnusable, "", tooLarge},
		{"nor where the quorum is lost", lookedAt(requesting(wanting(lost, smaller)), hasFound, ofSize(101, 5)), Refuse,
			"quorum-lost", facts.ReasonQuorumLost, "", tooLarge},
		{"one with room is", lookedAt(requesting(wanting(lost, larger)), hasFound, ofSize(1700, 5)), Act,
			"restore-begin", "", "BeginNext", ""},
		{"no next member is made with a quota without room", func() scene {
			o := wanting(large(fillingWorld(requesting(three))), smaller)
			o.Next.Members = nil
			return o
		}(), Refuse, "restore-prepare", facts.ReasonRestoreHeld, "", "cannot be made: spec.etcd.quotaBackendBytes"},
		{"next members keep their quota", wanting(large(placedWorld(requesting(three))), smaller), Act,
			"restore-switch-over", "", "SwitchOver", ""},
		{"a survivor is rebuilt from only with room for what it stores", requesting(wanting(lost, smaller), ofDemo0),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "",
			"cannot be carried out: spec.etcd.quotaBackendBytes is 64Mi. The database of demo-0 has 100Mi"},
		{"also where it does not say how much that is", requesting(wanting(lost.edit2(0, silent), smaller), ofDemo0),
			Refuse, "quorum-lost", facts.ReasonQuorumLost, "", "less than demo-0 has, and nothing says"},
	}
}

func TestNothingBeginsWithMoreThanItHasRoomFor(t *testing.T) {
	begin := wanting(wishing(notBootstrapped(3)), smaller)
	bootstrap := newBootstrap(current(begin.Observation), 0, firstNames(current(begin.Observation)))
	bootstrap.Origin = backupOf
	bootstrap.Origin.SizeBytes = 101 << 20
	three := large(restoringWorld(3))
	restoring := large(fillingWorld(requesting(settledWorld(3))))
	volume := func(c facts.Settings) []changes.NewVolume { return []changes.NewVolume{{Name: "demo-3", Settings: c}} }
	next := restoring
	next.Next.Members = nil
	set := func(name string, c facts.Settings) changes.Change {
		return changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: name, UID: "volume-" + name}}, Settings: c}
	}
	incarnation := restoring.Current.Bootstrap.Next.Incarnation
	lost := storing(lostWorld(), 100, 95)
	survivor := Decide(requesting(lost, ofDemo0).Observation).Change
	checkGuard(t, []guarded1{
		{"a backup without room", looking(begin, hasFound, ofSize(101, 0)), bootstrap, false},
		{"one with room", looking(wanting(begin, larger), hasFound, ofSize(101, 0)), bootstrap, true},
		{"a first member without room", three, changes.Bootstrap{Volumes: volume(smaller)}, false},
		{"one with room", three, changes.Bootstrap{Volumes: volume(larger)}, true},
		{"a next member without room", next, changes.PrepareNext{Incarnation: incarnation, Volumes: volume(smaller)},
			false},
		{"one with room", next, changes.PrepareNext{Incarnation: incarnation, Volumes: volume(larger)}, true},
		{"settings without room for a first member", three, set("demo-1", smaller), false},
		{"settings with room", three, set("demo-1", larger), true},
		{"settings without room for a next member", restoring, set("demo-3", smaller), false},
		{"settings with room", restoring, set("demo-3", larger), true},
		{"a survivor without room", requesting(wanting(lost, smaller), ofDemo0), survivor, false},
		{"one with room", requesting(wanting(lost, larger), ofDemo0), survivor, true},
	})
}

func TestAMemberIsGivenNoSettingsThatItsDataHasNoRoomWith(t *testing.T) {
	three := storing(settledWorld(3), 100, 95)
	for _, row := range []struct {
		name     string
		world    scene
		settings facts.Settings
		says     string
	}{
		{"a quota below what is stored", three, smaller, "has no room"},
		{"a memory limit below what is in use", three, limited, "has no room"},
		{"those with room", three, larger, ""},
		{"those that its Pod runs with", three.edit(2, func(r *facts.Replica) { r.Pod.Settings = smaller }), smaller, ""},
	} {
		c := changes.WriteSettings{Volumes: []facts.VolumeRef{{Name: "demo-2", UID: "volume-demo-2"}},
			Settings: row.settings}
		if why := Veto(row.world.Observation, c); (why == "") != (row.says == "") || !strings.Contains(why, row.says) {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

func TestANewMemberIsMadeFromSettingsThatItsDataHasRoomWith(t *testing.T) {
	half := storing(settledWorld(3), 100, 95).edit(0, runs(smaller)).edit(2, noData).edit(2, removed)
	if got := current(wanting(half, smaller).Observation).due.Settings; got != settings {
		t.Errorf("%+v", got)
	}
}

func TestTheQuotaToAskForIsEnoughForTheSizeThatIsTold(t *testing.T) {
	for size, want := range map[int64]string{124<<20 + 1: "157Mi", 125 << 20: "157Mi", 100 << 20: "126Mi"} {
		if got := facts.InMebi(facts.QuotaFor(size)); got != want {
			t.Errorf("of %s: %s", facts.InMebi(size), got)
		}
	}
}
