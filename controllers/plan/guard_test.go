package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcdsteward/etcd-steward/controllers/plan/changes"
	"github.com/etcdsteward/etcd-steward/controllers/plan/facts"
	"github.com/etcdsteward/etcd-steward/controllers/record"
)

func TestARecordIsRefusedUnlessThatVeryMemberSaidIt(t *testing.T) {
	o := settledWorld(3).edit(1, unrecorded)
	good := Decide(o.Observation).Change.(changes.RecordMembers)
	if why := Veto(o.Observation, good); why != "" {
		t.Fatalf("the record of a member that answered is refused: %s", why)
	}
	impostor := o.edit(1, func(r *facts.Replica) { r.Answer.ID = 77 })
	if Veto(impostor.Observation, good) == "" {
		t.Error("a record of what the list says is written although another member answered")
	}
	lie := changes.RecordMembers{Members: []changes.MemberRecord{{Name: "demo-1", VolumeUID: "volume-demo-1",
		Record: record.Member{ClusterID: clusterID, MemberID: 77, Version: settings.Version,
			VolumeUID: "volume-demo-1"}}}}
	if Veto(impostor.Observation, lie) == "" {
		t.Error("an identity that is not in the list is recorded")
	}
}

func TestANewNameIsAboveEveryTraceOfAnOldOne(t *testing.T) {
	for name, o := range map[string]scene{
		"a member":       settledWorld(3).with(voter(7)),
		"a first member": settledWorld(3),
		"a leaving volume": settledWorld(3).with(voter(7)).edit(7, removed).edit(7, noPod).edit(7, noSecret).edit(7,
			func(r *facts.Replica) { r.Volume.Terminating = true }),
	} {
		o.Desired.Size, o.Desired.HasBudget, o.Budget.MinAvailable, o.Current.Bootstrap.NextOrdinal = 7, false, 0, 0
		change, ok := Decide(o.Observation).Change.(changes.PrepareMember)
		if !ok {
			t.Fatalf("%s: %+v", name, Decide(o.Observation))
		}
		want := "demo-8"
		if name == "a first member" {
			o.Current.Members = o.Current.Members[:2] // the third was removed, without a trace but in the bootstrap record
			change, want = Decide(o.joined().Observation).Change.(changes.PrepareMember), "demo-3"
		}
		if change.Volume.Name != want {
			t.Errorf("%s: the next member is called %s", name, change.Volume.Name)
		}
	}
}

func TestThePodThatHoldsTheOnlyDataOfAMemberIsNeverDeleted(t *testing.T) {
	o := settledWorld(3).edit(1, func(r *facts.Replica) {
		silent(r)
		r.Pod.Record, r.Volume, r.Pod.Running, r.Ephemeral = r.Volume.Record, nil, false, true
	})
	if why := Veto(o.Observation,
		changes.DeletePods{Pods: []facts.PodRef{{Name: "demo-1", UID: "pod-demo-1"}}}); !strings.Contains(why,
		"holds the data") {
		t.Errorf("an ephemeral member's Pod may be deleted: %q", why)
	}
	if why := Veto(settledWorld(3).edit(1, silent).edit(1, doomed).edit(1,
		func(r *facts.Replica) { r.Pod.Running = false }).Observation,
		changes.DeletePods{Pods: []facts.PodRef{{Name: "demo-1", UID: "pod-demo-1"}}}); !strings.Contains(why,
		"lives only as long as its Pod") {
		t.Errorf("a doomed member's Pod may be deleted: %q", why)
	}
}

func TestAMemberThatRunsIsDeletedOnlyWhenNoOtherMemberHasAnythingOfIt(t *testing.T) {
	lone := settledWorld(1).edit(0, unheardAndGiven)
	three := settledWorld(3).edit(0, unheardAndGiven).edit(1, servedBefore).edit(2, servedBefore)
	for _, row := range []struct {
		name     string
		world    scene
		allowed  bool // by the guard: nothing is lost by it
		proposed bool // by the rules: something is gained by it
	}{
		{"the only one, which never answered with other settings", lone.blind(), true, true},
		{"the list is known", three, false, false},
		{"one that may still be starting", lone.edit(0, startedAgo(time.Minute)).blind(), false, false},
		{"one with the settings of the spec", wanting(lone, other).blind(), true, false},
		{"one with its data in its Pod",
			inMemory(lone).edit(0, func(r *facts.Replica) { r.Pod.Settings = other }).blind(), false, false},
		{"one that could start from an empty directory", lone.edit(0, stripped).blind(), false, false},
		{"one on a volume of another incarnation",
			lone.edit(0, func(r *facts.Replica) { r.Volume.Incarnation = "old" }).blind(), false, false},
		{"one whose volume is going", lone.edit(0, doomed).blind(), false, false},
		{"while a refused spec says what is wanted", desire(lone, func(d *facts.Desired) { d.Fault = "no" }).blind(),
			true, false},
		{"one of three that never answered, nobody ready", three.blind(), true, true},
		{"one of three that never answered, and one is ready",
			three.edit(1, func(r *facts.Replica) { r.Pod.Ready = true }).blind(), false, false},
		{"one of three that served before", three.edit(0, servedBefore).blind(), false, false},
		{"while another one tries the settings of the spec", three.edit(1, startedAgo(time.Minute)).blind(), true,
			false},
		{"while another one is on its way to them", three.edit(1, noPod).blind(), true, false},
		{"what most members have, which are away",
			wanting(settledWorld(3).edit(0, neverHeard).edit(0, given(other)).edit(1, servedBefore).edit(2,
				servedBefore), other).blind(), true, false},
	} {
		if why := Veto(row.world.Observation,
			changes.DeletePods{Pods: []facts.PodRef{{Name: "demo-0", UID: "pod-demo-0"}}}); (why == "") != row.allowed {
			t.Errorf("%s: %q", row.name, why)
		}
		if _, proposed := Decide(row.world.Observation).Change.(changes.DeletePods); proposed != row.proposed {
			t.Errorf("%s: proposed: %v", row.name, proposed)
		}
	}
}

func TestAMemberStartsOnlyFromItsOwnData(t *testing.T) {
	sealed := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsSealed, Settings: settings}}}
	bootstrap := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsBootstrap}}}
	join := changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsJoin}}}
	for _, row := range []struct {
		name    string
		world   scene
		change  changes.Change
		allowed bool
	}{
		{"a recorded member starts sealed", settledWorld(3).edit(1, noPod), sealed, true},
		{"a recorded member never starts with another minor version", settledWorld(3).edit(1, noPod),
			changes.StartPods{Pods: []changes.Start{{Name: "demo-1", Flags: facts.FlagsSealed, Settings: newer}}},
			false},
		{"a recorded member never starts as at birth", settledWorld(3).edit(1, noPod), bootstrap, false},
		{"a recorded member never joins again", settledWorld(3).edit(1, noPod), join, false},
		{"a member without a volume does not start", settledWorld(3).edit(1, noData), sealed, false},
		{"a member on a volume of another incarnation does not start",
			settledWorld(3).edit(1, noPod).edit(1, func(r *facts.Replica) { r.Volume.Incarnation = "old" }), sealed,
			false},
		{"a member recorded under another ID does not start",
			settledWorld(3).edit(1, noPod).edit(1, func(r *facts.Replica) { r.Volume.Record.MemberID = 77 }), sealed,
			false},
		{"an unrecorded first member starts as it was born", settledWorld(3).edit(1, unrecorded).edit(1, noPod), bootstrap,
			true},
		{"a voter never joins", settledWorld(3).edit(1, unrecorded).edit(1, noPod), join, false},
		{"an added learner joins", settledWorld(1).with(added(1)), join, true},
		{"a name that is not in the list does not start", settledWorld(1).with(promised(1)), join, false},
		{"an unrecorded first member does not start blindly while enough are recorded",
			settledWorld(3).edit(1, unrecorded).edit(1, noPod).blind(), bootstrap, false},
	} {
		if why := Veto(row.world.Observation, row.change); (why == "") != row.allowed {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

func TestTheGuardKeepsTheVolumeOfAFirstMemberWithAnyLabel(t *testing.T) {
	o := atBootstrap(3).edit(1, noPod).edit(1, func(r *facts.Replica) { r.Volume.Incarnation = "old" })
	c := changes.DeleteVolumes{Volumes: []facts.VolumeRef{o.Current.Find("demo-1").VolumeRef()}}
	if Veto(o.Observation, c) == "" {
		t.Error("it is deleted, and the bootstrap record names it")
	}
	o.Current.Bootstrap.Volumes = nil
	if why := Veto(o.Observation, c); why != "" {
		t.Errorf("what an earlier bootstrap left is kept: %s", why)
	}
}
